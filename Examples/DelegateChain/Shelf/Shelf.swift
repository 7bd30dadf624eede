// SPDX-License-Identifier: Apache-2.0

import Glibc
import JSONUserInfo
import Tribune

/// The data source of a browser. Each book is a row.
///
///     shelf BOOK…     for browser/1
///
/// Try it: `browser` in another terminal.
final class Shelf: Delegate {
  struct Row: Decodable { var row: Int }

  private let books: [String]

  init(_ books: [String]) { self.books = books }

  func answer(_ question: Question) throws -> Answer {
    switch question.name {
    case "browser.numberOfRows": return .value(try UserInfo(json: ["rows": books.count]))
    case "browser.row":
      let row = try question.userInfo.decoded(as: Row.self).row
      guard books.indices.contains(row) else { return .failed("there is no row \(row)") }
      return .value(try UserInfo(json: ["text": books[row]]))
    default: return .abstain
    }
  }
}

@main
struct Main {
  static func main() async {
    let shelf = Shelf(Array(CommandLine.arguments.dropFirst()))
    do {
      let bus = try await Connection.connect()
      try await bus.attach(
        shelf, to: "browser/1", respondingTo: ["browser.numberOfRows", "browser.row"], label: "shelf")
      print("has rows for browser/1")
      if let error = await bus.closed() { throw error }
    } catch {
      print(error)
      exit(1)
    }
  }
}
