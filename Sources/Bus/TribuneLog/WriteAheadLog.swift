// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem
import TribuneWire

/// A write-ahead log in a file in memory. It outlives its writer while another process holds a descriptor of
/// the file, but not the machine.
///
/// *Counter slots* hold a few numbers for each owner; setting one is a plain store. *Sequences* hold the last
/// number given of each sequence. Of two *segments*, the active one receives entries. When much of it is
/// dead, a *compaction* copies the live entries to the other one, and the segments change roles.
///
/// The process may be killed between any two stores. Every change becomes visible by one store of one word,
/// after the stores of all bytes that it makes valid. Bytes behind the committed length are ignored.
///
/// All reads are checked: words against their complements, entries against their checksums, lengths against
/// the existing bytes.
package final class WriteAheadLog {
  struct Entries {
    var activeSegment: Int
    var admissionLimit: Int
    /// In bytes.
    var used: Int
    var committed: Int
    var kept = 0
    var compaction: Compaction?
    var isOtherSegmentStale = false
  }

  struct Compaction {
    var read = 0
    var written = 0
    /// Entries from this offset on were appended after the compaction began.
    var tailStart: Int
    var isFull = false
    var commits = false
  }

  let header: LogHeader
  let file: SharedFile
  let mapping: SharedMapping
  let slots: SharedMapping.Rows
  let entries: Cell<Entries>

  /// The file takes memory as it is written to.
  ///
  /// - Parameters:
  ///   - slotCount: 0 to 2^24.
  ///   - segmentCapacity: bytes of entries, from 8 B to 4 GiB.
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

  /// The log's writer must no longer write to it. Does not change the file. If it throws, the descriptor is
  /// closed.
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

  /// In bytes.
  package static let segmentCapacityMax = LogHeader.segmentCapacityMax
  package static let version = LogHeader.version

  package var rawDescriptor: CInt { file.rawDescriptor }
  package var slotCount: Int { header.slotCount }
  package var segmentCapacity: Int { header.segmentCapacity }

  // MARK: Admission

  /// In bytes. `append` ignores this limit, because entries that follow from admitted work must fit.
  package var admissionLimit: Int {
    get { entries.value.admissionLimit }
    set { entries.value.admissionLimit = min(header.segmentCapacity / 2, max(0, newValue) & ~7) }
  }

  package func admits(bodyLength: Int) -> Bool {
    bodyLength <= admissionLimit - entries.value.used - LogEntry.headLength
  }

  /// In bytes, for an empty log.
  package var admittedBodyLengthMax: Int { admissionLimit - LogEntry.headLength }

  // MARK: Bytes

  /// The span must not be kept while the same bytes are written.
  @_lifetime(borrow self)
  @inline(__always) func bytes(in range: Range<Int>) -> RawSpan {
    // The mapping lives as long as this object, which the compiler does not see through a class.
    unsafe _overrideLifetime(mapping.unboundBytes(in: range), borrowing: self)
  }

  /// The span must be the only access to these bytes.
  @_lifetime(borrow self)
  @inline(__always) func mutableBytes(in range: Range<Int>) -> MutableRawSpan {
    unsafe _overrideLifetime(mapping.unboundMutableBytes(in: range), borrowing: self)
  }
}
