// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

struct GetCommand: Command {
  private let name: String
  private let object: String
  /// The value of --format; nil to print the userInfo.
  private let format: NotificationFormat?

  init(_ invocation: Invocation) throws(CommandError) {
    guard !invocation.operands[0].contains("*"),
      !invocation.operands.contains(where: { NameSyntax.hasWildcard($0.utf8Bytes) })
    else {
      throw .usage("get takes one name, not a pattern: use list --retained")
    }
    name = try invocation.name(at: 0)
    format = try NotificationFormat.given(in: invocation)
    guard invocation.operands.count == 2 else {
      object = try invocation.object()
      return
    }
    guard !invocation.has(.object) else { throw .usage("the object is given twice") }
    object = try Invocation.checkedObject(invocation.operands[1])
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let snapshot: RetainedSnapshot
    var list: [RetainedInfo] = []
    do throws(TribuneError) {
      let connection = try await context.connect(identifyingPosters: true)
      let needsAge = context.writesValues
      (snapshot, list) = try await bounded(by: context.timeout) {
        [name, object] () async throws(TribuneError) -> (RetainedSnapshot, [RetainedInfo]) in
        (
          try await RetainedSnapshot(of: name, object: object, over: connection),
          needsAge ? try await connection.retained() : []
        )
      }
    } catch {
      throw CommandError(error, status: ExitStatus.noReply)
    }
    guard let notification = snapshot.notifications.last(where: { $0.object == object }) else {
      if snapshot.lost > 0 {
        throw CommandError(
          message: "too much is retained under \(name.terminalSafe): name the object",
          status: ExitStatus.noReply)
      }
      if !context.isQuiet { context.terminal.report(absence(others: snapshot.notifications.count)) }
      return ExitStatus.failure
    }
    try show(notification, age: list.first { $0.describes(notification) }?.age, in: context)
    return ExitStatus.success
  }

  private func absence(others: Int) -> String {
    let subject = "nothing is retained under \(subjectText(name, object))"
    guard others > 0 else { return subject }
    let objects = others == 1 ? "but for an object" : "but for \(others) objects"
    return "\(subject), \(objects): list --retained shows which"
  }

  private func show(_ notification: Notification, age: Duration?, in context: Context) throws(CommandError) {
    if context.writesValues {
      guard case .object(let members) = notification.json() else { return }
      return try context.print(.object(members + [("age", age.map { .seconds($0) } ?? .null)]))
    }
    if let format {
      return try context.print(format.line(of: notification, at: SystemClock.wallMicroseconds))
    }
    if context.terminal.isTerminal { return try context.print(notification.userInfo.line) }
    // Programs get the bytes of the userInfo unchanged, and a line feed.
    try context.write(bytes: notification.userInfo.bytes + [UInt8(ascii: "\n")])
  }
}

extension RetainedInfo {
  /// True if the entry has the notification's name, object, poster and length. If the entry is of a later
  /// notification that has the same four values, the result is true, too.
  func describes(_ notification: Notification) -> Bool {
    name == notification.name && object == notification.object && connection == notification.sender
      && byteCount == notification.userInfo.count
  }
}

struct RetainedSnapshot: Sendable {
  private(set) var notifications: [Notification] = []
  /// The number of notifications that the bus dropped.
  private(set) var lost = 0

  /// - Parameter object: empty for any object.
  /// - Throws: `notPermitted` if the policy does not allow the observation. Without an object, only a policy
  ///   line for all objects allows it.
  init(of name: String, object: String = "", over connection: Connection) async throws(TribuneError) {
    let sequence = try await connection.observe(name, object: object, retained: true)
    var iterator = sequence.makeAsyncIterator()
    while notifications.count + lost < sequence.retainedCount, let delivery = try await iterator.next() {
      switch delivery {
      case .notification(let notification): if notification.isRetained { notifications.append(notification) }
      case .lost(let count): lost = lost.saturatingAdding(count)
      case .interrupted:
        self = try await RetainedSnapshot(of: name, object: object, over: connection)
        return
      }
    }
  }
}
