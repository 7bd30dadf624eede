// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneCore
import TribuneServer
import TribuneSystem
import TribuneTestSupport
import TribuneWire

/// Something that must not be.
struct Violation: Error {
  let step: Int
  let what: String
}

/// One life of a bus, of its clients and of systemd, which a number determines.
///
/// It is made of steps. The random numbers of a step come from the life's number and the step's own: so steps can be left
/// out, and the others draw the same.
final class Life {
  /// Drawn from the life's number; only the configuration changes later.
  struct Setting {
    let seatCount: Int
    /// Descriptors that the keeper keeps.
    let keeperCapacity: Int
    /// It has room for all.
    var keepsAll: Bool { keeperCapacity == Self.ampleCapacity }
    private static let ampleCapacity = 200
    var configuration = Configuration()
    /// Not all that is registered has room in the log.
    var isTight = false
    /// The bus lives for long before it dies for the first time, and what is retained is long: its log is then so long that
    /// it is swept in several steps.
    var isLong = false

    init(using random: inout SplitMix64) {
      seatCount = random.pick([6, 12, 24, 40])
      // A keeper that has no room for all, now and then.
      keeperCapacity = random.oneIn(8) ? seatCount / 2 + 4 : Self.ampleCapacity
      configuration.queue.highMarkBytes = random.pick([16 << 10, 64 << 10, 1 << 20])
      configuration.queue.lowMarkBytes = configuration.queue.highMarkBytes / 4
      configuration.notifications.bufferMaxBytes = random.pick([4 << 10, 1 << 20])
      configuration.delegateTimeoutNanoseconds = 1_000_000_000
      configuration.deadlineNanoseconds = 2_000_000_000
      configuration.logLevel = Life.logLevel
      isTight = random.oneIn(4)
      if isTight { configuration.logMaxBytes = random.pick([8 << 10, 16 << 10, 24 << 10]) }
      isLong = !isTight && random.oneIn(8)
      if isLong { configuration.logMaxBytes = 2 << 20 }
    }
  }

  static var isTold = false
  static var logLevel: Log.Level { isTold ? .debug : .error }

  let seed: UInt64
  var setting: Setting
  /// Of the step.
  var random: SplitMix64
  private(set) var step = 0
  let listener: Socket
  let keeping: Keeping
  var bus: BusInstance?
  /// The bus has completed an iteration. Until then, its death counts as one during the take-over.
  var hasServed = false
  /// Daemons that have died before that, one after the other.
  var earlyDeaths = 0

  /// By seat.
  var links: [Link?]
  /// All that the bus may know.
  var known: [Link] = []
  var processes: [Int32]
  var linkCount = 0
  var unaccepted: [Link] = []
  var numbers = 0
  /// Operations, and ends of connections, that the bus has taken, ever: the order of everything.
  var taken = 0

  // What is the case on the bus.
  var queries: [Query] = []
  var waiting: [Posting] = []
  var retained: [Posting] = []
  var possiblyRetained: [Posting] = []
  /// Of each of these, either it is retained, or the one that it replaced.
  var retainedOrReplaced: [Posting] = []
  var posts: [Int: Posting] = [:]
  /// The name that no query can be allowed under, for want of a delegate that is required.
  var required: String?
  /// Buses that have begun with nothing.
  var epoch: UInt64 = 0
  // What may never come again, of one of them.
  var connectionIDs: Set<UInt64> = []
  var queryIDs: [UInt64: Query] = [:]
  var delegateIDs: [UInt64: Registration] = [:]

  /// Found while a frame was read.
  var pendingViolation: Violation?
  /// When the last daemon took over.
  var tookOverTime: UInt64 = 0
  /// When the last daemon died, in what was taken before.
  var diedAt = 0
  /// When the bus began its last iteration, or whatever it did last: it took nothing of that before.
  var iterationBegan: UInt64 = 0
  /// It may have left frames for later.
  var isSlow = false
  /// Replies to awaited posts that were read since all was at rest: how many observers were done.
  var acknowledged: [(post: Posting, count: UInt32)] = []
  /// What was last listed to who looks at everything.
  var inspected: [Entry] = []

