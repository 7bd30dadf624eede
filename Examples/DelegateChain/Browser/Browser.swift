// SPDX-License-Identifier: Apache-2.0

import Glibc
import JSONUserInfo
import Tribune

/// A view that has no rows itself. It queries its data source, a delegate that gives values.
///
///     browser [OBJECT]     browser/1 by default
///
/// Try it: `shelf 'A Room of Ones Own' Orlando` in another terminal. Or use a script as the data source:
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
