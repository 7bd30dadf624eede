// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneCore
import TribuneSystem
import TribuneWire

@testable import TribuneLog
@testable import TribuneServer

@main
struct FuzzLogs {
  nonisolated static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Two daemons take over equal logs, made of the input's entries. Both must start to serve, with the same state. If the
/// first byte is even, the entries first get valid lengths and checksums.
@c(LLVMFuzzerTestOneInput)
public nonisolated func fuzzLogs(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let isMended = unsafe start[0] & 1 == 0
  let log = ByteBuffer(capacity: LogImage.segmentCapacity)
  unsafe log.append(
    RawSpan(_unsafeStart: UnsafeRawPointer(start + 1), byteCount: min(count - 1, LogImage.segmentCapacity)))
  // A log is whole words.
  while log.count % 8 > 0 { log.append(UInt8(0)) }
  MainActor.assumeIsolated {
    do {
      let first = try LogImage.takeOver(log, isMended: isMended)
      let second = try LogImage.takeOver(log, isMended: isMended)
      let differences = first.differences(from: second)
      precondition(differences.isEmpty, "two replays differ: \(differences)")
    } catch {
      preconditionFailure("there is no state, or no bus: \(error)")
    }
  }
  return 0
}

private enum LogImage {
  nonisolated static let segmentCapacity = 65_536
  private static let slotCount = 64

  /// - Returns: the state that the log restores.
  static func takeOver(_ log: ByteBuffer, isMended: Bool) throws -> BusDigest {
    let wal = try WriteAheadLog(slotCount: slotCount, segmentCapacity: segmentCapacity)
    for slot in 0..<slotCount / 2 {
      wal.assignSlot(slot, to: UInt64(slot) + 1)
    }
    let segment = wal.header.start(ofSegment: 0)
    var bytes = wal.mutableBytes(in: segment..<segment + log.count)
    bytes.store(log.bytes, at: 0)
    if isMended { mend(&bytes) }
    wal.publishCommitted(log.count, ofSegment: 0)

    let adopted = try WriteAheadLog(adopting: try FileDescriptor.duplicate(of: wal.rawDescriptor))
    adopted.beginRecovery()
    let log = Log(level: .error, journal: nil)
    let loop = try EventLoop(hostsMainQueue: false)
    let server = try BusServer(
      configuration: Configuration(), log: log, loop: loop, wal: adopted,
      keeper: KeeperLink(path: nil, manager: nil, loop: loop, log: log))
    server.takeOver(PassedAtStart())
    server.beginIteration()
    _ = server.endIteration()
    adopted.endRecovery()
    guard let replayed = server.replayed else { preconditionFailure("this is not a debug build") }
    return replayed
  }

  private static func mend(_ log: inout MutableRawSpan) {
    var offset = 0
    while log.byteCount - offset >= LogEntry.headLength {
      let opening = LogEntry.Opening(word: log.bytes.integer(at: offset, as: UInt64.self))
      let rest = log.byteCount - offset
      var length = opening.length & ~7
      if length < LogEntry.headLength || length > rest { length = rest }
      let padding = min(opening.padding & 7, length - LogEntry.headLength)
      let word = UInt64(length) | UInt64(opening.kind) << 32 | UInt64(padding) << 40
      log.store(word, at: offset)
      let sum = LogEntry.checksum(of: log.bytes.extracting(offset..<offset + length))
      log.store(sum, at: offset + LogEntry.checksumOffset)
      offset += length
    }
  }
}
