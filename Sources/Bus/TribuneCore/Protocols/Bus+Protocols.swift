// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneProtocols
package import TribuneWire

/// Checks whether userInfo and values fit a method of a protocol. The owner of the `Bus` supplies these
/// checks, because the core cannot read JSON.
package struct PayloadCheck: Sendable {
  package typealias Check = @Sendable (RawSpan, ProtocolMethod) throws(WireError) -> Void

  let userInfo: Check
  let value: Check

  package init(userInfo: @escaping Check, value: @escaping Check) {
    self.userInfo = userInfo
    self.value = value
  }
}

extension Bus {
  enum Use {
    case post
    case ask
    case query

    func admits(_ kind: MethodKind) -> Bool {
      switch self {
      case .post: kind == .will || kind == .did
      case .ask: kind == .should
      case .query: kind == .value
      }
    }
  }

  package var declarationCount: Int { declarations.count }
  package var protocolCount: Int { declarations.library.count }

  // MARK: Declaring

  mutating func declare(
    _ frame: FrameView, from slot: ConnectionSlot, _ context: LoggedContext?
  ) throws(WireError) -> Acceptance {
    let name = try frame.decode(Declare.self).protocolName
    let serial = frame.header.serial
    try frame.object.requireOneObject()
    let isDeclared = frame.object.byteCount > 0
    let isDefinition = frame.payload.byteCount > 0
    guard isDeclared != name.isEmpty, isDeclared || isDefinition else {
      throw WireError(
        .invalidValue,
        "a declaration needs an object and the name of its protocol, or definitions of protocols")
    }
    guard name.utf8.count <= WireLimits.protocolNameLength else {
      throw WireError(
        .limitExceeded, "the name of the protocol is longer than \(WireLimits.protocolNameLength) bytes")
    }
    try requireCapacity(for: serial, from: slot)
    let object = String(repairing: frame.object)
    try requirePermission(
      .declare, on: [.any],
      object: DeclarationRegistration.objectToPermit(object, isDefinition: isDefinition), from: slot)
    let definer = Definer(connection: connections[slot].id, serial: serial)
    var (given, loggedLength): ([DelegateProtocol], Int) = ([], 0)
    if case .declare(let protocols, let length) = context { (given, loggedLength) = (protocols, length) }
    let protocolCount = isDefinition ? try define(frame.payload, for: definer, from: slot, &given) : 0
    let linked: DelegateProtocol?
    do throws(WireError) {
      linked = isDeclared ? try declarable(frame.object, as: name, given) : nil
    } catch {
      declarations.undefine(definer)
      throw error
    }
    let declaration = DeclarationRegistration(
      connection: definer.connection, slot: slot, serial: serial, object: object,
      linked: linked, isDefinition: isDefinition, protocolCount: protocolCount)
    declarations.insert(declaration)
    accounts.charge(protocolCount, of: .protocols, to: connections[slot].account)
    connections[slot].declarations[serial] = declaration
    emit(.okay(slot, serial, Okay(registration: serial)))
    var acceptance = Acceptance()
    acceptance.chargedLength = loggedLength
    if context == nil {
      let context = LoggedContext.of(declaration, in: declarations.library)
      acceptance.chargedLength = context.count
      if context.count > 0 { acceptance.context = context }
    }
    return acceptance
  }

  /// Defines the protocols in `source`, and appends them to `given`. In a replay, `given` already has the
  /// protocols that the log supplies. Returns the number of protocols that this declaration defines.
  private mutating func define(
    _ source: RawSpan, for definer: Definer, from slot: ConnectionSlot, _ given: inout [DelegateProtocol]
  ) throws(WireError) -> Int {
    guard source.byteCount <= WireLimits.definitionLength else {
      throw WireError(
        .limitExceeded, "the definitions of protocols are longer than \(WireLimits.definitionLength) bytes")
    }
    guard connections[slot].declarations.values.count(where: \.isDefinition) < limits.definitionsMax else {
      throw WireError(limit: "\(limits.definitionsMax) declarations with definitions per connection")
    }
    given += try declarations.define(
      [UInt8](source), for: definer, inheriting: given, yieldingToFiles: restoring.isReplaying)
    let count = declarations.library.protocols(of: definer).count
    do throws(WireError) {
      try accounts.require(count, of: .protocols, for: connections[slot].account)
    } catch {
      declarations.undefine(definer)
      throw error
    }
    return count
  }

