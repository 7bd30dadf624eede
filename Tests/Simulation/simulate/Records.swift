// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A fact holds, may hold (a daemon died during the change), or holds no longer.
enum Certainty {
  case certain, possible, gone
}

final class Registration {
  enum What {
    case observation(SuspensionBehavior, isAwaited: Bool)
    case delegate(isSet: Bool, FailurePolicy, timeout: UInt32, order: Int32)
    /// Nanoseconds; 0 for none. `Registration.expiry` is what the bus made of it.
    case hold(expiry: UInt64)
    /// Under way since the verdict that allowed it.
    case action
    /// A place in the line of those that wait to begin.
    case waiting(claims: Bool)
    case monitor
    case declaration
  }

  let number: Int
  unowned let link: Link
  let serial: Serial
  let what: What
  let patterns: [String]
  let object: String
  var certainty = Certainty.certain { didSet { wasInDoubt = wasInDoubt || certainty == .possible } }
  /// Then the time of its end is unknown.
  private(set) var wasInDoubt = false
  /// The log or the client's queue may lack room for it or its snapshot; the reply tells.
  var mayBeRefused = false
  /// Its connection or its `set` may have more delegates and holds than the limit.
  var mayExceedLimit = false
  /// The bus had to refuse it when it took it.
  var refusal: ErrorCode?
  var mayBeEndedByPolicy = false
  var isKnown: Bool { certainty == .certain && !mayBeRefused }
  var takenAt = 0
  var goneAt = Int.max
  var defaultTimeout: UInt32 = 0
  var id: UInt64 = 0
  var wantsSnapshot = false
  /// Of a hold or delegate: actions that certainly were under way when the bus took it.
  var missed: [Registration] = []
  /// Of a hold: its expiry, in nanoseconds; nil for none. A range until the bus has said which moment it is.
  var expiry: ClosedRange<UInt64>?
  /// Of a hold: actions that it is too late for, as the bus said.
  var lateCount = 0

  init(number: Int, link: Link, serial: Serial, what: What, patterns: [String], object: String) {
    self.number = number
    self.link = link
    self.serial = serial
    self.what = what
    self.patterns = patterns
    self.object = object
    if case .hold(let expiry) = what, expiry != 0 { self.expiry = expiry...expiry }
  }

  var mayHaveExpired: Bool { expiry.map { $0.lowerBound <= Kernel.now } ?? false }
  var hasExpired: Bool { expiry.map { $0.upperBound <= Kernel.now } ?? false }

  var isDelegate: Bool { if case .delegate = what { true } else { false } }
  var isHold: Bool { if case .hold = what { true } else { false } }
  var isAction: Bool { if case .action = what { true } else { false } }
  var isWaiting: Bool { if case .waiting = what { true } else { false } }
  var isClaim: Bool { if case .waiting(claims: true) = what { true } else { false } }
  var isObservation: Bool { if case .observation = what { true } else { false } }
  var isMonitor: Bool { if case .monitor = what { true } else { false } }
  /// It observes what the bus announces.
  var follows: Bool { isObservation && patterns[0].hasPrefix("tribune.") }
  var place: (Int32, Int) {
    if case .delegate(_, _, _, let order) = what { (order, takenAt) } else { (0, takenAt) }
  }
  var label: String { "r\(number)" }
  /// The numbers of a hold's last reason that was sent, that the bus took, and that the client knows to be taken. The
  /// first is 0.
  var (sentReason, takenReason, knownReason) = (0, 0, 0)

  func why(_ number: Int) -> String { number == 0 ? label : "\(label) \(number)" }

  /// A verdict may give this reason of the hold: verdicts may be older than the known state.
  func mayHaveHad(_ why: String) -> Bool { (0...takenReason).contains { self.why($0) == why } }
  func mayHave(_ why: String) -> Bool { (knownReason...takenReason).contains { self.why($0) == why } }

  /// A delegate that is set replaces all of its object, and without an object those with names in common.
  func canReplace(_ other: Registration) -> Bool {
    guard case .delegate(isSet: true, _, _, _) = what else { return false }
    return other.isDelegate && other.object == object
      && (!object.isEmpty
        || patterns.contains { one in other.patterns.contains { Naming.overlap(one, $0) } })
  }

  /// For delegates and holds, a message without an object is about all objects.
  func isFor(_ name: String, _ object: String) -> Bool {
    (self.object.isEmpty || self.object == object
      || object.isEmpty && (isDelegate || isHold || isAction || isWaiting))
      && patterns.contains { Naming.matches($0, name) }
  }
}

