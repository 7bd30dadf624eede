// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

struct CrowdAccount {
  struct Observed {
    var lost = 0
    var received: [String: IndexSet] = [:]
  }

  /// The highest number of each poster, which has posted all numbers up to it.
  private(set) var posted: [String: Int] = [:]
  private(set) var unsure: [String: IndexSet] = [:]
  private(set) var observers: [String: Observed] = [:]
  private(set) var asked = 0
  private(set) var repeated: [String] = []
  private(set) var wrong: [String] = []
  private(set) var broken: [String] = []
  private(set) var interrupted: Set<String> = []

  mutating func add(_ lines: [String]) throws {
    for line in lines where line != "progress" {
      let words = line.split(separator: " ").map { String($0) }
      switch (words[0], words.count) {
      case ("posted", 3): posted[words[1]] = try number(words[2])
      case ("unsure", 3): unsure[words[1], default: []].insert(try number(words[2]))
      case ("observed", 3): observers[words[1], default: Observed()].lost = try number(words[2])
      case ("received", 3...):
        for range in words[3...] {
          let ends = try range.split(separator: "-").map { try number(String($0)) }
          observers[words[1], default: Observed()].received[words[2], default: []]
            .insert(integersIn: ends[0]...ends[1])
        }
      case ("asked", 2): asked += try number(words[1])
      case ("repeated", _): repeated.append(line)
      case ("wrong", _): wrong.append(line)
      case ("broken", 4) where words[2...] == ["received", "interrupted"]: interrupted.insert(words[1])
      case ("broken", _): broken.append(line)
      default: throw Programs.Missing(description: "a crowd says \"\(line)\"")
      }
    }
  }

  private func number(_ text: String) throws -> Int {
    guard let number = Int(text) else { throw Programs.Missing(description: "\"\(text)\" is no number") }
    return number
  }

  /// Each observer must have received each post once and in its poster's order, or a report of its loss.
  var problems: [String] {
    var problems = repeated
    for (name, observed) in observers.sorted(by: { $0.key < $1.key }) {
      var missing = 0
      var doubtful = 0
      for (poster, count) in posted {
        let all = IndexSet(integersIn: 0...count).subtracting([0])
        let received = observed.received[poster] ?? []
        if !received.isSubset(of: all) { problems.append("\(name) received what \(poster) never posted") }
        let doubts = (unsure[poster] ?? []).intersection(all)
        missing += all.subtracting(doubts).subtracting(received).count
        doubtful += doubts.subtracting(received).count
      }
      for poster in observed.received.keys where posted[poster] == nil {
        problems.append("\(name) received something of \(poster), who is nobody")
      }
      // An uncertain post that did not come was reported as lost or never taken.
      let least = interrupted.contains(name) ? 0 : missing
      if !(least...missing + doubtful).contains(observed.lost) {
        problems.append(
          "\(name) did not receive \(missing) (and \(doubtful) in doubt), and was told that it lost \(observed.lost)"
        )
      }
    }
    return problems
  }

  var summary: String {
    let received = observers.values.reduce(0) { $0 + $1.received.values.reduce(0) { $0 + $1.count } }
    return """
      \(posted.values.reduce(0, +)) posted (\(unsure.values.reduce(0) { $0 + $1.count }) in doubt), \
      \(observers.count) observers received \(received) and were told lost \
      \(observers.values.reduce(0) { $0 + $1.lost }); \(asked) asked, \(wrong.count) verdicts to judge; \
      \(broken.count) errors; \(interrupted.count) do not know how many they lost
      """
  }
}
