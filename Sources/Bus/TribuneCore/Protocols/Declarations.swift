// SPDX-License-Identifier: Apache-2.0

package import TribuneProtocols
import TribuneWire

final class DeclarationRegistration {
  let connection: ConnectionID
  let slot: ConnectionSlot
  let serial: Serial
  /// Empty if the declaration only defines protocols.
  let object: String
  /// The object's protocol, or nil without an object. A new definition of the same name does not change it.
  let linked: DelegateProtocol?
  let isDefinition: Bool
  let protocolCount: Int

  init(
    connection: ConnectionID, slot: ConnectionSlot, serial: Serial, object: String,
    linked: DelegateProtocol?, isDefinition: Bool, protocolCount: Int
  ) {
    self.connection = connection
    self.slot = slot
    self.serial = serial
    self.object = object
    self.linked = linked
    self.isDefinition = isDefinition
    self.protocolCount = protocolCount
  }

  /// The object for which the policy must allow the declaration. It is empty if the declaration defines
  /// protocols. The policy must then allow all objects, because protocols apply to the whole bus.
  static func objectToPermit(_ object: String, isDefinition: Bool) -> String { isDefinition ? "" : object }

  var objectToPermit: String { Self.objectToPermit(object, isDefinition: isDefinition) }

  var definer: Definer { Definer(connection: connection, serial: serial) }
}

/// Identifies a declaration that defines protocols, even before the bus has accepted the declaration.
struct Definer: Hashable, Sendable {
  let connection: ConnectionID
  let serial: Serial
}

/// The protocols, and the objects that have one. An object's protocol comes from the most specific matching
/// pattern of the configuration. If no pattern matches, it comes from the object's oldest declaration.
struct Declarations {
  struct Rule {
    let pattern: ObjectPattern
    let linked: DelegateProtocol
  }

  private(set) var library = ProtocolLibrary<Definer>()
  private var byObject: [ExactText: [DeclarationRegistration]] = [:]
  private(set) var rules: [Rule] = []
  private var routes: RouteCache<DelegateProtocol>
  private(set) var count = 0

  let payloadCheck: PayloadCheck

  init(seed: UInt64, _ payloadCheck: PayloadCheck) {
    routes = RouteCache(placeCount: 128, seed: seed)
    self.payloadCheck = payloadCheck
  }

  var isEmpty: Bool { byObject.isEmpty && rules.isEmpty }
  var changeCount: UInt64 { routes.generation }

  // MARK: Looking up

  mutating func linked(for object: RawSpan) -> DelegateProtocol? {
    guard !isEmpty, object.byteCount > 0 else { return nil }
    let place = routes.place(of: object, nameLength: 0)
    if let index = routes.index(at: place, of: object, nameLength: 0) {
      return routes.receivers(at: index).first
    }
    let found = find(String(repairing: object))
    _ = routes.keep(found.map { [$0] } ?? [], at: place, of: object, nameLength: 0)
    return found
  }

  private func find(_ object: String) -> DelegateProtocol? {
    rule(for: object)?.linked ?? byObject[ExactText(object)]?.first?.linked
  }

  /// The connection whose declaration gives the object its protocol. nil if the configuration decides, or the
  /// object has no protocol.
  func declarer(of object: String) -> ConnectionID? {
    rule(for: object) == nil ? byObject[ExactText(object)]?.first?.connection : nil
  }

  private func rule(for object: String) -> Rule? { rules.first { $0.pattern.matches(object) } }

  func objects(of connection: UInt64) -> [(object: String, linked: DelegateProtocol, by: ConnectionID)] {
    var found: [(object: String, linked: DelegateProtocol, by: ConnectionID)] = []
    if connection == 0 { found = rules.map { ($0.pattern.text, $0.linked, .bus) } }
    for (object, registrations) in byObject {
      if let rule = rule(for: object.text) {
        if connection != 0, registrations.contains(where: { $0.connection.rawValue == connection }) {
          found.append((object.text, rule.linked, .bus))
        } else if connection == 0, ExactText(rule.pattern.text) != object {
          found.append((object.text, rule.linked, .bus))
        }
        continue
      }
      let declared = registrations.first {
        connection == 0 || $0.connection.rawValue == connection
      }
      if let declared, let linked = registrations.first?.linked {
        found.append((object.text, linked, declared.connection))
      }
    }
    return found
  }

