// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Synchronization
import Tribune

/// The bus with the Swift library on both sides.
enum LibraryTasks {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static func roundTrips(_ count: Int, through server: Server) async throws -> [UInt64] {
    let address = Address(path: server.address)
    let asker = try await Connection.connect(to: address)
    let answerer = try await Connection.connect(to: address)
    let approver = Approver()
    try await answerer.attach(approver, to: "bench/1", respondingTo: ["bench.shouldRun"])
    let durations = try await timed(count) { trip in
      let verdict = try await asker.ask(
        "bench.shouldRun", object: "bench/1", userInfo: userInfo(trip), default: .vetoed)
      guard verdict.isAllowed, verdict.outcomes.map(\.kind) == [.approved] else {
        throw Failure(description: "tribune: query \(trip) was to be approved: \(verdict)")
      }
    }
    withExtendedLifetime(approver) {}
    await asker.close()
    await answerer.close()
    return durations
  }

  /// Approves each question, if it came as it was asked and in its turn.
  private final class Approver: Delegate {
    private let asked = Atomic<UInt64>(0)

    func answer(_ question: Question) async throws -> Answer {
      let number = asked.add(1, ordering: .relaxed).newValue
      return question.userInfo == userInfo(number) ? .approve : .failed("question \(number) came changed")
    }
  }

  /// 64 bytes with the trip's number in them.
  private static func userInfo(_ trip: UInt64) -> UserInfo {
    var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: Int(driver_round_trip_bytes))
    for place in 0..<8 { bytes[place] = UInt8(truncatingIfNeeded: trip >> (8 * UInt64(place))) }
    return UserInfo(bytes)
  }
}
