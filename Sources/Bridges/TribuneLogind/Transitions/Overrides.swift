// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneWire

/// Questions allowed despite vetoes. Each is kept until its action ends or fails, but at most for `span`.
final class Overrides {
  static let announcement = "tribune.query.didOverride"
  static let time = Duration.seconds(120)

  private var ends: [HostQuestion: Task<Void, Never>] = [:]
  private let span: Duration
  private let changed: () -> Void

  init(lasting span: Duration = time, changed: @escaping () -> Void) {
    self.span = span
    self.changed = changed
  }

  var questions: Set<HostQuestion> { Set(ends.keys) }

  func update(for news: Notification) {
    if news.name == Self.announcement {
      // An override of a question about an object does not concern the whole host.
      guard news.object.isEmpty, let (question, reason) = Self.override(in: news.userInfo) else { return }
      ServiceLog.notice(
        "\(question.name) is overridden: neither a lock nor a mask of it for \(span), or until it fails: \(reason)"
      )
      begin(question)
    } else if let question = HostQuestion.allCases.first(where: { $0.failure == news.name }) {
      end([question])
    }
  }

  private static func override(in userInfo: UserInfo) -> (HostQuestion, reason: String)? {
    do throws(JSONText.SyntaxError) {
      let root = try userInfo.withBytes { bytes throws(JSONText.SyntaxError) in try JSONDocument(bytes) }.root
      let question = HostQuestion.allCases.first { root["name"]?.isString($0.name) == true }
      return question.map { ($0, (root["reason"]?.string ?? "").escaped) }
    } catch {
      ServiceLog.error("an override goes unnoticed: \(error)")
      return nil
    }
  }

  private func begin(_ question: HostQuestion) {
    ends[question]?.cancel()
    ends[question] = Task {
      await rest(for: span)
      if !Task.isCancelled { end([question]) }
    }
    changed()
  }

  func end(_ questions: some Sequence<HostQuestion>) {
    for question in questions {
      guard let end = ends.removeValue(forKey: question) else { continue }
      end.cancel()
      ServiceLog.notice("\(question.name) is not overridden any more")
      changed()
    }
  }
}
