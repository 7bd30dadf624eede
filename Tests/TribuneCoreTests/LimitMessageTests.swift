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

    var testDescription: String { setting }
  }

  static let cases = [
    Case(setting: "ObservationsMax=", limit: \.observationsMax) { $0.observe("a", by: $1, serial: 1) },
    Case(setting: "DelegatesMax=", limit: \.delegatesMax) { $0.hold("a", by: $1, serial: 1) },
    Case(setting: "QueriesMax=", limit: \.queriesMax) { $0.ask("a", by: $1, serial: 1) },
    Case(setting: "RetainedUserMax=", limit: \.retainedUserMax) {
      $0.post("a", text: "1", by: $1, serial: 1, .retain, flags: .acknowledge)
    },
    Case(setting: "RetainedMax=", limit: \.retainedMax) {
      $0.post("a", text: "1", by: $1, serial: 1, .retain, flags: .acknowledge)
    },
    Case(setting: "a quarter of LogMax=", limit: \.rememberedUserMax) { $0.observe("a", by: $1, serial: 1) },
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
