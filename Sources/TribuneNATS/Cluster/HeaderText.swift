// SPDX-License-Identifier: Apache-2.0

/// Text as the value of a header: printable ASCII without spaces, in which all other bytes and `%` are `%XX`.
nonisolated package enum HeaderText {
  private static let digits = Array("0123456789ABCDEF".utf8)

  package static func escape(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// - Parameter lengthMax: of the text, in bytes.
  /// - Returns: nil if it is longer, no UTF-8, or not written as `escape` writes it.
  package static func unescape(_ value: String, lengthMax: Int) -> String? {
    guard value.utf8.count <= 3 * lengthMax else { return nil }
    var bytes: [UInt8] = []
    var rest = value.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          return nil
        }
        bytes.append(high << 4 | low)
      } else {
        guard (0x21...0x7E).contains(byte) else { return nil }
        bytes.append(byte)
      }
    }
    return bytes.count <= lengthMax ? String(validating: bytes, as: UTF8.self) : nil
  }

  private static func digit(_ byte: UInt8) -> UInt8? { digits.firstIndex(of: byte).map { UInt8($0) } }
}
