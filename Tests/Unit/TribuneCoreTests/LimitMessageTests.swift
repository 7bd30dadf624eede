// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("A refusal at a limit", .timeLimit(.minutes(15)))
struct LimitMessageTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let setting: String
    let setNone: @Sendable (inout BusLimits) -> Void
    let exceed: @Sendable (BusUnderTest, ConnectionSlot) -> Void

    var testDescription: String { setting }
  }

  static let cases = [
    Case(setting: "ObservationsMax=", setNone: { $0.observationsMax = 0 }, exceed: observe),
    Case(
      setting: "DelegatesMax=", setNone: { $0.delegatesMax = 0 }, exceed: { $0.hold("**", by: $1, serial: 1) }
    ),
    Case(
      setting: "QueriesMax=", setNone: { $0.queriesMax = 0 }, exceed: { $0.ask("shouldA", by: $1, serial: 1) }
    ),
    Case(
      setting: "RetainedMax=", setNone: { $0.totals[.retained] = 0 },
      exceed: { $0.post("a", text: "1", by: $1, serial: 1, .retain, flags: .acknowledge) }),
    Case(setting: "LogMax=", setNone: { $0.totals[.log] = 0 }, exceed: observe),
    Case(setting: "RegistrationsMax=", setNone: { $0.totals[.registrations] = 0 }, exceed: observe),
  ]

  private static let observe: @Sendable (BusUnderTest, ConnectionSlot) -> Void = {
    $0.observe("a", by: $1, serial: 1)
  }

  @Test("names the setting", arguments: cases)
  func setting(at limit: Case) {
    let bus = BusUnderTest { limit.setNone(&$0) }
    let client = bus.connect()
    var messages: [String] = []
    bus.onEffect = { effect in
      if case .refusal(_, _, let error) = effect { messages.append(error.message) }
    }
    limit.exceed(bus, client)
    #expect(messages.count == 1)
    #expect(messages.first?.contains("(\(limit.setting))") == true)
  }
}
