// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Tribune

/// Records what the clients of a crowd have done, and the results.
actor Account {
  /// Answers per line of progress.
  private static let step = 20

  private var answers = 0
  private var asked = 0
  private var lines: [String] = []

  /// Counts an answer of the bus to a post or a question.
  func progress() {
    answers += 1
    if answers.isMultiple(of: Self.step) { say("progress") }
  }

  func asked(_ count: Int) { asked += count }

  func write(_ line: String) { lines.append(line) }

  func write(_ lines: [String]) { self.lines += lines }

  /// Prints all of it.
  func tell() {
    for line in lines { say(line) }
    say("asked \(asked)")
  }
}

/// A flag that tasks share, and that is raised once.
final class Flag: Sendable {
  private let isUp = Atomic(false)

  var isRaised: Bool { isUp.load(ordering: .acquiring) }

  func raise() { isUp.store(true, ordering: .releasing) }
}

/// The numbers of one poster that an observer has received, in rising order.
struct Numbers {
  private var ranges: [ClosedRange<Int>] = []

  /// Adds the next number.
  ///
  /// - Returns: false if it is not higher than the last one, and was not added.
  mutating func add(_ number: Int) -> Bool {
    guard let last = ranges.last else {
      ranges.append(number...number)
      return true
    }
    guard number > last.upperBound else { return false }
    if number == last.upperBound + 1 {
      ranges[ranges.count - 1] = last.lowerBound...number
    } else {
      ranges.append(number...number)
    }
    return true
  }

  var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ") }
}

extension Connection {
  /// Raised once the connection has ended for good, after which every call fails.
  var over: Flag {
    let flag = Flag()
    Task {
      _ = await closed()
      flag.raise()
    }
    return flag
  }
}

/// Writes a line to standard output at once.
func say(_ line: String) {
  var bytes = Array("\(line)\n".utf8)[...]
  while !bytes.isEmpty {
    let count = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    // The reader has gone.
    guard count > 0 else { exit(1) }
    bytes = bytes.dropFirst(count)
  }
}
