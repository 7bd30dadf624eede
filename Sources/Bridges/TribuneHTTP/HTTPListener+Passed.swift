// SPDX-License-Identifier: Apache-2.0

import TribuneService
import TribuneSystem

extension HTTPListener {
  package struct Unservable: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// Takes ownership of `descriptor`.
  package static func serving(
    _ descriptor: CInt, named name: String, _ access: HTTPAccess, from file: String, _ limits: Limits,
    answer: @escaping (HTTPRequest) -> HTTPAnswer
  ) throws -> HTTPListener {
    let socket = FileDescriptor(owning: descriptor)
    guard let place = ListeningPlace(of: descriptor) else {
      throw Unservable(description: "the socket \"\(name)\" that was passed does not listen for streams")
    }
    if let lack = access.lack { throw Unservable(description: "\(lack) (\(file))") }
    if case .network = place, !access.allowsNetwork {
      throw Unservable(
        description:
          "other hosts reach \(place): AllowNetwork=yes in \(file) would allow that, with TokenFile=")
    }
    let listener = try HTTPListener(on: socket, limits, answer: answer)
    ServiceLog.info("listening on \(place)")
    return listener
  }
}
