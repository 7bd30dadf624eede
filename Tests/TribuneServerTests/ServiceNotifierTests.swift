// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer

@Suite("The service notifier")
struct ServiceNotifierTests {
  @Test("says what systemd asks for, in its words")
  func messages() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let manager = try NotifySocket()
        let notifier = ServiceNotifier(log: Log(destination: .standardError))
        notifier.ready(status: "listening")
        #expect(try manager.next() == "READY=1\nSTATUS=listening")
        notifier.status("two\nWATCHDOG=1")
        #expect(try manager.next() == "STATUS=two\\nWATCHDOG=1")
        notifier.watchdog()
        #expect(try manager.next() == "WATCHDOG=1")
        notifier.stopping(status: "draining")
        #expect(try manager.next() == "STOPPING=1\nSTATUS=draining")
      }
    }
  }

  @Test("says when a reload began, on the clock that systemd compares with")
  func reloading() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let manager = try NotifySocket()
        let notifier = ServiceNotifier(log: Log(destination: .standardError))
        let before = monotonicNanoseconds() / 1000
        notifier.reloading()
        let after = monotonicNanoseconds() / 1000
        let message = try manager.next()
        let prefix = "RELOADING=1\nMONOTONIC_USEC="
        try #require(message.hasPrefix(prefix))
        let microseconds = try #require(UInt64(message.dropFirst(prefix.count)))
        #expect((before...after).contains(microseconds))
      }
    }
  }

  @Test("is silent where nobody wants to know")
  func noManager() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        await MainActor.run {
          unsafe unsetenv("NOTIFY_SOCKET")
          let notifier = ServiceNotifier(log: Log(destination: .standardError))
          notifier.ready(status: "")
          notifier.watchdog()
        }
      })
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self) == "")
  }

  @Test("logs a socket that leads nowhere once, and goes on")
  func deadSocket() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        await MainActor.run {
          for path in ["/nowhere/notify", "nonsense"] {
            unsafe setenv("NOTIFY_SOCKET", path, 1)
            let notifier = ServiceNotifier(log: Log(destination: .standardError))
            for _ in 1...5 { notifier.watchdog() }
            notifier.stopping(status: "")
          }
        }
      })
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2)
    for line in lines {
      #expect(line.hasPrefix("tribuned: cannot notify the service manager at $NOTIFY_SOCKET: "))
    }
  }

  @Test("logs a socket again that has worked in between")
  func socketThatComesAndGoes() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        try await MainActor.run {
          let notifier = ServiceNotifier(log: Log(destination: .standardError))
          for _ in 1...2 {
            let manager = try NotifySocket()
            notifier.watchdog()
            #expect(try manager.next() == "WATCHDOG=1")
            unsafe setenv("NOTIFY_SOCKET", "/nowhere/notify", 1)
            notifier.watchdog()
            notifier.watchdog()
          }
        }
      })
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.split(separator: "\n").count == 2)
  }

  @Test("knows how often the manager wants to hear from it")
  func watchdogInterval() async {
    await #expect(processExitsWith: .success) {
      let own = String(getpid())
      let cases: [(microseconds: String?, process: String, nanoseconds: UInt64?)] = [
        (nil, own, nil),
        ("30000000", own, 30_000_000_000),
        ("30000000", "1", nil),
        ("often", own, nil),
        ("0", own, nil),
        ("18446744073709551614", own, .max),
      ]
      for (microseconds, process, nanoseconds) in cases {
        unsafe unsetenv("WATCHDOG_USEC")
        if let microseconds { unsafe setenv("WATCHDOG_USEC", microseconds, 1) }
        unsafe setenv("WATCHDOG_PID", process, 1)
        #expect(ServiceNotifier.watchdogIntervalNanoseconds == nanoseconds, "\(microseconds ?? "not set")")
      }
    }
  }
}

/// Nanoseconds of the monotonic clock.
private func monotonicNanoseconds() -> UInt64 {
  var now = timespec()
  guard unsafe clock_gettime(CLOCK_MONOTONIC, &now) == 0 else { preconditionFailure("there is a clock") }
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
