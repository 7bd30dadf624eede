// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneCore
import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

struct Violation: Error {
  let step: Int
  let what: String
}

/// One life of a bus, its clients and systemd, determined by a number.
///
/// Each step's random numbers come from the life's number and the step's, so leaving out steps does not change the
/// others.
final class Life {
  /// Derived from the life's number; only the configuration changes later.
  struct Setting {
    let seatCount: Int
    let keeperCapacity: Int
    var keepsAll: Bool { keeperCapacity == Self.ampleCapacity }
    private static let ampleCapacity = 200
    /// Log sizes with too little room.
    static let tightLogs = [8 << 10, 16 << 10, 24 << 10]
    var configuration = Configuration()
    /// The log has no room for some of the registrations.
    var isTight = false
    /// The bus lives long before its first death and retains large notifications, so a compaction of its log takes
    /// several steps.
    var isLong = false

    init(using random: inout SplitMix64) {
      seatCount = random.pick([6, 12, 24, 40])
      keeperCapacity = random.oneIn(8) ? seatCount / 2 + 4 : Self.ampleCapacity
      configuration.queue.highMarkBytes = random.pick([16 << 10, 64 << 10, 1 << 20])
      configuration.queue.lowMarkBytes = configuration.queue.highMarkBytes / 4
      configuration.notifications.bufferMaxBytes = random.pick([4 << 10, 1 << 20])
      configuration.delegateTimeoutNanoseconds = 1_000_000_000
      configuration.deadlineNanoseconds = 2_000_000_000
      configuration.logLevel = Life.logLevel
      configuration.access = Life.policy(isStrict: false)
      isTight = random.oneIn(4)
      if isTight { configuration.logMaxBytes = random.pick(Self.tightLogs) }
      isLong = !isTight && random.oneIn(8)
      if isLong { configuration.logMaxBytes = 2 << 20 }
      configuration.questionsAtATime = random.pick([2, 4, 64])
      if random.oneIn(4) { configuration.delegatesMax = 3 }
      // Enough for two or three outcomes.
      if random.oneIn(4) { configuration.outcomeIdentitiesMax = 400 }
    }
  }

  static var isTold = false
  /// Also in a life that is told: the level decides which verdicts the bus lists, and so the life.
  static let logLevel = Log.Level.error

  let seed: UInt64
  var setting: Setting
  var random: SplitMix64
  private(set) var step = 0
  let listener: Socket
  let keeping: Keeping
  var bus: BusInstance?
  /// The bus has completed an iteration. An earlier death is one during the take-over.
  var hasServed = false
  var earlyDeaths = 0

  /// By seat.
  var links: [Link?]
  var known: [Link] = []
  var processes: [Int32]
  var linkCount = 0
  var unaccepted: [Link] = []
  var numbers = 0
  /// Counts operations and ends of connections in the order in which the bus takes them.
  var taken = 0
  var checks: [UInt64] = []

  var queries: [Query] = []
  var waiting: [Posting] = []
  var retained: [Posting] = []
  var possiblyRetained: [Posting] = []
  /// Of each of these, either it or its predecessor is retained.
  var retainedOrReplaced: [Posting] = []
  var posts: [Int: Posting] = [:]
  var required: String?
  /// The longest hold of the name, in nanoseconds.
  var holdMax: (name: String, nanoseconds: UInt64)?
  var isStrict = false
  var epoch: UInt64 = 0
  var connectionIDs: Set<UInt64> = []
  var queryIDs: [UInt64: Query] = [:]
  var delegateIDs: [UInt64: Registration] = [:]

  var pendingViolation: Violation?
  var tookOverTime: UInt64 = 0
  /// `taken` when the last daemon started, and when it had taken over.
  var startedAt = 0
  var tookOverAt = 0
  /// `taken` when the last daemon died.
  var diedAt = 0
  var iterationBegan: UInt64 = 0
  /// The bus may have left frames for later.
  var isSlow = false
  var acknowledged: [(post: Posting, count: UInt32)] = []
  var inspected: [Entry] = []

  var readInIteration: [(link: Link, operations: [Operation])] = []
  var triedInIteration: [Link] = []
  var idleDelivered: [Posting] = []
  var sentLast: Link?
  /// Each daemon that died may have ended the connection that it was about to write to.
  var endingsExplained = 0
  /// The last daemon has handed everything over, and the next has not taken over yet.
  var isHandedOver = false
  var isTakingOver = false
  var given: Set<UInt64> = []
  var isGivenLess = false
  var isKeeperGone = false
  var doubtful: [(link: Link, operations: [Operation])] = []
  var undelivered: [Posting] = []

  var commits = Commits()
  var isHandingOver = false

  var digest = Digest()
  var counts = Counts()

  struct Counts {
    var steps = 0, deaths = 0, restarts = 0, posts = 0, received = 0, lost = 0, verdicts = 0, succeeded = 0
    var actions = 0
  }

