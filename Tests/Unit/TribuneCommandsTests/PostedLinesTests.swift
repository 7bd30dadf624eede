// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

@Suite("Posted lines", .timeLimit(.minutes(15)))
struct PostedLinesTests {
  @Test("each line is userInfo as it is, with the white space of other systems")
  func right() {
    let lines = ["{ \"x\": 1 }", "2\r", " 3"].map { Array($0.utf8) }
    let (userInfos, flaw) = PostedLines.userInfos(of: lines, behind: 0, upTo: 11)
    #expect(userInfos.map(\.bytes) == lines && flaw == nil)
  }

  @Test("a text becomes JSON")
  func texts() {
    let lines = ["ac", "", "say \"hi\"\t"].map { Array($0.utf8) } + [[0xFF]]
    let (userInfos, flaw) = PostedLines.userInfos(of: lines, asTexts: true, behind: 0, upTo: 11)
    #expect(userInfos.map(\.text) == [#""ac""#, #""""#, #""say \"hi\"\t""#])
    #expect(flaw == .usage("line 4 is not UTF-8"))
  }

  @Test(
    "the first wrong line is named, and earlier lines remain",
    arguments: [
      (Array("no".utf8), "line 12 is not JSON: column 2: invalid token near 'no'"),
      ([], "line 12 is not JSON: column 0: the text is empty"),
      ([0x22, 0xFF, 0x22], "line 12 is not JSON: column 1: unable to decode byte 0xff near '\"'"),
      (Array("123456".utf8), "line 12 is longer than the bus's limit of 5 bytes"),
    ] as [([UInt8], String)])
  func wrong(line: [UInt8], message: String) {
    let lines = [Array("1".utf8), line, Array("3".utf8)]
    let (userInfos, flaw) = PostedLines.userInfos(of: lines, behind: 10, upTo: 5)
    #expect(userInfos.map(\.bytes) == [lines[0]])
    #expect(flaw == .usage(message))
  }
}
