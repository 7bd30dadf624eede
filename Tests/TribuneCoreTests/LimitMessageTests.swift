// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("A refusal at a limit", .timeLimit(.minutes(15)))
struct LimitMessageTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let setting: String
    let limit: any WritableKeyPath<BusLimits, Int> & Sendable
    let exceed: @Sendable (BusUnderTest, ConnectionSlot) -> Void

    init(
      _ setting: String, _ limit: any WritableKeyPath<BusLimits, Int> & Sendable,
      _ exceed: @escaping @Sendable (BusUnderTest, ConnectionSlot) -> Void
    ) {
      self.setting = setting
      self.limit = limit
      self.exceed = exceed
    }

    var testDescription: String { setting }
  }

  static let cases = [
    Case("ObservationsMax=", \.observationsMax) { $0.observe("a", by: $1, serial: 1) },
    Case("DelegatesMax=", \.delegatesMax) { $0.hold("a", by: $1, serial: 1) },
    Case("QueriesMax=", \.queriesMax) { $0.ask("a", by: $1, serial: 1) },
    Case("RetainedUserMax=", \.retainedUserMax) {
      $0.post("a", text: "1", by: $1, serial: 1, .retain, flags: .acknowledge)
    },
    Case("RetainedMax=", \.retainedMax) {
      $0.post("a", text: "1", by: $1, serial: 1, .retain, flags: .acknowledge)
    },
    Case("a quarter of LogMax=", \.rememberedUserMax) { $0.observe("a", by: $1, serial: 1) },
  ]

  @Test("names the setting", arguments: cases)
  func setting(at limit: Case) {
    let bus = BusUnderTest { $0[keyPath: limit.limit] = 0 }
    let client = bus.connect()
    var messages: [String] = []
    bus.onEffect = { effect in
      if case .refusal(_, _, let error) = effect { messages.append(error.message) }
    }
    limit.exceed(bus, client)
    #expect(messages.count == 1)
    #expect(messages.first?.hasSuffix(" is reached (\(limit.setting))") == true)
  }
}
