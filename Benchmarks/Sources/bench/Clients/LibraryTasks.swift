// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Synchronization
import Tribune

/// Clients of the Swift library.
enum LibraryTasks {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameter onExecutor: the asker runs on its connection's executor.
  static func roundTrips(_ count: Int, through server: Server, onExecutor: Bool) async throws -> [UInt64] {
    let address = Address(path: server.address)
    let asker = try await Connection.connect(to: address)
    let answerer = try await Connection.connect(to: address)
    let approver = Approver()
    try await answerer.attach(approver, to: "bench/1", respondingTo: ["bench.shouldRun"])
    let executor = onExecutor ? asker.executor : nil
    let durations = try await withTaskExecutorPreference(executor) {
      try await timed(count) { trip in
        let verdict = try await asker.ask(
          "bench.shouldRun", object: "bench/1", userInfo: userInfo(trip), default: .vetoed)
        guard verdict.isAllowed, verdict.outcomes.map(\.kind) == [.approved] else {
          throw Failure(description: "tribune: query \(trip) was to be approved: \(verdict)")
        }
      }
    }
    withExtendedLifetime(approver) {}
    await asker.close()
    await answerer.close()
    return durations
  }

  /// How long it took until an observer of raw bytes had all of `count` posts, in nanoseconds.
  static func posts(_ count: Int, through server: Server) async throws -> UInt64 {
    let poster = try await Connection.connect(to: Address(path: server.address))
    let observer = try StreamObserver(of: count, on: server)
    let name = StreamObserver.name
    var userInfo = StreamObserver.userInfo
    let began = driver_nanoseconds()
    for number in 1...UInt64(count) {
      write(number, into: &userInfo)
      try await poster.post(name, userInfo: UserInfo(userInfo))
    }
    let ended = try observer.wait()
    await poster.close()
    return ended - began
  }

  /// Into the first 8 bytes.
  private static func write(_ number: UInt64, into bytes: inout [UInt8]) {
    for place in 0..<8 { bytes[place] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(place))) }
  }

  /// Approves each question that comes unchanged and in order.
  private final class Approver: Delegate {
    private let asked = Atomic<UInt64>(0)

    func answer(_ question: Question) async throws -> Answer {
      let number = asked.add(1, ordering: .relaxed).newValue
      return question.userInfo == userInfo(number) ? .approve : .failed("question \(number) came changed")
    }
  }

  /// 64 bytes, which begin with the trip's number.
  private static func userInfo(_ trip: UInt64) -> UserInfo {
    var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: Int(driver_round_trip_bytes))
    write(trip, into: &bytes)
    return UserInfo(bytes)
  }
}
