// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

import enum TribuneWire.NameSyntax

@testable import TribuneCommands

@Suite("News of vetoes", .timeLimit(.minutes(15)))
struct VetoNewsTests {
  private static let (release, attach, detach) = (
    "tribune.hold.didRelease", "tribune.delegate.didAttach", "tribune.delegate.didDetach"
  )

  private static let cases: [(name: String, object: String, userInfo: UserInfo, isNews: Bool)] = [
    (release, "", #"{"pattern":"a.shouldB"}"#, true), (release, "o", #"{"pattern":"a.*"}"#, true),
    (release, "o", #"{"pattern":"**","why":"x"}"#, true), (release, "", #"{"pattern":"a.shouldC"}"#, false),
    (release, "p", #"{"pattern":"a.shouldB"}"#, false),
    (attach, "", #"{"respondsTo":["b","a.*"]}"#, true), (detach, "o", #"{"respondsTo":["a.shouldB"]}"#, true),
    (attach, "o", #"{"respondsTo":["b","a.shouldC"]}"#, false), (detach, "", #"{"respondsTo":[]}"#, false),
    (detach, "p", #"{"respondsTo":["**"]}"#, false),
    ("a.mayB", "", .none, true), ("a.mayB", "o", "{}", true), ("a.mayB", "p", "{}", false),
    ("tribune.bus.didReload", "", "{}", true),
    (release, "", "", true), (release, "", "{}", true), (attach, "", #"{"respondsTo":[1]}"#, true),
    (release, "", #"{"pattern":"a..b"}"#, true), (release, "p", "", false),
  ]

  @Test("It concerns the question if the name matches, and the object is the same or any", arguments: cases)
  func concerning(name: String, object: String, userInfo: UserInfo, isNews: Bool) {
    let delivery = Delivery.notification(Notification(name, object: object, userInfo: userInfo))
    #expect(delivery.mayEndVeto(of: "a.shouldB", object: "o") == isNews)
    #expect(delivery.mayEndVeto(of: "a.shouldB", object: "") == (isNews || object == "p"))
  }

  @Test("A loss or an interruption may concern the question")
  func missed() {
    #expect(Delivery.lost(1).mayEndVeto(of: "a", object: "o"))
    #expect(Delivery.interrupted.mayEndVeto(of: "a", object: "o"))
  }

  @Test(
    "A delegate announces by a name with `may` that its answer may change",
    arguments: [
      ("host.shouldReboot", "host.mayReboot"), ("shouldA", "mayA"), ("a.b.should2fa", "a.b.may2fa"),
      ("host.reboot", nil), ("host.should", nil), ("shouldA.b", nil), ("a.mayB", nil),
    ])
  func may(question: String, name: String?) {
    #expect(NameSyntax.may(forQuestion: question) == name)
  }
}
