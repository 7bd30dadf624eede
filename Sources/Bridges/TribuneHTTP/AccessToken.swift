// SPDX-License-Identifier: Apache-2.0

package import TribuneService
import TribuneSystem
import TribuneWire

/// A secret that a client sends as `Bearer` token (RFC 6750) or `Basic` password (RFC 7617, any user name).
nonisolated package struct AccessToken: Equatable, Sendable {
  private static let lengthRange = 16...1024

  private let bytes: [UInt8]

  package init(_ text: [UInt8]) throws(SettingError) {
    let bytes = text.last == UInt8(ascii: "\n") ? Array(text.dropLast()) : text
    guard Self.lengthRange.contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw SettingError(
        message: "a token is one line of \(Self.lengthRange.lowerBound) to \(Self.lengthRange.upperBound) "
          + "characters of ASCII without spaces")
    }
    self.bytes = bytes
  }

  package init(file: String) throws(SettingError) {
    let contents: [UInt8]?
    do throws(Errno) {
      contents = try ConfigurationFiles.contents(of: file)
    } catch {
      throw SettingError(file, "cannot be read: \(error)")
    }
    try self.init(contents ?? [])
  }

  package func isPresented(by authorization: String) -> Bool {
    let words = authorization.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2 else { return false }
    switch words[0].lowercased() {
    case "bearer": return isEqual(to: Array(words[1].utf8))
    case "basic":
      guard let decoded = Self.decodedBase64(words[1].utf8),
        let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
      else { return false }
      return isEqual(to: Array(decoded[(colon + 1)...]))
    default: return false
    }
  }

  /// Compares tokens of equal length in constant time, to prevent timing attacks.
  private func isEqual(to other: [UInt8]) -> Bool {
    guard other.count == bytes.count else { return false }
    return zip(bytes, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func decodedBase64(_ text: some Collection<UInt8>) -> [UInt8]? {
    var output: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for digit in text.prefix(while: { $0 != UInt8(ascii: "=") }) {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      default: return nil
      }
      bits = (bits << 6 | UInt32(value)) & 0xFFFFFF
      count += 1
      if count % 4 != 1 {
        output.append(UInt8(truncatingIfNeeded: bits >> ([0, 0, 4, 2] as [UInt32])[count % 4]))
      }
    }
    return output
  }
}
