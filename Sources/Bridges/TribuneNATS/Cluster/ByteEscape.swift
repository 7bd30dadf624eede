// SPDX-License-Identifier: Apache-2.0

/// Escapes a byte as a mark and two hexadecimal digits, such as `%0A`.
nonisolated struct ByteEscape: Sendable {
  /// The escape for header values.
  static let header = ByteEscape(mark: "%") { (0x21...0x7E).contains($0) }
  private static let digits = Array("0123456789ABCDEF".utf8)

  private let mark: UInt8
  private let isPlain: [Bool]

  init(mark: Unicode.Scalar, plain: (UInt8) -> Bool) {
    self.mark = UInt8(ascii: mark)
    isPlain = (0...UInt8.max).map { $0 != UInt8(ascii: mark) && plain($0) }
  }

  func escape(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isPlain[Int(byte)] {
        bytes.append(byte)
      } else {
        bytes += [mark, Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Nil for a result over `lengthMax` bytes, invalid escapes or UTF-8, or a byte that should be escaped.
  func unescape(_ escaped: some StringProtocol, lengthMax: Int) -> String? {
    guard escaped.utf8.count <= 3 * lengthMax else { return nil }
    var bytes: [UInt8] = []
    var rest = Substring(escaped).utf8
    while let byte = rest.popFirst() {
      if byte == mark {
        guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        guard isPlain[Int(byte)] else { return nil }
        bytes.append(byte)
      }
    }
    return bytes.count <= lengthMax ? String(validating: bytes, as: UTF8.self) : nil
  }

  private static func digit(_ byte: UInt8) -> UInt8? { digits.firstIndex(of: byte).map { UInt8($0) } }
}
