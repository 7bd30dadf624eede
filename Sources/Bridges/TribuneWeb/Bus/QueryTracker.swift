// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// A tracker that finds the question of each verdict in a monitor's frames.
nonisolated package struct QueryTracker: Sendable {
  private struct Key: Hashable {
    var asker: String
    var serial: UInt64
  }

  private struct Question {
    var time: UInt64
    var name: String
    var object: String
    var isValueQuery: Bool
    var override: String?
    var userInfo: UserInfo
  }

  /// The tracker keeps at least this many of the latest questions without a verdict.
  package static let recentMax = 4_096

  private let keepsUserInfo: Bool
  private var questions = RecentValues<Key, Question>(countMax: recentMax)
  /// The askers by query id, from the frames that ask delegates.
  private var askers: [UInt64: Who] = [:]

  package init(keepingUserInfo keepsUserInfo: Bool) { self.keepsUserInfo = keepsUserInfo }

  /// Returns a record for a verdict, else nil. If no delegate was asked, the record's asker has no pid.
  package mutating func take(_ item: TrafficItem) -> VerdictRecord? {
    switch item.content {
    case .ask(_, _, _, _, let override, _): addQuestion(item, isValueQuery: false, override: override)
    case .query: addQuestion(item, isValueQuery: true, override: nil)
    case .question(let query, _, _, let asker, _, _):
      if askers.count >= Self.recentMax { askers = [:] }
      askers[query] = Who(asker)
    case .refusal:
      if let to = item.to { _ = questions.remove(Key(asker: to, serial: item.serial)) }
    case .verdict(let verdict):
      guard let to = item.to else { return nil }
      let question = questions.remove(Key(asker: to, serial: item.serial))
      return VerdictRecord(
        time: item.time, name: question?.name ?? "", object: question?.object ?? "",
        asker: askers.removeValue(forKey: verdict.query) ?? Who(connection: to),
        elapsed: question.map {
          .microseconds(Int64(clamping: item.time) - Int64(clamping: $0.time)) as Duration
        },
        isValueQuery: question?.isValueQuery ?? verdict.outcomes.contains { $0.kind == .answered },
        override: question?.override, verdict: verdict, userInfo: question?.userInfo ?? .none)
    case .post, .answer, .deferral, .progress, .concluded, .loss, .other: break
    }
    return nil
  }

  private mutating func addQuestion(_ item: TrafficItem, isValueQuery: Bool, override: String?) {
    guard let from = item.from else { return }
    let question = Question(
      time: item.time, name: item.name, object: item.object, isValueQuery: isValueQuery,
      override: override.map { VerdictRecord.shown($0) },
      userInfo: keepsUserInfo ? UserInfo(item.userInfo.bytes.prefix(VerdictRecord.userInfoMax)) : .none)
    questions.set(question, for: Key(asker: from, serial: item.serial))
  }
}
