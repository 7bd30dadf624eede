// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// How certain a fact is: it holds; it may hold, because a daemon died during the change; or it holds no more.
enum Certainty {
  case certain, possible, gone
}

final class Registration {
  enum What {
    case observation(SuspensionBehavior, isAwaited: Bool)
    case delegate(isSet: Bool, FailurePolicy, timeout: UInt32, order: Int32)
    /// Expiry in nanoseconds; 0 for none.
    case hold(expiry: UInt64)
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
  /// If so, it is unknown when it ended.
  private(set) var wasInDoubt = false
  /// There may be no room for it in the log, or for the snapshot in the client's queue: the reply says so.
  var mayBeRefused = false
  /// The policy did not allow it when the bus took it.
  var isForbidden = false
  /// The policy has changed since, and did not allow it any more.
  var mayBeEndedByPolicy = false
  var isKnown: Bool { certainty == .certain && !mayBeRefused }
  /// The values of `Life.taken` when the bus took it, and took it back.
  var takenAt = 0
  var goneAt = Int.max
  /// Milliseconds that a delegate has if it named no timeout.
  var defaultTimeout: UInt32 = 0
  /// The bus's id of a delegate or a hold.
  var id: UInt64 = 0
  var wantsSnapshot = false
  /// Posts that the bus delivered early because of this registration.
  var deliveredBefore: [Posting] = []

  init(number: Int, link: Link, serial: Serial, what: What, patterns: [String], object: String) {
    self.number = number
    self.link = link
    self.serial = serial
    self.what = what
    self.patterns = patterns
    self.object = object
  }

  var isDelegate: Bool { if case .delegate = what { true } else { false } }
  var isHold: Bool { if case .hold = what { true } else { false } }
  var isObservation: Bool { if case .observation = what { true } else { false } }
  var isMonitor: Bool { if case .monitor = what { true } else { false } }
  /// Its place in a chain: by order, then by time of attaching.
  var place: (Int32, Int) {
    if case .delegate(_, _, _, let order) = what { (order, takenAt) } else { (0, takenAt) }
  }
  var label: String { "r\(number)" }
  /// The number of the last reason that was given to a hold, of the last that the bus took, and of the last that the
  /// client knows to be taken. The first is 0.
  var (sentReason, takenReason, knownReason) = (0, 0, 0)

  /// The reason of that number, as verdicts and lists have it.
  func why(_ number: Int) -> String { number == 0 ? label : "\(label) \(number)" }

  /// Whether a verdict may have it as the reason of this hold: verdicts may be older than what is known by now.
  func mayHaveHad(_ why: String) -> Bool { (0...takenReason).contains { self.why($0) == why } }
  func mayHave(_ why: String) -> Bool { (knownReason...takenReason).contains { self.why($0) == why } }

  /// For delegates and holds, a message without an object is about all objects.
  func isFor(_ name: String, _ object: String) -> Bool {
    (self.object.isEmpty || self.object == object || object.isEmpty && (isDelegate || isHold))
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
  /// The size of a post without userInfo.
  static let frameSize = 128
  /// There was no descriptor to store its file with.
  var isUnstorable = false
  /// The keeper has its file.
  var isStored = false
  var certainty = Certainty.certain
  var takenAt = 0
  var takenTime: UInt64 = 0
  /// The waiting posts that it has replaced.
  var replaced: [Posting] = []
  /// Milliseconds that it waits for acknowledgements, and the end of that wait.
  var deadline: UInt32 = 0
  var due: UInt64 { takenTime + UInt64(deadline) * 1_000_000 }
  var dones: [Operation] = []
  /// Its poster has taken it back, as far as it was awaited.
  var isCancelled = false
  /// The posts that were, or may have been, retained under its name and object before.
  var displaced: [Posting] = []
  /// It has certainly replaced one.
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

  /// A serial that no other post has. It is the only identification of a post without userInfo.
  var serialOfItsOwn: Serial { Self.firstSerialOfItsOwn + Serial(number) }
  static let firstSerialOfItsOwn: Serial = 1 << 32

  /// Whether one of them would replace the other among the retained notifications.
  func isSame(as other: Posting) -> Bool { name == other.name && object == other.object }

  func replaces(_ other: Posting) -> Bool {
    guard !options.isDisjoint(with: .coalescing), other.link.uid == link.uid else { return false }
    if options.contains(.coalesceByName), other.name != name { return false }
    if options.contains(.coalesceByObject), other.object != object { return false }
    return true
  }
}

/// A notification that a connection must receive, or that must be reported to it as lost.
struct Expectation {
  let post: Posting
  let isSnapshot: Bool
  var certainty: Certainty { didSet { if certainty != .certain { pending = nil } } }
  /// It becomes certain when the client reads that the bus has not refused this registration.
  var pending: Registration?
  /// It is buffered until the connection resumes.
  var isBuffered = false
  /// While it is buffered, a later one of its name and object replaces it.
  var coalesces = false
  /// Another notification overtook it while it was buffered: its place in the order means nothing.
  var wasBuffered = false
  /// It was meant for the connection's predecessor.
  var isInherited = false
  /// A later one of its poster and style has arrived: it is lost.
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
  /// In milliseconds.
  var deadline: UInt32
  /// The deadline is the bus's default.
  let isDefault: Bool
  var takenAt = 0
  /// The earliest and the latest time at which the bus took it.
  var takenTime: UInt64 = 0
  var takenBy: UInt64 = 0
  /// The delegates that were in the chain when it was asked.
  var delegates: [Registration] = []
  var possibleDelegates: [Registration] = []
  var holds: [Registration] = []
  var possibleHolds: [Registration] = []
  /// The configuration required a delegate that was missing then.
  var lacksRequired = false
  /// The query under which it was asked, and the id that its frame gives for it: 0 for none.
  var parent: Query?
  var parentID: UInt64 = 0
  /// It is nested in a query of its own name and object, or too deeply, and must be refused; or that may be so.
  var mustRecur = false
  var mayRecur = false
  var id: UInt64 = 0
  var isCancelled = false
  /// A client has read that it has ended.
  var isOver = false
  var verdict: Verdict?
  var answers: [(question: AskedQuestion, answer: AnswerKind, operation: Operation)] = []
  /// All that the bus has read, whether in time or not.
  var deferrals: [(question: AskedQuestion, operation: Operation)] = []
  /// The progress that its asker has read.
  var progress: [Progress] = []

