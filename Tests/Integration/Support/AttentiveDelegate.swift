// SPDX-License-Identifier: Apache-2.0

import Tribune

actor AttentiveDelegate: Delegate {
  private let reply: @Sendable (Question) async throws -> Answer
  private let heard = AsyncStream<String>.makeStream()
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
