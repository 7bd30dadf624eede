// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// A responder that says yes to every program.
enum Responder {
  /// Runs `body` beside a responder, and checks that that has answered `count` times.
  static func around<Result>(
    _ server: Server, answering count: Int, _ body: () throws -> Result
  ) throws -> Result {
    var responder: OpaquePointer?
    try Driver.checked(server) { failure in
      unsafe responder = driver_responder_start(server.kind.driver, server.address, &failure)
      return unsafe responder == nil ? driver_failed.rawValue : driver_done.rawValue
    }
    let result = Swift.Result { try body() }
    var answered: UInt64 = 0
    let stopped = Swift.Result {
      try Driver.checked(server) { failure in
        unsafe driver_responder_stop(responder, &answered, &failure)
      }
    }
    // The first failure is reported.
    let value = try result.get()
    try stopped.get()
    guard answered == UInt64(count) else {
      throw Absence(reason: "\(answered) questions came to the responder, not \(count)", isLoss: true)
    }
    return value
  }
}
