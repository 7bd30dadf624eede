// SPDX-License-Identifier: Apache-2.0

import Glibc
import JSONUserInfo
import Tribune

/// A view that shows rows and has none itself: it asks its data source for them.
///
///     browser [OBJECT]     a view called browser/1 unless another name is given
///
/// A data source is a delegate that gives values: how many rows there are, and what is in each.
///
/// Try it: `shelf 'A Room of Ones Own' Orlando` beside it. Or a data source that is a script:
/// `tribunectl delegate browser.numberOfRows browser.row --object=browser/1 --exec …`
@main
struct Browser {
  struct NumberOfRows: Decodable { var rows: Int }
  struct Row: Decodable { var text: String }

  static func main() async {
    let view = CommandLine.arguments.dropFirst().first ?? "browser/1"
    do {
      let bus = try await Connection.connect()
      guard let count = try await bus.query("browser.numberOfRows", object: view).value else {
        print("nobody has rows for \(view)")
        exit(1)
      }
      for row in 0..<(try count.decoded(as: NumberOfRows.self).rows) {
        let reply = try await bus.query("browser.row", object: view, userInfo: UserInfo(json: ["row": row]))
        print("\(row): \(try reply.value?.decoded(as: Row.self).text ?? "?")")
      }
      await bus.close()
    } catch {
      print(error)
      exit(1)
    }
  }
}
