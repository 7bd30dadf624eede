// SPDX-License-Identifier: Apache-2.0

/// The head of a file that is made from the description.
func generatedNotice(_ comment: String) -> String {
  """
  \(comment) SPDX-License-Identifier: Apache-2.0
  \(comment)
  \(comment) Made by "make wire" from docs/tribune.wire. Change that instead.

  """
}

/// Splits the text into lines of at most `width` characters, each behind `prefix`.
func wrapped(_ text: String, after prefix: String, width: Int) -> [String] {
  var lines: [String] = []
  var line = prefix
  for word in text.split(separator: " ") {
    if line.count > prefix.count, line.count + word.count + 1 > width {
      lines.append(line)
      line = prefix
    }
    line += (line.count > prefix.count ? " " : "") + word
  }
  return lines + [line]
}

extension String {
  /// For example, `long fields` becomes `longFields`.
  var camelCase: String {
    let words = split(separator: " ")
    return words.dropFirst().reduce(words.first.map(String.init) ?? "") {
      $0 + $1.prefix(1).uppercased() + $1.dropFirst()
    }
  }

  /// For example, `busPID` becomes `bus_pid`.
  var snakeCase: String {
    var words = ""
    let letters = Array(self)
    for (index, letter) in letters.enumerated() {
      let followsSmall = index > 0 && !letters[index - 1].isUppercase
      let precedesSmall = index > 0 && index + 1 < letters.count && !letters[index + 1].isUppercase
      if letter.isUppercase, followsSmall || precedesSmall { words += "_" }
      words += letter.lowercased()
    }
    return words
  }
}
