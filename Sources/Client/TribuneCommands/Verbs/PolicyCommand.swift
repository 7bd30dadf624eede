// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribunePolicy
import TribuneSystem
import TribuneWire

struct PolicyCommand: Command {
  private enum Who {
    case thisConnection
    case connection(String)
    case user(String)
    case process(Int32)
  }

  private let action: String
  private let pattern: String
  private let object: String
  private let who: Who

  init(_ invocation: Invocation) throws(CommandError) {
    guard invocation.operands[0] == "explain" else {
      throw .usage(
        "\"\(invocation.operands[0].terminalSafe)\" is unknown: write policy explain ACTION NAME")
    }
    action = invocation.operands[1]
    guard Action(name: action) != nil else {
      throw .usage(
        "there is no action \"\(action.terminalSafe)\"\(Spelling.hint(for: action, among: Action.names) { $0 }); "
          + "there are \(Action.names.joined(separator: ", "))")
    }
    pattern = invocation.operands[2]
    object = try invocation.object()
    _ = try Invocation.checkedPattern(pattern)
    let ways: [Who?] = [
      invocation.text(.as).map { .user($0) }, invocation.number(.pid).map { .process(Int32(clamping: $0)) },
      invocation.text(.connection).map { .connection($0) },
    ]
    guard ways.compactMap({ $0 }).count <= 1 else {
      throw .usage("--as, --pid and --connection cannot be combined")
    }
    who = ways.compactMap { $0 }.first ?? .thisConnection
    if case .connection(let text) = who, ConnectionID(text) == nil {
      throw .usage("\"\(text.terminalSafe)\" is not the id of a connection, such as :1 or 1")
    }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let (subject, source) = try subject()
    var connection: String?
    if case .connection(let text) = who { connection = text }
    let decision = try await context.request { [self, connection] bus throws(TribuneError) in
      try await bus.policyDecision(
        on: action, pattern, object: object, subject: subject, connection: connection)
    }
    try context.write(text(of: decision, source), or: decision.json(from: source))
    return decision.isAllowed ? ExitStatus.success : ExitStatus.failure
  }

  // MARK: Who

  private func subject() throws(CommandError) -> (PolicySubject?, String) {
    switch who {
    case .thisConnection: return (nil, "of this connection, as the kernel recorded them")
    case .connection(let id): return (nil, "of connection \(id), as the kernel recorded them")
    case .user(let name):
      guard let user = try Self.looking({ () throws(Errno) in try UserDatabase.user(name) }) else {
        // A user without an entry may belong to another host or a container, or may have been removed.
        if let id = UInt32(name), id != .max {
          return (PolicySubject(uid: id, groups: []), "of the id alone: the user database does not have it")
        }
        throw .failure("this host has no user \"\(name.terminalSafe)\"")
      }
      return (
        PolicySubject(uid: user.id, groups: user.groups),
        "of the user database; a login may have other groups"
      )
    case .process(let pid):
      guard let facts = try Self.looking({ () throws(Errno) in try ProcessFacts(of: pid) }) else {
        throw .failure("there is no process \(pid)")
      }
      return (
        PolicySubject(uid: facts.user, groups: facts.groups, unit: facts.unit),
        "of process \(pid), from /proc"
      )
    }
  }

  private static func looking<Found>(_ find: () throws(Errno) -> Found?) throws(CommandError) -> Found? {
    do throws(Errno) {
      return try find()
    } catch {
      throw .failure("the user cannot be looked up: \(error)")
    }
  }

  // MARK: Output

  private func text(of decision: PolicyDecision, _ source: String) -> String {
    let subject = decision.subject
    var parts = ["user \(subject.uid)"]
    if !subject.groups.isEmpty {
      parts.append("groups \(subject.groups.sorted().map(String.init).joined(separator: " "))")
    }
    parts.append(subject.unit.map { "unit \($0.terminalSafe)" } ?? "no system unit")
    let about = subjectText(pattern, object)
    var lines = ["\(action.terminalSafe) \(about): \(decision.isAllowed ? "allowed" : "refused")"]
    if let line = decision.line {
      lines.append("  \(line.place): \(line.text.terminalSafe)")
    } else if decision.isExempt {
      lines.append("  This user may do everything: it runs the bus, or the bus has no policy and it is root.")
    } else {
      lines.append("  No line of the policy allows it.")
    }
    if let remark = remark(on: decision) { lines.append("  \(remark)") }
    lines.append("  For \(parts.joined(separator: ", ")) (\(source)).")
    for miss in decision.nearMisses {
      lines.append("Near miss: \(miss.line.place) \(miss.lacks.terminalSafe)")
      lines.append("  \(miss.line.text.terminalSafe)")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func remark(on decision: PolicyDecision) -> String? {
    if action == "list", pattern == "**", object.isEmpty {
      return decision.isAllowed
        ? "This includes all objects and protocols, and the connections of others."
        : "Objects, protocols and connections of others are not listed. Registrations may be."
    }
    if action == "list" { return "A list has each registration of which a part is allowed." }
    guard !decision.isAllowed, decision.line?.number != 0, let needed = Action(name: action)?.needed else {
      return nil
    }
    return "To \(action), one must be allowed to \(needed.name), too."
  }
}

extension PolicyDecision.Line {
  fileprivate var place: String { number == 0 ? file.terminalSafe : "\(file.terminalSafe):\(number)" }

  fileprivate var members: [(name: String, value: JSONValue)] {
    [("file", .string(file)), ("line", .integer(number)), ("text", .string(text))]
  }
}

extension PolicyDecision {
  fileprivate func json(from source: String) -> JSONValue {
    .object([
      ("allowed", .bool(isAllowed)), ("exempt", .bool(isExempt)),
      ("by", line.map { .object($0.members) } ?? .null), ("uid", .integer(Int(subject.uid))),
      ("groups", .array(subject.groups.sorted().map { .integer(Int($0)) })),
      ("systemUnit", .string(subject.unit ?? "")), ("source", .string(source)),
      (
        "nearMisses",
        .array(nearMisses.map { .object($0.line.members + [("lacks", .string($0.lacks))]) })
      ),
    ])
  }
}
