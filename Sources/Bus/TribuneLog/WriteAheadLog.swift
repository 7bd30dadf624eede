// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem
import TribuneWire

/// A write-ahead log in a file in memory. The log outlives its writer if another process holds a descriptor
/// of the file. The log is lost when the machine restarts.
///
/// A *counter slot* has six numbers of one owner. A *sequence* has the last number given out, such as an id.
/// The file has two *segments*, and the log's entries are in the active one. When many entries are no longer
/// needed, a *compaction* copies the others, the *live* ones, to the other segment. This segment then becomes
/// the active one.
///
/// The process can die between any two stores. Each change first stores all its bytes, and then becomes
/// visible by one store of one word. Readers ignore bytes after the committed length.
///
/// The log checks everything that it reads: words against their complements, entries against their checksums,
/// and lengths against the available bytes.
package final class WriteAheadLog {
  struct Entries {
    var activeSegment: Int
    var admissionLimit: Int
    var used: Int
    var committed: Int
    /// The log's length in bytes after the last compaction. 0 before the first compaction by this process.
    var kept = 0
    var compaction: Compaction?
    var isOtherSegmentStale = false
  }

  struct Compaction {
    var read = 0
    var written = 0
    /// Entries at this offset and after it were appended after the compaction began.
    var tailStart: Int
    var isFull = false
    var commits = false
  }

  let header: LogHeader
  let file: SharedFile
  let mapping: SharedMapping
  let slots: SharedMapping.Rows
  let entries: Cell<Entries>

  /// Creates an empty log. The file uses memory only for the pages that the log has written.
  ///
  /// - Parameters:
  ///   - slotCount: 0 to 2^24.
  ///   - segmentCapacity: the bytes of entries in one segment, from 8 B to 4 GiB.
  package init(slotCount: Int, segmentCapacity: Int) throws(Errno) {
    header = LogHeader(slotCount: slotCount, segmentCapacity: segmentCapacity)
    file = try SharedFile(length: header.fileLength)
    mapping = try SharedMapping(file)
    unsafe slots = mapping.rows(at: LogHeader.slotsOffset, count: slotCount)
    entries = Cell(
      Entries(activeSegment: 0, admissionLimit: header.segmentCapacity / 2, used: 0, committed: 0))
    header.write(to: mapping)
    mapping.store(CheckedWord(0).bits, at: LogHeader.committedOffset(ofSegment: 0))
    mapping.store(CheckedWord(0).bits, at: LogHeader.committedOffset(ofSegment: 1))
    mapping.store(CheckedWord(0).bits, at: LogHeader.recoveriesOffset)
    mapping.publish(CheckedWord(0).bits, at: LogHeader.activeOffset)
  }

  /// Adopts the log of another process, which must no longer write to this log. Does not change the file.
  /// Closes the descriptor on an error.
  package init(adopting descriptor: consuming FileDescriptor) throws(LogError) {
    guard let start = SharedFile.start(of: descriptor, length: LogHeader.activeOffset) else { throw .foreign }
    let header = try LogHeader(start.rawBytes)
    do throws(MemoryFile.Flaw) {
      file = try SharedFile(checking: descriptor)
    } catch {
      switch error {
      case .notInMemory, .notReadable, .notWritable, .hasLength: throw .foreign
      case .notSealed: throw .notSealed
      case .failed(let error): throw .failed(error)
      }
    }
    guard file.length >= header.fileLength else { throw .truncated }
    guard file.length == header.fileLength else { throw .damaged }
    do throws(Errno) {
      mapping = try SharedMapping(file)
    } catch {
      throw .failed(error)
    }
    guard let active = CheckedWord(bits: mapping.load(at: LogHeader.activeOffset)).value, active < 2,
      let words = CheckedWord(bits: mapping.load(at: LogHeader.committedOffset(ofSegment: Int(active))))
        .value,
      Int(words) <= header.segmentCapacity / 8
    else { throw .damaged }
    let recoveries = Self.unfinishedRecoveries(in: mapping)
    guard recoveries < Self.recoveriesMax else { throw .tooManyRecoveries(recoveries) }
    self.header = header
    unsafe slots = mapping.rows(at: LogHeader.slotsOffset, count: header.slotCount)
    let used = Int(words) * 8
    entries = Cell(
      Entries(
        activeSegment: Int(active), admissionLimit: header.segmentCapacity / 2, used: used, committed: used,
        isOtherSegmentStale: true))
  }

  /// The largest capacity of a segment, in bytes.
  package static let segmentCapacityMax = LogHeader.segmentCapacityMax
  package static let version = LogHeader.version

  package var rawDescriptor: CInt { file.rawDescriptor }
  package var slotCount: Int { header.slotCount }
  package var segmentCapacity: Int { header.segmentCapacity }

  // MARK: Admission

  /// In bytes. `admits` returns false if the log with the new entry would be longer than this limit. `append`
  /// ignores the limit, because entries that follow from admitted work must fit.
  package var admissionLimit: Int {
    get { entries.value.admissionLimit }
    set { entries.value.admissionLimit = min(header.segmentCapacity / 2, max(0, newValue) & ~7) }
  }

  package func admits(bodyLength: Int) -> Bool {
    bodyLength <= admissionLimit - entries.value.used - LogEntry.headLength
  }

  /// The longest body that an empty log admits, in bytes.
  package var admittedBodyLengthMax: Int { admissionLimit - LogEntry.headLength }

  // MARK: Bytes

  /// The caller must drop the span before any code writes to the same bytes.
  @_lifetime(borrow self)
  @inline(__always) func bytes(in range: Range<Int>) -> RawSpan {
    // The mapping lives as long as this object, but the compiler cannot prove this lifetime for a class.
    unsafe _overrideLifetime(mapping.unboundBytes(in: range), borrowing: self)
  }

  /// The caller must drop the span before any other access to these bytes.
  @_lifetime(borrow self)
  @inline(__always) func mutableBytes(in range: Range<Int>) -> MutableRawSpan {
    unsafe _overrideLifetime(mapping.unboundMutableBytes(in: range), borrowing: self)
  }
}