  private mutating func declarable(
    _ object: RawSpan, as name: String, _ given: [DelegateProtocol]
  ) throws(WireError) -> DelegateProtocol {
    let known = declarations.library[name]
    let given = given.first { $0.name == name }
    guard
      let linked = given.map({ given in known.flatMap { $0.isSame(as: given) ? $0 : nil } ?? given }) ?? known
    else { throw WireError(.unknownProtocol, "there is no protocol \"\(name.escaped)\"") }
    // A replay need not look for a conflicting protocol of the object: the earlier bus has found none.
    if restoring.isReplaying { return linked }
    guard let other = declarations.linked(for: object), !other.isSame(as: linked) else { return linked }
    let what = other.name == name ? "another definition of" : "the protocol"
    throw WireError(
      .conflict, "\"\(String(repairing: object).escaped)\" already has \(what) \"\(other.name)\"")
  }

  mutating func withdraw(_ declaration: DeclarationRegistration) {
    forget(declaration)
    connections[declaration.slot].declarations[declaration.serial] = nil
    releaseCharge(of: declaration.serial, from: declaration.slot)
  }

  mutating func forget(_ declaration: DeclarationRegistration) {
    declarations.remove(declaration)
    accounts.charge(-declaration.protocolCount, of: .protocols, to: connections[declaration.slot].account)
  }

  /// Applies the protocols and objects of the configuration. Declarations of clients keep their protocols.
  package mutating func configure(
    protocols sources: [ProtocolSource], objects rules: [ObjectRule]
  ) -> ConfiguredProtocols {
    let objects = rules.isEmpty ? [] : chains.objectCounts.map(\.object)
    return declarations.configure(sources, rules) { pattern in objects.contains { pattern.matches($0) } }
  }

  // MARK: Checking

  @inline(__always) package mutating func isDeclared(_ object: RawSpan) -> Bool {
    if declarations.isEmpty { return false }
    return declarations.linked(for: object) != nil
  }

  package mutating func check(post frame: FrameView, isClearing: Bool = false) throws(WireError) {
    if isClearing {
      _ = try method(named: frame.name, of: frame.object, for: .post)
    } else {
      _ = try method(of: frame, for: .post)
    }
  }

  /// Returns nil if the object has no protocol. Throws if the protocol has no method of this name for `use`,
  /// or if the userInfo does not fit the method. A replay does not check the userInfo, and does not throw.
  mutating func method(of frame: FrameView, for use: Use) throws(WireError) -> ProtocolMethod? {
    if restoring.isReplaying {
      let method = declarations.linked(for: frame.object)?.method(named: String(repairing: frame.name))
      return method.flatMap { use.admits($0.kind) ? $0 : nil }
    }
    guard let method = try method(named: frame.name, of: frame.object, for: use) else { return nil }
    do throws(WireError) {
      try declarations.payloadCheck.userInfo(frame.payload, method)
    } catch {
      throw WireError(error.code, "the userInfo does not fit \(method.name): \(error.message)")
    }
    return method
  }

  /// Returns nil if the object has no protocol.
  private mutating func method(
    named name: RawSpan, of object: RawSpan, for use: Use
  ) throws(WireError) -> ProtocolMethod? {
    guard let linked = declarations.linked(for: object) else { return nil }
    let name = String(repairing: name)
    guard let method = linked.method(named: name) else {
      throw WireError(
        .unknownName,
        "\"\(linked.name)\", the protocol of \"\(String(repairing: object).escaped)\", has no method \(name)")
    }
    guard use.admits(method.kind) else {
      throw WireError(
        .unknownName,
        "\(name) is a \(method.kind) method of \"\(linked.name)\" and must be \(method.kind.use)")
    }
    return method
  }

