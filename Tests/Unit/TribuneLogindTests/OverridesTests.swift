// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneLogind

@Suite("Overrides of vetoes", .timeLimit(.minutes(15)))
@MainActor
struct OverridesTests {
  private static func override(of question: HostQuestion, object: String = "") -> Tribune.Notification {
    Tribune.Notification(
      Overrides.announcement, object: object,
      userInfo: UserInfo(#"{"name":"\#(question.name)","reason":"the battery is empty"}"#))
  }

  @Test("An override ends after its time, which is two minutes for tribune-logind")
  func time() async {
    let (changes, changed) = AsyncStream<Void>.makeStream()
    var news = changes.makeAsyncIterator()
    let overrides = Overrides(lasting: .milliseconds(1)) { changed.yield() }
    overrides.update(for: Self.override(of: .powerOff))
    #expect(overrides.questions == [.powerOff])
    for _ in ["begins", "ends"] { await news.next() }
    #expect(overrides.questions.isEmpty)
    #expect(Overrides.time == .seconds(120))
  }

  @Test("An override ends when its action fails, and not when another one does")
  func failure() {
    var changeCount = 0
    let overrides = Overrides { changeCount += 1 }
    for question in [HostQuestion.powerOff, .reboot] { overrides.update(for: Self.override(of: question)) }
    overrides.update(for: Tribune.Notification(HostQuestion.halt.failure))
    #expect(overrides.questions == [.powerOff, .reboot] && changeCount == 2)
    overrides.update(for: Tribune.Notification(HostQuestion.powerOff.failure))
    #expect(overrides.questions == [.reboot] && changeCount == 3)
  }

  @Test("An override about one object, or of another question, is none of the host")
  func others() {
    let overrides = Overrides { Issue.record("an override has begun") }
    overrides.update(for: Self.override(of: .powerOff, object: "vm/1"))
    let other = UserInfo(#"{"name":"a.shouldB","reason":"now"}"#)
    overrides.update(for: Tribune.Notification(Overrides.announcement, userInfo: other))
    #expect(overrides.questions.isEmpty)
  }
}
