// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneService
import TribuneSystem
import TribuneTestSupport

@Suite("The service notifier")
struct ServiceNotifierTests {
  @Test("sends the assignments that systemd defines, and when a reload began, on the monotonic clock")
  func messages() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let manager = try NotifySocket.ofThisProcess()
        let notifier = ServiceNotifier { StandardError.writeLine($0) }
        notifier.ready(status: "listening")
        #expect(try manager.next() == "READY=1\nSTATUS=listening")
        notifier.status("two\nWATCHDOG=1")
        #expect(try manager.next() == "STATUS=two\\nWATCHDOG=1")
        notifier.watchdog()
        #expect(try manager.next() == "WATCHDOG=1")
        notifier.stopping(status: "draining")
        #expect(try manager.next() == "STOPPING=1\nSTATUS=draining")
        let before = SystemClock.monotonicNanoseconds / 1000
        notifier.reloading()
        let after = SystemClock.monotonicNanoseconds / 1000
        let message = try manager.next()
        let prefix = "RELOADING=1\nMONOTONIC_USEC="
        try #require(message.hasPrefix(prefix))
        let microseconds = try #require(UInt64(message.dropFirst(prefix.count)))
        #expect((before...after).contains(microseconds))
      }
    }
  }

  @Test("is silent without a manager; logs that a socket leads nowhere once each time that it stops working")
  func deadSocket() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        try await MainActor.run {
          unsafe unsetenv("NOTIFY_SOCKET")
          let silent = ServiceNotifier { StandardError.writeLine($0) }
          silent.ready(status: "")
          silent.watchdog()
          for path in ["/nowhere/notify", "nonsense"] {
            unsafe setenv("NOTIFY_SOCKET", path, 1)
            let notifier = ServiceNotifier { StandardError.writeLine($0) }
            for _ in 1...5 { notifier.watchdog() }
            notifier.stopping(status: "")
          }
          let notifier = ServiceNotifier { StandardError.writeLine($0) }
          for _ in 1...2 {
            let manager = try NotifySocket.ofThisProcess()
            notifier.watchdog()
            #expect(try manager.next() == "WATCHDOG=1")
            unsafe setenv("NOTIFY_SOCKET", "/nowhere/notify", 1)
            notifier.watchdog()
            notifier.watchdog()
          }
        }
      })
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 4)
    for line in lines {
      #expect(line.hasPrefix("cannot notify the service manager at $NOTIFY_SOCKET: "))
    }
  }

  @Test("does not wait for a manager that does not read, and later tells it the latest state, or the end")
  func managerThatDoesNotRead() async {
    await #expect(processExitsWith: .success) {
      // Ends a wait in the kernel that would hang.
      alarm(60)
      let manager = try NotifySocket.ofThisProcess()
      let filling = try manager.fill()
      let notifier = await MainActor.run {
        let notifier = ServiceNotifier { StandardError.writeLine($0) }
        notifier.ready(status: "1")
        for number in 2...100 {
          notifier.status("\(number)")
          notifier.watchdog()
        }
        notifier.reloading()
        notifier.ready(status: "101")
        return notifier
      }
      try manager.drain(filling)
      let messages = try (1...3).map { _ in try manager.receive().text }
      #expect(messages[0] == "WATCHDOG=1")
      #expect(messages[1].hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
      #expect(messages[2] == "READY=1\nSTATUS=101")
      try await MainActor.run {
        notifier.status("102")
        let message = try manager.next()
        #expect(message == "STATUS=102")
      }
      let fillingAgain = try manager.fill()
      await MainActor.run {
        notifier.reloading()
        notifier.ready(status: "1")
        notifier.stopping(status: "2")
      }
      try manager.drain(fillingAgain)
      #expect(try manager.receive().text == "STOPPING=1\nSTATUS=2")
      try await MainActor.run {
        notifier.watchdog()
        let message = try manager.next()
        #expect(message == "WATCHDOG=1")
      }
      let fillingLast = try manager.fill()
      await MainActor.run {
        notifier.status("3")
        notifier.ready()
      }
      try manager.drain(fillingLast)
      let last = try (1...2).map { _ in try manager.receive().text }
      #expect(last == ["STATUS=3", "READY=1"])
    }
  }

  @Test("finds a manager in the abstract namespace, and needs no new descriptor for each notification")
  func abstractNames() async {
    await #expect(processExitsWith: .success) {
      try await MainActor.run {
        let manager = try NotifySocket.ofThisProcess(isAbstract: true)
        let notifier = ServiceNotifier { StandardError.writeLine($0) }
        notifier.status("1")
        #expect(try manager.next() == "STATUS=1")
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var usual = rlimit()
        #expect(unsafe getrlimit(resource, &usual) == 0)
        var none = rlimit(rlim_cur: 0, rlim_max: usual.rlim_max)
        #expect(unsafe setrlimit(resource, &none) == 0)
        notifier.status("2")
        // The runtime, and the test's own wait, may need descriptors.
        #expect(unsafe setrlimit(resource, &usual) == 0)
        #expect(try manager.next() == "STATUS=2")
      }
    }
  }

  @Test("reads the manager's watchdog interval")
  func watchdogInterval() async {
    await #expect(processExitsWith: .success) {
      let own = String(getpid())
      let cases: [(microseconds: String?, process: String, nanoseconds: UInt64?)] = [
        (nil, own, nil), ("30000000", own, 30_000_000_000), ("30000000", "1", nil), ("often", own, nil),
        ("0", own, nil), ("18446744073709551614", own, .max),
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
