// SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationXML

/// Checks that a chart is XML, which browsers insist on.
enum WellFormed {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static func check(_ file: Report.File) throws {
    let parser = XMLParser(data: Data(file.text.utf8))
    guard parser.parse() else {
      throw Failure(
        description:
          "\(file.name), line \(parser.lineNumber): \(parser.parserError.map { "\($0)" } ?? "no XML")")
    }
  }
}
