// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

package struct NonConformance: Error, Equatable, Sendable {
  package var protocolName: String
  package var unknownProtocols: [String] = []
  /// True if the delegate names neither the object's protocol nor a protocol that inherits from it.
  package var lacksProtocol = false
  package var missing: [String] = []
  package var surplus: [String] = []

  package var isNone: Bool {
    unknownProtocols.isEmpty && !lacksProtocol && missing.isEmpty && surplus.isEmpty
  }

  /// The bus's refusal of the delegate. The message has at most `WireLimits.reasonLength` bytes.
  package func refusal(by object: String) -> WireError {
    var parts: [String] = []
    if lacksProtocol {
      parts.append(
        "it conforms neither to \"\(protocolName)\", the protocol of \"\(object.escaped)\", nor to one that "
          + "inherits from it")
    }
    if !unknownProtocols.isEmpty { parts.append("there is no protocol \(list(unknownProtocols))") }
    if !missing.isEmpty { parts.append("it does not respond to \(list(missing)), which is required") }
    if !surplus.isEmpty { parts.append("its protocols have no method \(list(surplus))") }
    let isUnknownAlone = !lacksProtocol && missing.isEmpty && surplus.isEmpty
    var message = parts.joined(separator: "; ")
    if message.utf8.count > WireLimits.reasonLength {
      message = message.prefix(utf8Length: WireLimits.reasonLength - 3) + "…"
    }
    return WireError(isUnknownAlone ? .unknownProtocol : .notConforming, message)
  }

  private func list(_ names: [String]) -> String {
    names.map { "\"\($0.escaped)\"" }.joined(separator: ", ")
  }
}

extension ProtocolLibrary {
  /// Checks a delegate's stated protocols and patterns against `required`, the protocol of its object. At
  /// least one stated protocol must be `required`, or inherit from it. The check uses the methods of
  /// `required` and of these stated protocols: the delegate must respond to each required method, and each
  /// pattern must match a method. Other stated protocols only have to exist.
  ///
  /// - Parameter allowsOthers: if true, a pattern may match none of these methods.
  package func conform(
    to required: DelegateProtocol, stating names: [String], patterns: [Pattern],
    allowingOthers allowsOthers: Bool = false
  ) throws(NonConformance) {
    var findings = NonConformance(protocolName: required.name)
    var others: [DelegateProtocol] = []
    var isStated = false
    for name in names {
      if name == required.name {
        isStated = true
      } else if let stated = self[name] {
        guard stated.isOrInherits(from: required.name) else { continue }
        others.append(stated)
      } else {
        findings.unknownProtocols.append(name)
      }
    }
    findings.lacksProtocol = !isStated && others.isEmpty
    let methods = Self.methods(of: [required] + others)
    var isUsed = patterns.map { _ in false }
    for method in methods {
      var isMatched = false
      for (index, pattern) in patterns.enumerated() where pattern.matches(method.name.utf8Bytes) {
        isMatched = true
        isUsed[index] = true
      }
      if !isMatched, method.isRequired { findings.missing.append(method.name) }
    }
    if !allowsOthers { findings.surplus = zip(patterns, isUsed).compactMap { $1 ? nil : $0.text } }
    if !findings.isNone { throw findings }
  }

  /// All methods of the protocols, without duplicates. A method is required if any protocol requires it.
  private static func methods(of protocols: [DelegateProtocol]) -> [ProtocolMethod] {
    var methods: [ProtocolMethod] = []
    var places: [String: Int] = [:]
    for method in protocols.flatMap(\.methods) {
      if let place = places[method.name] {
        if method.isRequired { methods[place] = method }
      } else {
        places[method.name] = methods.count
        methods.append(method)
      }
    }
    return methods
  }
}
