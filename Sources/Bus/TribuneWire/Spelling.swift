// SPDX-License-Identifier: Apache-2.0

/// Finds the word that a misspelt one was meant to be.
package enum Spelling {
  /// ` (did you mean WORD?)`, with the known word that is most like the unknown one; empty if none is like it.
  ///
  /// - Parameter form: shows the known word as it is written.
  package static func hint(for word: String, among known: [String], as form: (String) -> String) -> String {
    let nearest = known.map { (word: $0, distance: distance(from: word, to: $0)) }
      .filter { $0.distance <= max(1, $0.word.utf8.count / 3) }
      .min { $0.distance < $1.distance }
    return nearest.map { " (did you mean \(form($0.word))?)" } ?? ""
  }

  /// How many bytes have to be inserted, removed, replaced or swapped with the next one, ignoring case.
  package static func distance(from one: String, to other: String) -> Int {
    let (one, other) = (Array(one.lowercased().utf8), Array(other.lowercased().utf8))
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for i in one.indices {
      var row = [i + 1]
      for j in other.indices {
        var least = min(last[j + 1], row[j]) + 1
        least = min(least, last[j] + (one[i] == other[j] ? 0 : 1))
        if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
          least = min(least, beforeLast[j - 1] + 1)
        }
        row.append(least)
      }
      (beforeLast, last) = (last, row)
    }
    return last[other.count]
  }
}
