// SPDX-License-Identifier: Apache-2.0

/// Text as the value of a header: printable ASCII without spaces, in which all other bytes and `%` are `%XX`.
nonisolated package enum HeaderText {
  private static let form = ByteEscape(mark: "%") { (0x21...0x7E).contains($0) }

  package static func escape(_ text: String) -> String { form.escape(text) }

  /// - Parameter lengthMax: of the text, in bytes.
  /// - Returns: nil if it is longer or no UTF-8, or if some byte or escape of it is not allowed.
  package static func unescape(_ value: String, lengthMax: Int) -> String? {
    form.unescape(value[...], lengthMax: lengthMax)
  }
}