  /// The protocols with a method that a pattern matches, each with the alphabetically first of its objects.
  /// Ignores patterns with a leading wildcard, because they do not mean a particular protocol.
  func protocols(meantBy patterns: [Pattern]) -> [(object: String, linked: DelegateProtocol)] {
    let patterns = isEmpty ? [] : patterns.filter { $0.text.utf8.first != UInt8(ascii: "*") }
    guard !patterns.isEmpty else { return [] }
    var known: Set<ObjectIdentifier> = []
    return objects(of: 0).sorted { $0.object.utf8.lexicographicallyPrecedes($1.object.utf8) }
      .filter { _, linked, _ in
        known.insert(ObjectIdentifier(linked)).inserted
          && linked.methods.contains { method in patterns.contains { $0.matches(method.name.utf8Bytes) } }
      }
      .map { ($0.object, $0.linked) }
  }

  // MARK: Definitions

  /// - Parameter yields: if a file defines a protocol of the same name differently, true keeps the file's
  ///   protocol, and false throws.
  mutating func define(
    _ source: [UInt8], for definer: Definer, inheriting parents: [DelegateProtocol],
    yieldingToFiles yields: Bool
  ) throws(WireError) -> [DelegateProtocol] {
    do throws(ProtocolLibrary<Definer>.Refusal) {
      return try library.add(
        ProtocolSource(file: "connection \(definer.connection)", text: source), inheriting: parents,
        yieldingToFiles: yields, for: definer)
    } catch {
      let lines = error.diagnostics.map { diagnostic in
        "\(diagnostic.location.line):\(diagnostic.location.column): \(diagnostic.message)".escaped
      }
      throw WireError(
        error.isConflict ? .conflict : .invalidProtocol,
        lines.joined(separator: "\n").prefix(utf8Length: WireLimits.reasonLength))
    }
  }

  mutating func undefine(_ definer: Definer) { library.remove(definer) }

  /// Applies the configuration. If no file defines a pattern's protocol any longer, and `isUsed` returns true
  /// for the pattern, the pattern keeps its former protocol.
  mutating func configure(
    _ sources: [ProtocolSource], _ wanted: [ObjectRule], isUsed: (ObjectPattern) -> Bool
  ) -> ConfiguredProtocols {
    var report = ConfiguredProtocols()
    if sources.isEmpty, wanted.isEmpty, rules.isEmpty, library.count == 0 { return report }
    report.replacements = library.load(sources).filter { $0.kind == .replacement }
    var rules: [Rule] = []
    for rule in wanted.sorted(by: { $0.pattern.precedes($1.pattern) }) {
      // A protocol that a connection defines does not count, because it ends with the connection.
      if let linked = library[rule.protocolName], library.owner(of: rule.protocolName) == nil {
        rules.append(Rule(pattern: rule.pattern, linked: linked))
      } else if let former = self.rules.first(where: { $0.pattern == rule.pattern }),
        former.linked.name == rule.protocolName, isUsed(rule.pattern)
      {
        rules.append(former)
        report.kept.append(rule)
      }
    }
    self.rules = rules
    routes.invalidate()
    return report
  }

  func appendRules(to buffer: ByteBuffer) {
    buffer.append(UInt32(rules.count))
    for rule in rules {
      buffer.appendField(rule.pattern.text)
      buffer.appendField(rule.linked.name)
    }
    var names: Set<String> = []
    for linked in rules.flatMap({ $0.linked.ancestors + [$0.linked] })
    where names.insert(linked.name).inserted {
      buffer.appendBytesField(linked.text.utf8Bytes)
    }
  }

  /// Restores the rules with the protocols that the log contains. Does not change the library.
  mutating func restoreRules(from reader: inout FieldReader) throws(WireError) {
    var wanted: [(pattern: ObjectPattern, name: String)] = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      let (text, name) = (try reader.text(), try reader.text())
      if let pattern = ObjectPattern(text) { wanted.append((pattern, name)) }
    }
    let linked = try ProtocolLibrary<Definer>.link(from: &reader)
    rules = wanted.compactMap { rule in
      linked.first { $0.name == rule.name }.map { Rule(pattern: rule.pattern, linked: $0) }
    }
    routes.invalidate()
  }

  // MARK: Declarations

  mutating func insert(_ declaration: DeclarationRegistration) {
    count += 1
    guard declaration.linked != nil else { return }
    byObject[ExactText(declaration.object), default: []].append(declaration)
    routes.invalidate()
  }

  mutating func remove(_ declaration: DeclarationRegistration) {
    count -= 1
    if declaration.isDefinition { undefine(declaration.definer) }
    guard declaration.linked != nil else { return }
    let object = ExactText(declaration.object)
    byObject[object]?.removeAll { $0 === declaration }
    if byObject[object]?.isEmpty == true { byObject[object] = nil }
    routes.invalidate()
  }
}

package struct ConfiguredProtocols {
  package internal(set) var replacements: [ProtocolDiagnostic] = []
  /// Patterns that keep a protocol which no file defines now, because their objects have delegates.
  package internal(set) var kept: [ObjectRule] = []
}
