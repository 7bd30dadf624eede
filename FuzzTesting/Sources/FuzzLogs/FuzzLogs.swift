// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneCore
import TribuneSystem
import TribuneWire

@testable import TribuneServer

@main
struct FuzzLogs {
  nonisolated static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Has a daemon take over a state whose log is the input, behind one byte: if that is even, the lengths and checksums
/// of the log's records are made right first, so that what they say is believed. Whatever it is: the daemon comes to
/// serve.
@c(LLVMFuzzerTestOneInput)
public nonisolated func fuzzLogs(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let isMended = unsafe start[0] & 1 == 0
  let log = ByteBuffer(capacity: StateImage.areaLength)
  unsafe log.append(
    RawSpan(_unsafeStart: UnsafeRawPointer(start + 1), byteCount: min(count - 1, StateImage.areaLength)))
  // A log is whole words.
  while log.count % 8 > 0 { log.append(UInt8(0)) }
  MainActor.assumeIsolated {
    do {
      try StateImage.takeOver(log, isMended: isMended)
    } catch {
      preconditionFailure("there is no state, or no bus: \(error)")
    }
  }
  return 0
}

private enum StateImage {
  nonisolated static let areaLength = 65_536
  private static let cellCount = 64

  static func takeOver(_ log: ByteBuffer, isMended: Bool) throws {
    let state = try StateFile(cellCount: cellCount, areaLength: areaLength)
    for slot in 0..<cellCount / 2 {
      state.setCell(slot: slot, connection: ConnectionID(rawValue: UInt64(slot) + 1))
    }
    let area = state.header.start(ofArea: 0)
    var bytes = state.mutableBytes(in: area..<area + log.count)
    bytes.store(log.bytes, at: 0)
    if isMended { mend(&bytes) }
    state.publishCommitted(log.count, ofArea: 0)

    let adopted = try StateFile(adopting: try FileDescriptor.duplicate(of: state.rawDescriptor))
    adopted.beginTakeOver()
    let server = try BusServer(
      configuration: Configuration(), log: Log(level: .error, destination: .standardError),
      loop: try RunLoop(hostsMainQueue: false), state: adopted, store: nil)
    server.takeOver(PassedAtStart())
    server.beginPass()
    _ = server.endPass()
    adopted.endTakeOver()
  }

  /// Has each record end within the log, and carry its own checksum.
  private static func mend(_ log: inout MutableRawSpan) {
    var offset = 0
    while log.byteCount - offset >= StateRecord.headLength {
      let opening = StateRecord.Opening(word: log.bytes.integer(at: offset, as: UInt64.self))
      let rest = log.byteCount - offset
      var length = opening.length & ~7
      if length < StateRecord.headLength || length > rest { length = rest }
      let padding = min(opening.padding & 7, length - StateRecord.headLength)
      let word = UInt64(length) | UInt64(opening.kind) << 32 | UInt64(padding) << 40
      log.store(word, at: offset)
      let sum = StateRecord.checksum(of: log.bytes.extracting(offset..<offset + length))
      log.store(sum, at: offset + StateRecord.checksumOffset)
      offset += length
    }
  }
}
