// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Tribune

actor Account {
  private static let step = 20

  private var answers = 0
  private var asked = 0
  private var lines: [String] = []

  func progress() {
    answers += 1
    if answers.isMultiple(of: Self.step) { say("progress") }
  }

  func asked(_ count: Int) { asked += count }

  func write(_ line: String) { lines.append(line) }

  func write(_ lines: [String]) { self.lines += lines }

  func tell() {
    for line in lines { say(line) }
    say("asked \(asked)")
  }
}

final class Flag: Sendable {
  private let isUp = Atomic(false)

  var isRaised: Bool { isUp.load(ordering: .acquiring) }

  func raise() { isUp.store(true, ordering: .releasing) }
}

/// The numbers of one poster that an observer has received, in rising order.
struct Numbers {
  private var ranges: [ClosedRange<Int>] = []

  /// Returns false, without adding it, if the number is not higher than the last.
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
  var over: Flag {
    let flag = Flag()
    Task {
      _ = await closed()
      flag.raise()
    }
    return flag
  }
}

func say(_ line: String) {
  var bytes = Array("\(line)\n".utf8)[...]
  while !bytes.isEmpty {
    let count = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    guard count > 0 else { exit(1) }
    bytes = bytes.dropFirst(count)
  }
}
