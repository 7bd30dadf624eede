// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune
import TribuneJSON

@testable import TribuneCommands

/// What was posted is shown as what it is.
@Suite("userInfo", .timeLimit(.minutes(15)))
struct UserInfoTests {
  @Test("userInfo appears as what it is")
  func userInfo() {
    let cases: [(UserInfo, String)] = [
      ("{ \"x\": 1 }", #""userInfo":{"x":1}"#), (.none, #""userInfo":null"#),
      ("plain", #""userInfoBase64":"cGxhaW4=""#), (UserInfo([0xFF, 0x00]), #""userInfoBase64":"/wA=""#),
      ("[1e999]", #""userInfoBase64":"WzFlOTk5XQ==""#),
      ("99999999999999999999", #""userInfo":99999999999999999999"#),
    ]
    for (userInfo, member) in cases {
      let json = Notification("a.b", object: "o", sender: ":1", userInfo: userInfo).json.compact
      #expect(json == "{\"name\":\"a.b\",\"object\":\"o\",\"sender\":\":1\",\(member)}")
    }
  }
}
