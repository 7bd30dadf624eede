// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// A record, taken out of the state that it lay in.
struct RecordCopy: Equatable, Sendable {
  var kind: StateRecordKind
  var connection: UInt64 = 7
  var moment: UInt64 = 1_000
  var body: [UInt8] = []
  var position = 0
  var length = 32

  init(_ kind: StateRecordKind, connection: UInt64 = 7, moment: UInt64 = 1_000, body: [UInt8] = []) {
    self.kind = kind
    self.connection = connection
    self.moment = moment
    self.body = body
    length = 32 + (body.count + 7) / 8 * 8
  }

  init(_ record: StateRecord) {
    self.init(
      record.kind, connection: record.connection.rawValue, moment: record.moment.nanoseconds,
      body: Array(record.body))
    position = record.position.offset
    length = record.length
  }
}

@MainActor extension StateFile {
  /// Appends a record in two parts.
  func append(_ record: RecordCopy) -> StatePosition? {
    append(
      record.kind, connection: ConnectionID(rawValue: record.connection),
      at: Instant(nanoseconds: record.moment), Array(record.body.prefix(5)).raw,
      Array(record.body.dropFirst(5)).raw)
  }

  func appendToSweep(_ record: RecordCopy) -> StatePosition? {
    appendToSweep(
      record.kind, connection: ConnectionID(rawValue: record.connection),
      at: Instant(nanoseconds: record.moment), record.body.raw)
  }

  /// Takes back what was appended and not committed.
  func discardUncommitted() { discard(from: StatePosition(offset: log.value.committed)) }

  /// Bytes that the last sweep kept; 0 before the first.
  var keptLength: Int { log.value.kept }

  /// What a successor would find.
  func contents() -> (records: [RecordCopy], damage: StateDamage?) {
    var records: [RecordCopy] = []
    let damage = forEachRecord { records.append(RecordCopy($0)) }
    return (records, damage)
  }
}

/// The bytes of a state at one moment: what is left of it when the process is killed then.
struct StateImage {
  static let seals = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW

  var bytes: [UInt8]

  @MainActor init(of state: StateFile) throws {
    var status = stat()
    _ = try retrying { unsafe fstat(state.rawDescriptor, &status) }
    bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = try retrying { unsafe pread(state.rawDescriptor, &bytes, bytes.count, 0) }
    precondition(count == bytes.count)
  }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// A file in memory that holds the image, or the start of it.
  func file(length: Int? = nil, seals: CInt = seals) throws -> FileDescriptor {
    let flags = CUnsignedInt(MFD_CLOEXEC) | CUnsignedInt(MFD_ALLOW_SEALING)
    let file = FileDescriptor(owning: try retrying { unsafe memfd_create("test", flags) })
    let descriptor = file.rawValue
    let count = length ?? bytes.count
    _ = try retrying { ftruncate(descriptor, off_t(count)) }
    // What is behind the end of the bytes is zeros.
    let written = min(count, bytes.count)
    if written > 0 {
      let result = try retrying { unsafe pwrite(descriptor, bytes, written, 0) }
      precondition(result == written)
    }
    if seals != 0 { _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, seals) } }
    return file
  }

  /// The state that a successor takes over.
  @MainActor func adopted() throws -> StateFile { try StateFile(adopting: file()) }
}

/// Why a file is not taken over; nil if it is.
@MainActor func stateFlaw(of file: consuming FileDescriptor) -> StateFlaw? {
  do throws(StateFlaw) {
    _ = try StateFile(adopting: file)
    return nil
  } catch {
    return error
  }
}
