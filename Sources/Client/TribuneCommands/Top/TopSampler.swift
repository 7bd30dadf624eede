// SPDX-License-Identifier: Apache-2.0

import Tribune

/// Takes samples of a bus. Connects again after the library has given up looking for a lost bus.
actor TopSampler {
  enum Failure: Error, Equatable, Sendable {
    case busIsGone
    case refused(String)
  }

  private let context: Context
  private let presence = BusPresence()
  private let onPresence: @Sendable () -> Void
  private var connection: Connection?

  init(in context: Context, onPresence: @escaping @Sendable () -> Void) {
    (self.context, self.onPresence) = (context, onPresence)
  }

  nonisolated var isBusGone: Bool { presence.isUnreachable }

  func connect() async throws(TribuneError) {
    connection = try await context.connect(events: { [presence, onPresence] event in
      presence.update(for: event)
      onPresence()
    })
  }

  func sample(of view: TopView) async -> Result<TopSample, Failure> {
    do throws(TribuneError) {
      if connection?.hasEnded != false {
        try await connect()
        presence.update(for: .reconnected(lost: nil))
      }
      guard let connection else { return .failure(.busIsGone) }
      return .success(
        try await bounded(by: context.timeout) { () async throws(TribuneError) -> TopSample in
          try await TopSample.take(of: view, over: connection)
        })
    } catch {
      return .failure(connection?.hasEnded != false || isBusGone ? .busIsGone : .refused(error.message))
    }
  }
}
