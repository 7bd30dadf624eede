// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

extension Delivery {
  /// Whether a question may be answered otherwise than before. What was missed counts, too.
  ///
  /// - Parameters:
  ///   - name: the question's, which must be valid.
  ///   - object: empty for none: then only holds and delegates of any object are asked.
  func mayEndVeto(of name: String, object: String) -> Bool {
    guard case .notification(let news) = self else { return true }
    guard news.object.isEmpty || news.object == object else { return false }
    switch news.name {
    case "tribune.hold.didRelease": return news.isAbout(name, patternsIn: "pattern")
    case "tribune.delegate.didAttach", "tribune.delegate.didDetach":
      return news.isAbout(name, patternsIn: "respondsTo")
    default: return true
    }
  }
}

extension Tribune.Notification {
  /// Whether the name matches one of the patterns in a member of the userInfo: a pattern, or an array of them. If that
  /// cannot be read, it may.
  fileprivate func isAbout(_ name: String, patternsIn member: String) -> Bool {
    do {
      let member = try userInfo.withBytes { bytes throws(JSONText.SyntaxError) in
        try JSONDocument(bytes).root[member]
      }
      guard let member else { return true }
      let patterns =
        member.kind == .array ? (0..<member.count).map { member[$0]?.string } : [member.string]
      return try patterns.contains { try $0.map { try Pattern($0).matches(name.utf8Bytes) } ?? true }
    } catch {
      return true
    }
  }
}