  init(
    number: Int, link: Link, serial: Serial, name: String, object: String, mode: QueryMode,
    fallback: VerdictKind, flags: QueryFlags, deadline: UInt32?
  ) {
    self.number = number
    self.link = link
    self.serial = serial
    self.name = name
    self.object = object
    self.mode = mode
    self.fallback = fallback
    self.flags = flags
    self.deadline = deadline ?? 0
    isDefault = deadline == nil
  }

  var due: UInt64 { takenTime + UInt64(deadline) * 1_000_000 }
  /// Nothing that the bus reads then counts any more.
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

/// A question that a client has read.
final class AskedQuestion {
  let query: Query
  let registration: Registration
  let delegate: UInt64
  var isAnswered = false
  /// The text of its answer.
  var text = ""
  var conclusion: ConclusionKind?

  init(query: Query, registration: Registration, delegate: UInt64) {
    self.query = query
    self.registration = registration
    self.delegate = delegate
  }
}

/// One operation that a client has sent.
final class Operation {
  enum What {
    case hello
    case post(Posting)
    case register(Registration)
    case cancel(Serial)
    /// The hold's reason becomes that of this number.
    case amend(Registration, Int)
    case ask(Query)
    case answer(AskedQuestion, AnswerKind)
    /// By that many milliseconds.
    case `defer`(AskedQuestion, UInt32)
    case done(Posting, hasFailed: Bool)
    /// A foreign process tries to succeed a connection.
    case impersonate(Link)
    case suspend(Bool)
    case list(ofConnections: Bool)
    /// A frame that the bus must refuse with this error.
    case stray(ErrorCode)
    case succeed(Link)
    /// Bytes for which the bus must close the connection, with one of these errors.
    case garbage([ErrorCode])
  }

  unowned let link: Link
  let what: What
  let serial: Serial
  /// The offset of its end in the client's output.
  let end: Int
  /// When the kernel had all of it.
  var sentTime: UInt64 = .max
  /// The bus tried to read it, and the kernel had nothing for it.
  var wasHidden = false
  /// It waits for a reply.
  var awaitsReply: Bool
  var isTaken = false
  var takenAt = 0
  /// The earliest and the latest time at which the bus took it.
  var takenTime: UInt64 = 0
  var takenBy: UInt64 = 0
  var isRefused = false
  /// The client that asked for a list of connections is in it.
  var listsItself = false
  var certainty = Certainty.certain
  /// The post whose poster waits for observers.
  var awaitedPost: Posting? {
    if case .post(let post) = what, post.options.contains(.awaited) { post } else { nil }
  }
  /// A post that the bus may have refused without telling its poster.
  var mayHaveBeenRefused: Bool {
    if case .post(let post) = what { post.certainty != .certain } else { false }
  }
  /// For messages to people.
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
    case .stray(let code): "what is to be refused with \(code)"
    case .succeed(let old): "succeed link \(old.number)"
    case .garbage(let codes): "garbage, \(codes)"
    }
  }

  /// The registrations that it has ended, if the bus took it.
  var ended: [Registration] = []

  init(_ link: Link, _ what: What, serial: Serial, end: Int, awaitsReply: Bool) {
    self.link = link
    self.what = what
    self.serial = serial
    self.end = end
    self.awaitsReply = awaitsReply
  }
}
