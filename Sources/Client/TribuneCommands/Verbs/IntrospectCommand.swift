// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct IntrospectCommand: Command {
  private let subject: String

  init(_ invocation: Invocation) throws(CommandError) {
    subject = try Invocation.checkedObject(invocation.operands[0])
    guard !subject.isEmpty else { throw .usage("introspect needs an object or a protocol") }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let (members, protocols, objects) = try await context.request {
      [subject] connection throws(TribuneError) in
      (
        try await connection.introspect(subject), try await connection.protocols(),
        try await connection.objects()
      )
    }
    let own = Self.protocolName(of: subject, members, protocols, objects)
    try context.list(
      members.map(\.json), text: try context.text(of: Table(members: members, of: own)),
      legend: "\(members.count.counted("message")) of \(own.terminalSafe).")
    return ExitStatus.success
  }

  /// The protocol of an object, or `subject` itself if it names a protocol. The bus does not list objects
  /// that only match a configured pattern. For such an object, returns the most derived protocol that
  /// declares one of `members`.
  static func protocolName(
    of subject: String, _ members: [MemberInfo], _ protocols: [ProtocolInfo], _ objects: [ObjectInfo]
  ) -> String {
    if let name = objects.first(where: { $0.object == subject })?.protocolName { return name }
    if protocols.contains(where: { $0.name == subject }) { return subject }
    let origins = Set(members.map(\.origin))
    let parents = Set(protocols.filter { origins.contains($0.name) }.flatMap(\.parents))
    return origins.subtracting(parents).sorted().first ?? subject
  }
}

extension Table {
  init(members: [MemberInfo], of protocolName: String) {
    self.init(["KIND", Column(title: "NAME", style: .bold), "REQUIRED", "SIGNATURE", "FROM"])
    for member in members {
      append([
        member.kind.rawValue, member.name, member.isRequired ? "required" : "optional",
        member.parameters + (member.result.map { " -> \($0)" } ?? ""),
        member.origin == protocolName ? "" : member.origin,
      ])
    }
  }
}

extension MemberInfo {
  var json: JSONValue {
    .object([
      ("name", .string(name)), ("kind", .string(kind.rawValue)), ("required", .bool(isRequired)),
      ("parameters", .string(parameters)), ("result", result.map { .string($0) } ?? .null),
      ("from", .string(origin)), ("documentation", .string(documentation)),
    ])
  }
}
