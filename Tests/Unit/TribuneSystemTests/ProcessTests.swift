// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem

@Suite("Time, units, libraries, standard error and wake-ups", .timeLimit(.minutes(15)))
struct ProcessTests {
  @Test("local time converts both ways", arguments: [0, 1_700_000_000, 1_772_366_445, 4_102_444_800])
  func localTime(seconds: UInt64) throws {
    let time = try #require(LocalTime(microsecondsSince1970: seconds * 1_000_000 + 999_999))
    #expect(time.microsecondsSince1970 == seconds * 1_000_000)
  }

  @Test("a day outside its month is normalized, and a time before 1970 is nil")
  func strangeTimes() {
    let lastOfFebruary = LocalTime(year: 2024, month: 2, day: 29)
    let beforeMarch = LocalTime(year: 2024, month: 3, day: 0)
    #expect(beforeMarch.microsecondsSince1970 == lastOfFebruary.microsecondsSince1970)
    #expect(LocalTime(year: 1969, month: 1, day: 1).microsecondsSince1970 == nil)
    #expect(LocalTime(microsecondsSince1970: .max) != nil)
  }

  @Test("a library's functions can be called, and errors name a missing one")
  func libraries() throws {
    let library = try DynamicLibrary("libc.so.6")
    let absolute: @convention(c) (CInt) -> CInt = unsafe try library.function("abs")
    #expect(absolute(-3) == 3)
    let missing = #expect(throws: DynamicLibrary.LoadError.self) {
      let _: @convention(c) () -> Void = unsafe try library.function("tribune_has_no_such_function")
    }
    #expect(missing?.description.contains("tribune_has_no_such_function") == true)
    let absent = #expect(throws: DynamicLibrary.LoadError.self) {
      _ = try DynamicLibrary("libtribune-absent.so.0")
    }
    #expect(absent?.description.contains("libtribune-absent.so.0") == true)
  }

  @Test("text longer than a pipe's capacity gets to standard error whole")
  func standardError() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        StandardError.write([UInt8](repeating: 0x78, count: 300_000))
        StandardError.writeLine("end")
      })
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).hasSuffix("xend\n"))
    #expect(result.standardErrorContent.count >= 300_004)
  }

  @Test(
    "a process is in the first unit of its path other than a slice",
    arguments: [
      ("0::/system.slice/a.service\n", "a.service"), ("0::/\n", nil), ("0::/system.slice\n", nil),
      ("12:pids:/x\n1:name=systemd:/system.slice/_b.service/c\n", "b.service"),
      ("0::/user.slice/user-7.slice/user@7.service/app.slice/c.scope\n", "user@7.service"),
      // A user may give a part this name; the slash before it still separates.
      ("0::/user.slice/user-7.slice/user@7.service/\u{301}\n", "user@7.service"),
    ] as [(String, String?)])
  func unit(_ cgroup: String, _ unit: String?) {
    let status = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n"
    let facts = ProcessFacts(status: status, cgroup: cgroup)
    #expect(facts == ProcessFacts(user: 2, groups: [6, 9, 10], unit: unit))
  }

  @Test("an earlier signal ends a wait, and is cleared by it")
  func wakeup() throws {
    let wakeup = try Wakeup()
    wakeup.signal()
    wakeup.wait(atMost: .seconds(600))
    let isStillThere = try Poll.wait(for: wakeup, timeout: .zero)
    #expect(!isStillThere)
  }
}