  /// Throws if the object has a protocol that does not allow clients to ask or query the name.
  mutating func requireAnswerable(_ name: RawSpan, of object: RawSpan) throws(WireError) {
    do throws(WireError) {
      _ = try method(named: name, of: object, for: .query)
    } catch {
      _ = try method(named: name, of: object, for: .ask)
    }
  }

  /// Throws if a delegate does not conform to the object's protocol. A delegate for any object must conform
  /// to each protocol that its patterns mean (`Declarations.protocols(meantBy:)`).
  mutating func requireConforming(
    _ object: RawSpan, _ patterns: [Pattern], _ protocols: [String]
  ) throws(WireError) {
    // A replay must attach each delegate that the earlier bus accepted, even if the declarations differ now.
    guard !restoring.isReplaying else { return }
    let isOfAny = object.byteCount == 0
    var meant: [(object: String, linked: DelegateProtocol)] = []
    if isOfAny {
      meant = declarations.protocols(meantBy: patterns)
    } else if let linked = declarations.linked(for: object) {
      meant = [(String(repairing: object), linked)]
    }
    for (object, linked) in meant {
      do throws(NonConformance) {
        try declarations.library.conform(
          to: linked, stating: protocols, patterns: patterns, allowingOthers: isOfAny)
      } catch {
        throw error.refusal(by: object)
      }
    }
  }

  // MARK: Listing

  /// The objects with a protocol or delegates, and the patterns of the configuration, sorted by name. If
  /// `connection` is not 0, only the objects that this connection declares.
  package mutating func objectEntries(of connection: UInt64) -> [ObjectEntry] {
    var entries: [ExactText: ObjectEntry] = [:]
    for (object, linked, declarer) in declarations.objects(of: connection) {
      entries[ExactText(object)] = ObjectEntry(
        object: object, protocolName: linked.name, delegates: 0, connection: declarer)
    }
    for (object, count) in chains.objectCounts {
      let key = ExactText(object)
      if entries[key] == nil {
        guard connection == 0 else { continue }
        let name = declarations.linked(for: object.utf8Bytes)?.name ?? ""
        entries[key] = ObjectEntry(object: object, protocolName: name, delegates: 0, connection: .bus)
      }
      entries[key]?.delegates = UInt32(clamping: count)
    }
    return entries.values.sorted { $0.object.utf8.lexicographicallyPrecedes($1.object.utf8) }
  }

  mutating func objectEntry(of object: RawSpan) -> ObjectEntry? {
    guard let linked = declarations.linked(for: object) else { return nil }
    let text = String(repairing: object)
    return ObjectEntry(
      object: text, protocolName: linked.name,
      delegates: UInt32(clamping: chains.delegates(of: text).count),
      connection: declarations.declarer(of: text) ?? .bus)
  }

  /// The protocols that the connection defines, sorted by name. If `connection` is 0, all protocols.
  package func protocolEntries(of connection: UInt64) -> [ProtocolEntry] {
    declarations.library.protocols.compactMap { linked in
      let definer = declarations.library.owner(of: linked.name)?.connection ?? .bus
      guard connection == 0 || definer.rawValue == connection else { return nil }
      return ProtocolEntry(
        name: linked.name, parents: linked.parents.map(\.name),
        members: UInt32(clamping: linked.methods.count),
        connection: definer, documentation: linked.documentation)
    }
  }

  /// The methods of the object's protocol. If the object has no protocol, `object` is the name of a protocol.
  package mutating func memberEntries(of object: RawSpan) throws(WireError) -> [MemberEntry] {
    try object.requireObject()
    let name = String(repairing: object)
    guard let linked = declarations.linked(for: object) ?? declarations.library[name] else {
      throw WireError(
        .unknownProtocol, "\"\(name.escaped)\" is neither a protocol nor an object that has one")
    }
    return linked.methods.map { method in
      MemberEntry(
        origin: method.origin, kind: method.kind, isRequired: method.isRequired, name: method.name,
        parameters: method.declaration.parameters.text, result: method.declaration.result?.text ?? "",
        documentation: method.declaration.documentation)
    }
  }
}

extension MethodKind {
  fileprivate var use: String {
    switch self {
    case .should: "asked"
    case .will, .did: "posted"
    case .value: "queried for a value"
    }
  }
}
