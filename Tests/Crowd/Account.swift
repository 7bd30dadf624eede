// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Tribune

/// What the clients of a crowd have done, and what came of it.
actor Account {
  /// So many answers make one line of progress.
  static let step = 20

  private var answers = 0
  private var asked = 0
  private var lines: [String] = []

  /// The bus has answered a post or a question.
  func progress() {
    answers += 1
    if answers.isMultiple(of: Self.step) { say("progress") }
  }

  func asked(_ count: Int) { asked += count }

  func write(_ line: String) { lines.append(line) }

  func write(_ lines: [String]) { self.lines += lines }

  /// Says all of it.
  func tell() {
    for line in lines { say(line) }
    say("asked \(asked)")
  }
}

/// What is raised once, and seen by everybody.
final class Flag: Sendable {
  private let isUp = Atomic(false)

  var isRaised: Bool { isUp.load(ordering: .acquiring) }

  func raise() { isUp.store(true, ordering: .releasing) }
}

/// The numbers of one poster that an observer has received, in rising order.
struct Numbers {
  private var ranges: [ClosedRange<Int>] = []

  /// Adds the next.
  ///
  /// - Returns: false when it is no later one, and was not added.
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
  /// Raised when it has ended and does not come back: whoever goes on with it would fail for ever.
  var over: Flag {
    let flag = Flag()
    Task {
      _ = await closed()
      flag.raise()
    }
    return flag
  }
}

/// Writes a line that whoever reads it has at once.
func say(_ line: String) {
  var bytes = Array("\(line)\n".utf8)[...]
  while !bytes.isEmpty {
    let count = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    // Nobody listens any more.
    guard count > 0 else { exit(1) }
    bytes = bytes.dropFirst(count)
  }
}