final class Posting {
  let number: Int
  unowned let link: Link
  let name: String
  let object: String
  let style: PostingStyle
  let options: PostOptions
  let isEmpty: Bool
  var serial: Serial = 0
  var isFile = false
  /// Bytes of its userInfo; and, approximately, of the whole post.
  var length = 0
  var size = Posting.frameSize
  static let frameSize = 128
  var isUnstorable = false
  /// The policy forbade it when the bus took it.
  var isForbidden = false
  /// In the order in which they were certainly retained; else 0.
  var retainedAt = 0
  var isStored = false
  var certainty = Certainty.certain
  var takenAt = 0
  var takenTime: UInt64 = 0
  var replaced: [Posting] = []
  /// Milliseconds for acknowledgements, and the end of that wait.
  var deadline: UInt32 = 0
  var due: UInt64 { takenTime + UInt64(deadline) * 1_000_000 }
  var dones: [Operation] = []
  /// All whose handling it may await.
  var awaited: [Link] = []
  /// Its poster has cancelled the wait.
  var isCancelled = false
  /// Posts that were or may have been retained under its name and object before.
  var displaced: [Posting] = []
  var hasReplaced = false

  init(
    number: Int, link: Link, name: String, object: String, style: PostingStyle, options: PostOptions,
    isEmpty: Bool
  ) {
    self.number = number
    self.link = link
    self.name = name
    self.object = object
    self.style = style
    self.options = options
    self.isEmpty = isEmpty
  }

  /// Unique: it is the only identification of a post without userInfo.
  var serialOfItsOwn: Serial { Self.firstSerialOfItsOwn + Serial(number) }
  static let firstSerialOfItsOwn: Serial = 1 << 32

  /// One of them would replace the other among the retained notifications.
  func isSame(as other: Posting) -> Bool { name == other.name && object == other.object }

  func replaces(_ other: Posting) -> Bool {
    guard !options.isDisjoint(with: .coalescing), other.link.uid == link.uid else { return false }
    if options.contains(.coalesceByName), other.name != name { return false }
    if options.contains(.coalesceByObject), other.object != object { return false }
    return true
  }
}

struct Expectation {
  let post: Posting
  let isSnapshot: Bool
  var certainty: Certainty { didSet { if certainty != .certain { pending = nil } } }
  /// It becomes certain when the client reads that the bus accepted this registration.
  var pending: Registration?
  var isBuffered = false
  /// An observation whose snapshot comes after it.
  var precedes: Registration?
  /// While it is buffered, a later one of its name and object replaces it.
  var coalesces = false
  /// Another notification overtook it in the buffer, so its order is unknown.
  var wasBuffered = false
  var isInherited = false
  var isOvertaken = false
}

final class Query {
  let number: Int
  unowned let link: Link
  let serial: Serial
  let name: String
  let object: String
  let mode: QueryMode
  let fallback: VerdictKind
  let flags: QueryFlags
  /// 0 for any number of actions at a time.
  let slots: UInt32
  /// Actions that certainly were under way when the bus took the query with slots, and those that certainly
  /// waited before the asker.
  var occupants: [Registration] = []
  /// In milliseconds.
  var deadline: UInt32
  let isDefault: Bool
  var takenAt = 0
  var takenTime: UInt64 = 0
  var takenBy: UInt64 = 0
  var delegates: [Registration] = []
  var possibleDelegates: [Registration] = []
  var holds: [Registration] = []
  var possibleHolds: [Registration] = []
  /// Holds that came after a claim of the asker.
  var passedHolds: [Registration] = []
  var lacksRequired = false
  /// Its parent, and the parent id in its frame: 0 for none.
  var parent: Query?
  var parentID: UInt64 = 0
  /// The bus must or may refuse it: its chain has the same name and object, or is too deep.
  var mustRecur = false
  var mayRecur = false
  var id: UInt64 = 0
  var isCancelled = false
  var isOver = false
  var verdict: Verdict?
  var answers: [(question: AskedQuestion, answer: AnswerKind, operation: Operation)] = []
  /// Everything that the bus has read, in time or late.
  var deferrals: [(question: AskedQuestion, operation: Operation)] = []
  var progress: [Progress] = []

  init(
    number: Int, link: Link, serial: Serial, name: String, object: String, mode: QueryMode,
    fallback: VerdictKind, flags: QueryFlags, slots: UInt32 = 0, deadline: UInt32?
  ) {
    self.number = number
    self.link = link
    self.serial = serial
    self.name = name
    self.object = object
    self.slots = slots
    self.mode = mode
    self.fallback = fallback
    self.flags = flags
    self.deadline = deadline ?? 0
    isDefault = deadline == nil
  }

