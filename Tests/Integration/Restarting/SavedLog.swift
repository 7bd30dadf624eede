// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

/// A log that a test reads and changes, stored without its many rows of 32 zeros. It assumes the layout of version 1.
struct SavedLog {
  struct Record {
    let kind: UInt8
    let connection: UInt64
    let place: Range<Int>
    /// In bytes, without padding.
    let bodyLength: Int

    static let headLength = 32
    static let connectionOffset = 16
  }

  private static let rowLength = 32

  private let length: Int
  private var rows: [Int: [UInt8]] = [:]

  init(of file: CInt) throws {
    length = Int(try retrying { lseek(file, 0, CInt(SEEK_END)) })
    var offset = 0
    // The file may end with a hole.
    while offset < length, case let start = Int(lseek(file, off_t(offset), TRIBUNE_SEEK_DATA)), start >= 0 {
      offset = Int(try retrying { lseek(file, off_t(start), TRIBUNE_SEEK_HOLE) })
      var bytes = [UInt8](repeating: 0, count: offset - start)
      let count = try retrying { unsafe pread(file, &bytes, bytes.count, off_t(start)) }
      for row in stride(from: 0, to: count, by: Self.rowLength) {
        let part = bytes[row..<min(row + Self.rowLength, count)]
        guard part.contains(where: { $0 != 0 }) else { continue }
        rows[start + row] = part + [UInt8](repeating: 0, count: Self.rowLength - part.count)
      }
    }
  }

  func file() throws -> FileDescriptor {
    let file = try SharedFile.make([], seals: 0)
    let (descriptor, length) = (file.rawValue, length)
    _ = try retrying { ftruncate(descriptor, off_t(length)) }
    for (offset, bytes) in rows {
      let count = min(bytes.count, length - offset)
      _ = try retrying { unsafe pwrite(descriptor, bytes, count, off_t(offset)) }
    }
    let seals = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW
    _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, seals) }
    return file
  }

  // MARK: Contents

  /// Consecutive daemons that began to recover from it and did not finish.
  var recoveries: UInt64 { word(at: 88) }

  var log: Range<Int> {
    let (cells, segmentCapacity) = (Int(word(at: 24)), Int(word(at: 32)))
    let area = Int(UInt32(truncatingIfNeeded: word(at: 64)))
    let committed = Int(UInt32(truncatingIfNeeded: word(at: 72 + 8 * area))) * 8
    func aligned(_ offset: Int) -> Int { (offset + 65_535) & ~65_535 }
    let start = aligned(4096 + 64 * cells) + area * aligned(segmentCapacity)
    return start..<start + committed
  }

  var records: [Record] {
    let log = log
    var records: [Record] = []
    var offset = log.lowerBound
    while offset < log.upperBound {
      let opening = word(at: offset)
      let end = offset + max(Record.headLength, Int(UInt32(truncatingIfNeeded: opening)))
      records.append(
        Record(
          kind: UInt8(truncatingIfNeeded: opening >> 32), connection: word(at: offset + 16),
          place: offset..<end,
          bodyLength: end - offset - Record.headLength - Int(UInt8(truncatingIfNeeded: opening >> 40))))
      offset = end
    }
    return records
  }

  mutating func set(_ value: UInt64, at offset: Int, inBodyOf record: Record) {
    set(value, at: Record.headLength + offset, in: record)
  }

  mutating func set(_ value: UInt64, at offset: Int, in record: Record) {
    set(value, at: record.place.lowerBound + offset)
    updateChecksum(of: record)
  }

  func body(of record: Record) -> [UInt8] {
    let start = record.place.lowerBound + Record.headLength
    return (start..<start + record.bodyLength).map { self[$0] }
  }

  mutating func setBody(_ body: [UInt8], of record: Record) {
    precondition(body.count == record.bodyLength)
    let start = record.place.lowerBound + Record.headLength
    for (place, byte) in body.enumerated() { self[start + place] = byte }
    updateChecksum(of: record)
  }

  private mutating func updateChecksum(of record: Record) {
    let start = record.place.lowerBound
    let rest = (start + 16..<record.place.upperBound).map { self[$0] }
    set(Checksum.of(word(at: start), rest.raw), at: start + 8)
  }

  private func word(at offset: Int) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(self[offset + $1]) << (8 * UInt64($1)) }
  }

  mutating func flip(_ bits: UInt8, at offset: Int) { self[offset] ^= bits }

  mutating func set(_ value: UInt64, at offset: Int) {
    for place in 0..<8 { self[offset + place] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(place))) }
  }

  private subscript(_ offset: Int) -> UInt8 {
    get { rows[offset / Self.rowLength * Self.rowLength]?[offset % Self.rowLength] ?? 0 }
    set {
      let row = offset / Self.rowLength * Self.rowLength
      rows[row, default: [UInt8](repeating: 0, count: Self.rowLength)][offset % Self.rowLength] = newValue
    }
  }
}
