// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem
import TribuneWire

/// `capture [PATTERN…]`.
struct CaptureCommand: Command {
  var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  private let count: Int64?

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    count = invocation.number(.count)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    guard !context.terminal.isTerminal else {
      throw .usage(
        "a capture cannot be shown on a terminal: send it to a file, or into a program\n"
          + "Try \"tribunectl help capture\".")
    }
    let traffic = try await monitor(patterns, in: context) { () async throws(TribuneError) in
      // The file records the loss only before the next packet, if there is one.
      try await context.connectToStay(sayingLoss: true) { lost in
        switch lost {
        case 0?: ""
        case let lost?: "; \(lost.counted("message was", "messages were")) missed and not captured"
        case nil: "; an unknown number of messages was missed and not captured"
        }
      }
    }
    try context.write(bytes: CaptureFile.opening)
    context.reportReady("capturing \(patterns.isEmpty ? "everything" : patterns.joined(separator: " "))")
    let file = CaptureOutput()
    return try await stay(
      reading: traffic, until: { await context.signals.interruption() }, upTo: count,
      cancel: { await traffic.cancel() },
      show: { delivery throws(CommandError) in try file.write(delivery, in: context) })
  }
}

/// The file while it is written. Each packet is written at once, so that the reader of a pipe gets it as it arrives.
private final class CaptureOutput: Sendable {
  private let file = Mutex(CaptureFile())

  /// - Returns: whether it was an item of traffic.
  func write(_ delivery: TrafficDelivery, in context: Context) throws(CommandError) -> Bool {
    let block = file.withLock { $0.block(for: delivery, now: SystemClock.wallMicroseconds) }
    try context.write(bytes: block)
    if case .item = delivery { return true }
    return false
  }
}
