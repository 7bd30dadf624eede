// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune

/// Prints notifications about archives until the connection ends.
///
///     observer                  all archives
///     observer archive/photos   one archive
///
/// Try it: `tribunectl post archive.didPrune '{"freed": 7}' --object=archive/photos`
@main
struct Observer {
  static func main() async {
    do {
      let bus = try await Connection.connect()
      let object = CommandLine.arguments.dropFirst().first
      let notifications = try await bus.observe("archive.*", object: object)
      print("observing as \(bus.id)")

      for try await delivery in notifications {
        switch delivery {
        case .notification(let what):
          print("\(what.name) \(what.object) \(what.userInfo)")
        case .lost(let count):
          print("… and \(count) that came faster than they were read")
        case .interrupted:
          print("… and whatever came while the bus was away")
        }
      }
    } catch {
      print(error)
      exit(1)
    }
  }
}
