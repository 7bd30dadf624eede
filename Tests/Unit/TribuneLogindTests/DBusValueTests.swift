// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneLogind

@Suite("Arguments of D-Bus as JSON", .timeLimit(.minutes(15)))
struct DBusValueTests {
  @Test(
    "Each type has its form",
    arguments: [
      (.bool(true), "true"), (.signed(-5), "-5"), (.unsigned(.max), "18446744073709551615"),
      (.number(0.5), "0.5"),
      (.number(.infinity), "null"), (.string("a\"b"), "\"a\\\"b\""),
      (.list([.string("s"), .list([])]), "[\"s\",[]]"),
      (
        .dictionary([
          DBusValue.Entry(key: .string("k"), value: .bool(false)),
          DBusValue.Entry(key: .unsigned(7), value: .signed(1)),
        ]), "{\"k\":false,\"7\":1}"
      ),
    ] as [(DBusValue, String)])
  func json(value: DBusValue, text: String) { #expect(value.json.compact == text) }
}
