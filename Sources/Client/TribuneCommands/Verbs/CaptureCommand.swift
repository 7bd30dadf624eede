// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem
import TribuneWire

struct CaptureCommand: Command {
  var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  private let count: Int64?
  private let excluded: ExcludedConnections

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    count = invocation.number(.count)
    excluded = try ExcludedConnections(invocation)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    guard !context.terminal.isTerminal else {
      throw .usage(
        "a capture cannot be shown on a terminal: redirect it to a file or a program\n"
          + "Try \"tribunectl help capture\".")
    }
    let traffic = try await monitor(patterns, in: context) { () async throws(TribuneError) in
      // The file shows a loss only with the next packet, which may never come. So losses are reported even
      // with --quiet.
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
      show: { delivery throws(CommandError) in
        try excluded.contains(delivery) ? false : file.write(delivery, in: context)
      })
  }
}

private final class CaptureOutput: Sendable {
  private let file = Mutex(CaptureFile())

  func write(_ delivery: TrafficDelivery, in context: Context) throws(CommandError) -> Bool {
    let block = file.withLock { $0.block(for: delivery, now: SystemClock.wallMicroseconds) }
    try context.write(bytes: block)
    if case .item = delivery { return true }
    return false
  }
}

/// The bus's traffic as a pcapng file. A packet is a whole `traffic` frame, or a `lost` frame.
struct CaptureFile: Sendable {
  private var dropped = 0
  private var isInterrupted = false
  static let interruption =
    "The bus was unreachable before this packet; the number of missed messages is unknown"

  static var opening: [UInt8] {
    PcapngBlock.sectionHeader(application: "tribunectl \(Version.current)").bytes
      + PcapngBlock.interface(name: "tribune").bytes
  }

  /// Returns no bytes for a loss of unknown size, because the comment of the next packet reports this loss.
  ///
  /// - Parameter now: the time of a packet with a `lost` frame, in microseconds since 1970.
  mutating func block(for delivery: TrafficDelivery, now: UInt64) -> [UInt8] {
    switch delivery {
    case .interrupted:
      isInterrupted = true
      return []
    case .item(let item):
      defer { dropped = 0 }
      return packet(item.capture, time: item.time, dropCount: dropped)
    case .lost(let count):
      dropped = dropped.saturatingAdding(count)
      let frame = ByteBuffer(capacity: FrameHeader.length + 8)
      frame.appendFrame(Lost(count: UInt64(clamping: count)), serial: 0)
      return packet([UInt8](frame.bytes), time: now, dropCount: 0)
    }
  }

  private mutating func packet(_ bytes: [UInt8], time: UInt64, dropCount: Int) -> [UInt8] {
    defer { isInterrupted = false }
    return PcapngBlock.packet(
      bytes, time: time, dropCount: dropCount, comment: isInterrupted ? Self.interruption : nil
    ).bytes
  }
}
