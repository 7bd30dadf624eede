// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneLogind

@Suite("A unit")
struct MissingUnitTests {
  @Test(
    "is missing only if systemd says that, not after another error",
    arguments: [
      ("org.freedesktop.DBus.Error.FileNotFound", true), ("org.freedesktop.systemd1.NoSuchUnit", true),
      ("org.freedesktop.DBus.Error.AccessDenied", false), ("System.Error.ELOOP", false), ("", false),
    ])
  func answered(name: String, isMissing: Bool) {
    #expect(DBusError.answered(name: name, message: "x").isMissingUnit == isMissing)
  }
}
