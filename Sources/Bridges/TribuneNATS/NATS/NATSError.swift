// SPDX-License-Identifier: Apache-2.0

import CNats

nonisolated struct NATSError: Error, CustomStringConvertible {
  let description: String
}

nonisolated extension NATSError {
  init(_ status: natsStatus, _ what: String) {
    var last = NATS_OK
    let detail = Self.withoutPlace(unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? "")
    let text = unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "unknown error"
    description =
      last == status && !detail.isEmpty && detail != text
      ? "\(what): \(text) (\(detail))" : "\(what): \(text)"
  }

  /// Removes the source position with which libnats begins a text, such as `(conn.c:2088): `.
  private static func withoutPlace(_ detail: String) -> String {
    guard detail.hasPrefix("("), let end = detail.firstIndex(of: ")") else { return detail }
    return String(detail[end...].dropFirst().drop { $0 == ":" || $0 == " " })
  }

  static func check(_ status: natsStatus, _ what: String) throws(NATSError) {
    guard status == NATS_OK else { throw NATSError(status, what) }
  }
}