  // What the bus was doing.
  var readInIteration: [(link: Link, operations: [Operation])] = []
  /// Of which the bus had nothing to read.
  var triedInIteration: [Link] = []
  /// Posts that were delivered because the bus was idle.
  var idleDelivered: [Posting] = []
  var sentLast: Link?
  /// Endings that deaths explain: each daemon that died may have been about to write to one connection.
  var endingsExplained = 0
  /// The last daemon has handed everything over, and no other has taken it yet.
  var isHandedOver = false
  var isTakingOver = false
  /// The keeper has died, and the bus has not noticed.
  var isKeeperGone = false
  /// Operations of which it is not known whether a daemon that died has taken them.
  var doubtful: [(link: Link, operations: [Operation])] = []
  /// Posts that a daemon that died was to deliver at the end of its pass.
  var undelivered: [Posting] = []

  var digest = Digest()
  var counts = Counts()

  struct Counts {
    var steps = 0, deaths = 0, restarts = 0, posts = 0, received = 0, lost = 0, verdicts = 0, succeeded = 0
  }

  /// - Throws: when there is no descriptor for a socket.
  init(seed: UInt64) throws(Errno) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    setting = Setting(using: &random)
    let socket = sim_listen()
    guard socket != -1 else { throw .current }
    listener = Socket(FileDescriptor(owning: socket))
    keeping = try Keeping(capacity: setting.keeperCapacity)
    Kernel.keeping = keeping
    // The last one's is who looks at everything.
    links = Array(repeating: nil, count: setting.seatCount + 1)
    processes = (0...setting.seatCount).map { 5_000_000 + Int32($0) }
    Kernel.setClock(1_000_000_000_000)
    sim_reset()
  }

  func number() -> Int {
    numbers += 1
    return numbers
  }

  /// Says what happens, where somebody wants to see it.
  func tell(_ what: @autoclosure () -> String) {
    if Life.isTold { StandardError.writeLine("\(step) at \(Kernel.now / 1000) µs: \(what())") }
  }

  func fail(_ what: String) -> Violation { Violation(step: step, what: what) }

  func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(Violation) {
    if !condition { throw fail(what()) }
  }

  // MARK: Steps

  /// Lives through the steps that are kept.
  func live(steps: Int, keeping isKept: (Int) -> Bool = { _ in true }) throws(Violation) {
    for step in 1...steps {
      guard isKept(step) else { continue }
      self.step = step
      random = SplitMix64(seed: seed ^ UInt64(step) &* 0xD1B5_4A32_D192_ED03)
      CrashNote.note(seed: seed, step: step)
      counts.steps += 1
      try happen()
      if step % 500 == 0 { try rest(isFinal: false) }
    }
    self.step = steps + 1
    random = SplitMix64(seed: seed ^ 0xABCD)
    CrashNote.note(seed: seed, step: self.step)
    try rest(isFinal: true)
    try end()
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
    case 193: if random.oneIn(4) { try loseKept() }
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

  /// The keeper dies, with a bus or without; and then, at times, systemd has lost the log as well.
  private func loseKept() throws(Violation) {
    try killKeeper()
    if random.oneIn(8), bus == nil { keeping.loseState() }
  }

  private func planDeath() {
    guard earlyDeaths < 2, !isPeaceful else { return }
    // There are few stores into the header, and each decides what of the rest counts.
    let (place, ranges) = random.pick([
      (SIM_ANYWHERE, [2, 8, 32, 128, 512, 2048]), (SIM_ANYWHERE, [2, 8, 32, 128, 512, 2048]),
      (SIM_IN_HEADER, [2, 8, 32]),
    ])
    let count = Int.random(in: 0..<random.pick(ranges), using: &random)
    tell("is to die in \(count) of \(place)")
    Kernel.dieAfter(count, at: place)
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
    return faults
  }
}

/// What clients have read, as one number.
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
