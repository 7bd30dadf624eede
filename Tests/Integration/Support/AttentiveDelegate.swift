// SPDX-License-Identifier: Apache-2.0

import Tribune

/// A delegate that records, in order, the questions and deliveries that it gets.
actor AttentiveDelegate: Delegate {
  private let reply: @Sendable (Question) async throws -> Answer
  private let heard = AsyncStream<String>.makeStream()
  /// Everything so far: `window.shouldClose`, or with userInfo `scrollView.didTap {"x":1}`.
  private(set) var all: [String] = []

  init(_ reply: @escaping @Sendable (Question) async throws -> Answer = { _ in .approve }) {
    self.reply = reply
  }

  init(vetoing reason: String) {
    self.init { _ in .veto(reason) }
  }

  func answer(_ question: Question) async throws -> Answer {
    hear(question.name, question.userInfo)
    return try await reply(question)
  }

  func received(_ delivery: Delivery) {
    switch delivery {
    case .notification(let notification): hear(notification.name, notification.userInfo)
    case .lost(let count): hear("lost \(count)", .none)
    case .interrupted: hear("interrupted", .none)
    }
  }

  func replaced(by delegate: DelegateInfo) { hear("replaced by \(delegate.label)", .none) }

  /// Waits for the next question or delivery that this has not returned yet.
  func next() async -> String? {
    for await text in heard.stream { return text }
    return nil
  }

  private func hear(_ what: String, _ userInfo: UserInfo) {
    let text = userInfo.isEmpty ? what : "\(what) \(userInfo)"
    all.append(text)
    heard.continuation.yield(text)
  }
}

extension Notifications.AsyncIterator {
  /// The next notification's name, or a word for a delivery of another kind.
  mutating func nextName() async throws -> String? {
    switch try await next() {
    case .notification(let notification): notification.name
    case .lost(let count): "lost \(count)"
    case .interrupted: "interrupted"
    case nil: nil
    }
  }
}

extension TestBus {
  func connect() async throws -> Connection { try await Connection.connect(to: Address(path: path)) }
}
