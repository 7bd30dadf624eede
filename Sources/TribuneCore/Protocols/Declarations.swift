// SPDX-License-Identifier: Apache-2.0

package import TribuneProtocols
import TribuneWire

/// What one `declare` has left: an object's protocol, definitions of protocols, or both.
final class DeclarationRegistration {
  let connection: ConnectionID
  let slot: ConnectionSlot
  let serial: Serial
  /// Empty when it only defines.
  let object: String
  /// The object's; it stays what it was when its name comes to mean something else.
  let linked: DelegateProtocol?
  /// Whether it has defined protocols.
  let isDefinition: Bool

  init(
    connection: ConnectionID, slot: ConnectionSlot, serial: Serial, object: String,
    linked: DelegateProtocol?, isDefinition: Bool
  ) {
    self.connection = connection
    self.slot = slot
    self.serial = serial
    self.object = object
    self.linked = linked
    self.isDefinition = isDefinition
  }

  var definer: Definer { Definer(connection: connection, serial: serial) }
}

/// Whose a protocol is that came over the wire. Its declaration may still be refused.
struct Definer: Hashable, Sendable {
  let connection: ConnectionID
  let serial: Serial
}

/// The protocols that there are, and the objects that have one.
///
/// An object has the protocol of the configuration's most particular pattern that stands for it, or else that
/// of its first declaration. It is looked up for each message, once for each run of the same, and remembered
/// as the receivers of a notification are.
struct Declarations {
  /// A pattern of the configuration with the protocol that it was last given.
  struct Rule {
    let pattern: ObjectPattern
    let linked: DelegateProtocol
  }

  private(set) var library = ProtocolLibrary<Definer>()
  /// By object, those that declare it, the oldest first.
  private var byObject: [ExactText: [DeclarationRegistration]] = [:]
  /// The most particular first.
  private(set) var rules: [Rule] = []
  private var routes: RouteCache<DelegateProtocol>
  /// Of all connections.
  private(set) var count = 0
  /// What the next declaration relies on: while it is received again, what its names meant when it came, since they may
  /// mean nothing or something else by now; and what it defines itself.
  var given: [DelegateProtocol] = []

  init(seed: UInt64) {
    routes = RouteCache(placeCount: 128, seed: seed)
  }

  /// No object has a protocol.
  var isEmpty: Bool { byObject.isEmpty && rules.isEmpty }
  var changeCount: UInt64 { routes.generation }

  // MARK: Looking up

  /// The protocol of an object.
  mutating func linked(for object: RawSpan) -> DelegateProtocol? {
    guard !isEmpty, object.byteCount > 0 else { return nil }
    let place = routes.place(of: object, nameLength: 0)
    if let found = routes.receivers(at: place, of: object, nameLength: 0) { return found.first }
    let found = find(String(repairing: object))
    routes.keep(found.map { [$0] } ?? [], at: place, of: object, nameLength: 0)
    return found
  }

  private func find(_ object: String) -> DelegateProtocol? {
    rule(for: object)?.linked ?? byObject[ExactText(object)]?.first?.linked
  }

  /// Whose declaration the object has its protocol from; nil if the configuration's, or if it has none.
  func declarer(of object: String) -> ConnectionID? {
    rule(for: object) == nil ? byObject[ExactText(object)]?.first?.connection : nil
  }

  private func rule(for object: String) -> Rule? { rules.first { $0.pattern.matches(object) } }

  /// What has a protocol, each once: objects, and the configuration's patterns.
  ///
  /// - Parameter connection: only what this one has declared; 0 for all.
  func objects(of connection: UInt64) -> [(object: String, linked: DelegateProtocol, by: ConnectionID)] {
    var found: [(object: String, linked: DelegateProtocol, by: ConnectionID)] = []
    if connection == 0 { found = rules.map { ($0.pattern.text, $0.linked, .bus) } }
    for (object, registrations) in byObject {
      if let rule = rule(for: object.text) {
        if connection != 0, registrations.contains(where: { $0.connection.rawValue == connection }) {
          found.append((object.text, rule.linked, .bus))
        } else if connection == 0, rule.pattern.text != object.text {
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

  // MARK: Definitions

  /// Defines what a source says, until the definer is taken back.
  ///
  /// - Parameter yields: what files define otherwise by now stays so, as if they had been loaded afterwards.
  ///
  /// - Throws: `invalidProtocol`, `conflict`, with all that is wrong, a line each.
  mutating func define(
    _ source: [UInt8], for definer: Definer, yieldingToFiles yields: Bool
  ) throws(WireError) {
    do throws(ProtocolLibrary<Definer>.Refusal) {
      given += try library.add(
        ProtocolSource(file: "connection \(definer.connection)", text: source), inheriting: given,
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

  /// Takes back what was defined.
  mutating func undefine(_ definer: Definer) { library.remove(definer) }

  /// Takes over what the configuration defines and declares. A pattern whose protocol is not defined any more
  /// keeps the one that it had, if `isUsed` says so.
  ///
  /// - Returns: the definitions of connections that have been replaced, and the patterns that keep what they
  ///   had.
  mutating func configure(
    _ sources: [ProtocolSource], _ wanted: [ObjectRule], isUsed: (ObjectPattern) -> Bool
  ) -> ConfiguredProtocols {
    var report = ConfiguredProtocols()
    if sources.isEmpty, wanted.isEmpty, rules.isEmpty, library.count == 0 { return report }
    report.replacements = library.load(sources).filter { $0.kind == .replacement }
    var rules: [Rule] = []
    for rule in wanted.sorted(by: { $0.pattern.precedes($1.pattern) }) {
      // What a connection defines is not for the configuration to rely on.
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
    routes.age()
    return report
  }

  /// Appends the rules in force, with the text of each protocol that they need, as `restoreRules` reads them.
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

  /// Takes over rules of another bus. What the names of their protocols mean otherwise does not change.
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
    routes.age()
  }

  // MARK: Declarations

  mutating func insert(_ declaration: DeclarationRegistration) {
    count += 1
    guard declaration.linked != nil else { return }
    byObject[ExactText(declaration.object), default: []].append(declaration)
    routes.age()
  }

  mutating func remove(_ declaration: DeclarationRegistration) {
    count -= 1
    if declaration.isDefinition { undefine(declaration.definer) }
    guard declaration.linked != nil else { return }
    let object = ExactText(declaration.object)
    byObject[object]?.removeAll { $0 === declaration }
    if byObject[object]?.isEmpty == true { byObject[object] = nil }
    routes.age()
  }
}

/// What became of the protocols of a configuration, beyond what can be told from its files.
package struct ConfiguredProtocols {
  /// Definitions of connections that those of files have replaced.
  package internal(set) var replacements: [ProtocolDiagnostic] = []
  /// Patterns whose protocol has gone, and which keep it for the delegates that their objects have.
  package internal(set) var kept: [ObjectRule] = []
}