  var due: UInt64 { takenTime + UInt64(deadline) * 1_000_000 }
  /// The bus ignores later answers.
  var dueLatest: UInt64 { takenBy + UInt64(deadline) * 1_000_000 }

  /// The earliest time at which a delegate can time out.
  func due(of registration: Registration) -> UInt64 {
    guard case .delegate(_, _, let timeout, _) = registration.what else { return 0 }
    var end = takenTime + UInt64(timeout == 0 ? registration.defaultTimeout : timeout) * 1_000_000
    for (question, operation) in deferrals
    where question.registration === registration && operation.certainty == .certain && !operation.isRefused
      && operation.takenBy < end
    {
      if case .defer(_, let span) = operation.what {
        end = max(end, operation.takenTime + UInt64(span) * 1_000_000)
      }
    }
    return min(end, due)
  }
}

final class AskedQuestion {
  let query: Query
  let registration: Registration
  let delegate: UInt64
  var isAnswered = false
  var text = ""
  var conclusion: ConclusionKind?

  init(query: Query, registration: Registration, delegate: UInt64) {
    self.query = query
    self.registration = registration
    self.delegate = delegate
  }
}

final class Operation {
  enum What {
    case hello
    case post(Posting)
    case register(Registration)
    case cancel(Serial)
    /// The number of the hold's new reason.
    case amend(Registration, Int)
    case ask(Query)
    case answer(AskedQuestion, AnswerKind)
    /// Milliseconds.
    case `defer`(AskedQuestion, UInt32)
    case done(Posting, hasFailed: Bool)
    /// A foreign process tries to succeed a connection.
    case impersonate(Link)
    case room, pace
    case suspend(Bool)
    case list(ListSubject)
    case stray(ErrorCode)
    case succeed(Link)
    case garbage([ErrorCode])
  }

  unowned let link: Link
  let what: What
  let serial: Serial
  let end: Int
  /// When the kernel had all of it.
  var sentTime: UInt64 = .max
  /// The bus tried to read it, and the kernel hid it.
  var wasHidden = false
  var awaitsReply: Bool
  var isTaken = false
  var takenAt = 0
  /// The earliest and the latest time at which the bus took it.
  var takenTime: UInt64 = 0
  var takenBy: UInt64 = 0
  var isRefused = false
  var listsItself = false
  /// Its sender's observations among the entries.
  var ownObservations = 0
  var certainty = Certainty.certain
  var awaitedPost: Posting? {
    if case .post(let post) = what, post.options.contains(.awaited) { post } else { nil }
  }
  /// The bus may have refused the post without a reply.
  var mayHaveBeenRefused: Bool {
    if case .post(let post) = what { post.certainty != .certain } else { false }
  }
  var text: String {
    switch what {
    case .hello: "a hello"
    case .post(let post):
      "post \(post.number) \(post.name) \"\(post.object)\" \(post.style) options \(post.options.rawValue)\(post.isFile ? " file" : "")\(post.isEmpty ? " empty" : "")"
    case .register(let registration):
      "r\(registration.number) \(registration.what) \(registration.patterns) \"\(registration.object)\""
    case .cancel(let serial): "cancel \(serial)"
    case .amend(let hold, let number): "amend r\(hold.number) for the reason \(number)"
    case .ask(let query):
      "query \(query.number) \(query.name) \"\(query.object)\" \(query.mode) flags \(query.flags.rawValue) deadline \(query.deadline)\(query.parent.map { " under query \($0.number)" } ?? "")"
    case .answer(let question, let answer):
      "\(answer) of r\(question.registration.number) to query \(question.query.number)"
    case .defer(let question, let span):
      "defer of r\(question.registration.number) to query \(question.query.number) by \(span)"
    case .done(let post, _): "done with post \(post.number)"
    case .impersonate(let other): "succeed link \(other.number), which is another process's"
    case .suspend(let isSuspended): isSuspended ? "suspend" : "resume"
    case .list: "list"
    case .room: "room"
    case .pace: "pace"
    case .stray(let code): "what is to be refused with \(code)"
    case .succeed(let old): "succeed link \(old.number)"
    case .garbage(let codes): "garbage, \(codes)"
    }
  }

  var ended: [Registration] = []

  init(_ link: Link, _ what: What, serial: Serial, end: Int, awaitsReply: Bool) {
    self.link = link
    self.what = what
    self.serial = serial
    self.end = end
    self.awaitsReply = awaitsReply
  }
}
