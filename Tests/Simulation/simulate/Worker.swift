// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneSystem

/// A process that reads one order a line, runs those lives, and prints one result a line. A crash of the bus ends it.
@MainActor
struct Worker {
  private static let stepsOfProgress = 2000
  /// It could not run a life, and has printed the reason.
  static let isUnableStatus: Int32 = 3

  private let options: Options

  init(_ options: Options) { self.options = options }

  /// Restarts the program in a deterministic environment.
  static func startAgain(_ arguments: [String]) -> Int32 {
    _ = unsafe setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    // A crash is examined by its seed.
    _ = unsafe setenv("SWIFT_BACKTRACE", "enable=no", 1)
    _ = unsafe withArguments(["simulate"] + arguments) { unsafe execv("/proc/self/exe", $0) }
    StandardError.writeLine("simulate: cannot start itself again: \(Errno.current)")
    return 1
  }

  func run() -> Int32 {
    // The simulation takes the bus's messages to its service manager before they reach a socket.
    _ = unsafe setenv("NOTIFY_SOCKET", "/nobody", 1)
    CrashNote.begin()
    while let line = readLine() {
      guard let order = Order(line) else {
        StandardError.writeLine("simulate: \"\(line)\" is no order")
        return 1
      }
      guard let report = live(order) else { return Self.isUnableStatus }
      say("\(report)\n")
    }
    return 0
  }

  private func say(_ line: String) {
    let bytes = Array(line.utf8)
    let count = unsafe write(STDOUT_FILENO, bytes, bytes.count)
    precondition(count == bytes.count, "nobody listens to this worker")
  }

  private func live(_ order: Order) -> Report? {
    let life: Life
    do throws(Errno) {
      life = try Life(seed: order.seed)
    } catch {
      CrashNote.say("simulate: no life can begin: \(error)\n")
      return nil
    }
    var failure: (step: Int, what: String)?
    do throws(Violation) {
      try life.live(steps: order.steps) { step in
        if step % Self.stepsOfProgress == 0 { say("step \(step)\n") }
        return order.kept?.contains(step) ?? true
      }
    } catch {
      life.abandon()
      failure = (error.step, error.what)
    }
    return Report(counts: life.counts, digest: life.digest.value, failure: failure)
  }
}

struct Order: CustomStringConvertible {
  let seed: UInt64
  let steps: Int
  let kept: Set<Int>?

  init(seed: UInt64, steps: Int, kept: Set<Int>?) {
    self.seed = seed
    self.steps = steps
    self.kept = kept
  }

  init?(_ line: String) {
    let words = line.split(separator: " ")
    guard words.count >= 2, let seed = UInt64(words[0]), let steps = Int(words[1]) else { return nil }
    self.init(
      seed: seed, steps: steps,
      kept: words.count > 2 ? Set(words[2].split(separator: ",").compactMap { Int($0) }) : nil)
  }

  var description: String {
    "\(seed) \(steps)" + (kept.map { " 0," + $0.map { "\($0)" }.joined(separator: ",") } ?? "")
  }
}

struct Report: CustomStringConvertible {
  var counts: Life.Counts
  var digest: UInt64
  var failure: (step: Int, what: String)?

  init(counts: Life.Counts, digest: UInt64, failure: (step: Int, what: String)?) {
    self.counts = counts
    self.digest = digest
    self.failure = failure
  }

  init?(_ line: String) {
    let words = line.split(separator: " ", maxSplits: 10).map(String.init)
    guard words.count >= 10, let digest = UInt64(words[0]) else { return nil }
    let numbers = words[1...8].compactMap { Int($0) }
    guard numbers.count == 8, let step = Int(words[9]) else { return nil }
    self.digest = digest
    counts = Life.Counts(numbers)
    failure = step < 0 ? nil : (step, words.count > 10 ? words[10] : "")
  }

  var description: String {
    let numbers = counts.numbers.map { "\($0)" }.joined(separator: " ")
    let what = (failure?.what ?? "").split(separator: "\n").joined(separator: " ")
    return "\(digest) \(numbers) \(failure?.step ?? -1) \(what)"
  }
}

extension Life.Counts {
  var numbers: [Int] { [steps, deaths, restarts, posts, received, lost, verdicts, succeeded] }

  init(_ numbers: [Int]) {
    self.init()
    (steps, deaths, restarts, posts) = (numbers[0], numbers[1], numbers[2], numbers[3])
    (received, lost, verdicts, succeeded) = (numbers[4], numbers[5], numbers[6], numbers[7])
  }

  static func += (total: inout Self, more: Self) { total = Self(zip(total.numbers, more.numbers).map(+)) }

  var text: String {
    "\(steps) steps, \(deaths) deaths, \(restarts) planned restarts; \(posts) posts, \(received) received, "
      + "\(lost) told lost; \(verdicts) verdicts, \(succeeded) connections resumed"
  }
}

enum CrashNote {
  private static let length = 128
  private static let text = UnsafeMutablePointer<CChar>.allocate(capacity: length)
  private static var said: CInt = STDERR_FILENO

  static func begin() {
    unsafe text.initialize(repeating: 0, count: length)
    // The bus's log is printed only with `--tell`; a crash always is.
    said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
    if !Life.isTold {
      let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
      dup2(nowhere, STDERR_FILENO)
    }
    unsafe sim_begin(text, said)
  }

  static func say(_ line: String) { _ = unsafe write(said, line, line.utf8.count) }

  static func set(seed: UInt64, step: Int) {
    unsafe withVaList([seed, step]) {
      _ = unsafe vsnprintf(text, length, "simulate: it ends in seed %llu, step %ld\n", $0)
    }
  }
}