  init(seed: UInt64) throws(Errno) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    setting = Setting(using: &random)
    let socket = sim_listen()
    guard socket != -1 else { throw .current }
    listener = Socket(FileDescriptor(owning: socket))
    keeping = try Keeping(capacity: setting.keeperCapacity)
    Kernel.keeping = keeping
    // The last seat belongs to the client that inspects everything.
    links = Array(repeating: nil, count: setting.seatCount + 1)
    processes = (0...setting.seatCount).map { 5_000_000 + Int32($0) }
    Kernel.setClock(1_000_000_000_000)
    sim_reset()
  }

  func number() -> Int {
    numbers += 1
    return numbers
  }

  func tell(_ what: @autoclosure () -> String) {
    if Life.isTold { StandardError.writeLine("\(step) at \(Kernel.now / 1000) µs: \(what())") }
  }

  func fail(_ what: String) -> Violation { Violation(step: step, what: what) }

  func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(Violation) {
    if !condition { throw fail(what()) }
  }

  // MARK: Steps

  func live(steps: Int, keeping isKept: (Int) -> Bool = { _ in true }) throws(Violation) {
    for step in 1...steps {
      guard isKept(step) else { continue }
      self.step = step
      random = Self.random(ofStep: step, seed: seed)
      CrashNote.set(seed: seed, step: step)
      counts.steps += 1
      try happen()
      if step % 500 == 0 { try rest(isFinal: false) }
    }
    self.step = steps + 1
    random = SplitMix64(seed: seed ^ 0xABCD)
    CrashNote.set(seed: seed, step: self.step)
    try rest(isFinal: true)
    try end()
  }

  private static func random(ofStep step: Int, seed: UInt64) -> SplitMix64 {
    SplitMix64(seed: seed ^ UInt64(step) &* 0xD1B5_4A32_D192_ED03)
  }

  static func seat(ofStep step: Int, seed: UInt64) -> Int {
    var random = SplitMix64(seed: seed)
    let setting = Setting(using: &random)
    random = Self.random(ofStep: step, seed: seed)
    return Int.random(in: 0..<setting.seatCount, using: &random)
  }

  private func happen() throws(Violation) {
    let seat = Int.random(in: 0..<setting.seatCount, using: &random)
    switch Int.random(in: 0..<200, using: &random) {
    case 0..<76: act(seat)
    case 76..<120: try iterate()
    case 120..<150: try read(seat)
    case 150..<160: links[seat]?.send()
    case 160..<184: passTime()
    case 184..<188: planDeath()
    case 188: try restart()
    case 189: try reconfigure()
    case 190..<192: leave(seat)
    case 192: links[seat]?.reads = false
    case 193: if random.oneIn(4) { loseKept() } else if random.oneIn(2) { try nestDeeply(seat) }
    case 194: try actBeforeDeath(seat)
    default: if let link = links[seat] { link.send(atMost: Int.random(in: 1...40, using: &random)) }
    }
  }

  private func passTime() {
    let milliseconds: UInt64 =
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<70: UInt64.random(in: 0...2, using: &random)
      case 70..<95: UInt64.random(in: 2...200, using: &random)
      case 95..<99: UInt64.random(in: 200...3000, using: &random)
      // The machine was asleep.
      default: UInt64.random(in: 1...20, using: &random) * 3_600_000
      }
    Kernel.setClock(Kernel.now + milliseconds * 1_000_000 + UInt64.random(in: 0...999_999, using: &random))
  }

  var isPeaceful: Bool { setting.isLong && step % 1000 < 700 }

  private func loseKept() {
    killKeeper()
    if random.oneIn(8), bus == nil { keeping.loseState() }
  }

  /// A client acts, and the bus dies soon after. Otherwise, rare frames seldom precede a death.
  private func actBeforeDeath(_ seat: Int) throws(Violation) {
    guard !isPeaceful else { return }
    for _ in 0..<Int.random(in: 1...4, using: &random) { act(seat) }
    links[seat]?.send()
    var faults = Faults(turns: 8)
    // Half of the bus's output is still unsent then.
    if random.oneIn(2) { faults.again = 2 }
    try iterate(faults: faults)
    guard hasServed else { return }
    planDeath(after: Int.random(in: 0..<64, using: &random), at: SIM_ANYWHERE)
  }

  private func planDeath() {
    guard earlyDeaths < 2, !isPeaceful else { return }
    // Stores into the header are few, and each decides which of the rest is valid.
    let (place, ranges) = random.pick([
      (SIM_ANYWHERE, [2, 8, 32, 128, 512, 2048]), (SIM_ANYWHERE, [2, 8, 32, 128, 512, 2048]),
      (SIM_IN_HEADER, [2, 8, 32]),
    ])
    let count = Int.random(in: 0..<random.pick(ranges), using: &random)
    tell("is to die in \(count) of \(place)")
    planDeath(after: count, at: place)
  }

  func faults() -> Faults {
    var faults = Faults(turns: 8)
    guard random.oneIn(2) else { return faults }
    let often: [UInt32] = [2, 4, 16]
    if random.oneIn(3) { faults.again = random.pick(often) }
    if random.oneIn(3) { faults.shortReceive = random.pick(often) }
    if random.oneIn(3) { faults.shortSend = random.pick(often) }
    if random.oneIn(3) { faults.reorder = 2 }
    if random.oneIn(40) { faults.noDescriptor = random.pick(often) }
    if random.oneIn(20) { faults.lostDescriptor = 2 }
    if random.oneIn(20) { faults.keeper = random.pick([2, 16, 64]) }
    return faults
  }
}

struct Digest: Equatable {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ number: UInt64) { value = (value ^ number) &* 0x100_0000_01B3 }

  mutating func add(_ bytes: RawSpan) {
    for index in 0..<bytes.byteCount { add(UInt64(bytes.integer(at: index, as: UInt8.self))) }
  }
}

extension SplitMix64 {
  mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &self)] }
}
