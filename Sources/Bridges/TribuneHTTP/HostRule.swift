// SPDX-License-Identifier: Apache-2.0

/// A rule for the `Host` field that accepts only known names. If another site's name resolves to this host
/// (DNS rebinding), the browser sends that name in `Host`, and the program refuses the request.
nonisolated package struct HostRule: Sendable {
  private static let own: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

  private let names: Set<String>

  /// - Parameter names: must be in lower case.
  package init(_ names: Set<String>) { self.names = names.union(Self.own) }

  /// Ignores the port, because a tunnel can use another port.
  package func accepts(_ host: String) -> Bool {
    let host = host.lowercased()
    guard let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") else { return names.contains(host) }
    let port = host[host.index(after: colon)...]
    guard (1...5).contains(port.utf8.count),
      port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return false }
    return names.contains(String(host[..<colon]))
  }

  package static func isName(_ text: String) -> Bool {
    let isAddress = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isAddress ? text.dropFirst().dropLast() : text[...]
    let letters: ClosedRange<UInt8> = UInt8(ascii: "a")...UInt8(ascii: "z")
    let digits: ClosedRange<UInt8> = UInt8(ascii: "0")...UInt8(ascii: "9")
    return (1...253).contains(inner.utf8.count)
      && inner.utf8.allSatisfy { byte in
        letters.contains(byte) || digits.contains(byte) || byte == UInt8(ascii: ".")
          || byte == UInt8(ascii: isAddress ? ":" : "-")
      }
  }
}
