// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem
import TribuneWire

/// What a bus leaves to the one that takes its place: a file in memory that outlives the process, because the service
/// manager, or the successor, holds a descriptor of it too.
///
/// It has two kinds of contents. *Cells* hold a few numbers of each connection, which change with every read and
/// write: a plain store each. The *log* holds records of what has to be replayed; they are appended, and count once
/// they are committed. It lies in one of two areas. When much of it is dead, a *sweep* copies what is live to the
/// other, a few records at a time, while the bus goes on; then the areas change roles.
///
/// What always holds is that the process may be killed between any two stores. What a killed process stored is there
/// for the next one, so this guards against the death of the process, and not against that of the machine. The log
/// is whole, because each change to it is one store of one word, published when all that it speaks of has been
/// written: the committed length, or which area is active. Bytes that are not committed mean nothing. A cell may be
/// in the middle of being set; there is none then.
///
/// What is read is checked, whoever wrote it: words against their complements, records against their checksums,
/// lengths against what is there.
package final class StateFile {
  /// Of the log, what this process knows (see `Cell`).
  struct Log {
    /// The area that it lies in.
    var area: Int
    /// Bytes from which on nothing new is to be let in.
    var lengthMax: Int
    /// Bytes up to which records lie, and those of them that count.
    var used: Int
    var committed: Int
    /// What the last sweep kept.
    var kept = 0
    var sweep: Sweep?
    /// The other area holds pages that nobody needs.
    var isOtherAreaStale = false
  }

  struct Sweep {
    /// Bytes of the log that it has gone through, and that it has written to the other area.
    var read = 0
    var written = 0
    /// From here on, records were appended after its beginning.
    var tailStart: Int
    /// What is live did not fit.
    var isFull = false
    /// It goes through what is not committed, too, which is so when it ends.
    var commits = false
  }

  let header: StateHeader
  let file: SharedFile
  let mapping: SharedMapping
  let cells: SharedMapping.Rows
  let log: Cell<Log>

  /// Makes an empty state. It takes memory as it is written to.
  ///
  /// - Parameters:
  ///   - cellCount: connections that have a slot at most; 0 for a log alone.
  ///   - areaLength: bytes of records that are kept at most, up to 4 GiB.
  package init(cellCount: Int, areaLength: Int) throws(Errno) {
    header = StateHeader(cellCount: cellCount, areaLength: areaLength)
    file = try SharedFile(length: header.fileLength)
    mapping = try SharedMapping(file)
    unsafe cells = mapping.rows(at: StateHeader.cellsOffset, count: cellCount)
    log = Cell(Log(area: 0, lengthMax: header.areaLength / 2, used: 0, committed: 0))
    header.write(to: mapping)
    mapping.store(StateWord(0).bits, at: StateHeader.committedOffset(ofArea: 0))
    mapping.store(StateWord(0).bits, at: StateHeader.committedOffset(ofArea: 1))
    mapping.store(StateWord(0).bits, at: StateHeader.takeOversOffset)
    mapping.publish(StateWord(0).bits, at: StateHeader.activeOffset)
  }

  /// Takes over a state that another daemon made, which must not write to it any more. Nothing is changed in it
  /// yet.
  ///
  /// - Throws: `StateFlaw`; the descriptor is closed then.
  package init(adopting descriptor: consuming FileDescriptor) throws(StateFlaw) {
    guard let start = SharedFile.start(of: descriptor, length: StateHeader.activeOffset) else {
      throw .foreign
    }
    let header = try StateHeader(start.rawBytes)
    do throws(SharedFile.Flaw) {
      file = try SharedFile(checking: descriptor)
    } catch {
      switch error {
      case .notInMemory, .notWritable: throw .foreign
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
    guard let active = StateWord(bits: mapping.load(at: StateHeader.activeOffset)).value, active < 2,
      let words = StateWord(bits: mapping.load(at: StateHeader.committedOffset(ofArea: Int(active)))).value,
      Int(words) <= header.areaLength / 8
    else { throw .damaged }
    let takeOvers = Self.takeOversBegun(in: mapping)
    guard takeOvers < Self.takeOversMax else { throw .deadly(takeOvers: takeOvers) }
    self.header = header
    unsafe cells = mapping.rows(at: StateHeader.cellsOffset, count: header.cellCount)
    let used = Int(words) * 8
    log = Cell(
      Log(
        area: Int(active), lengthMax: header.areaLength / 2, used: used, committed: used,
        isOtherAreaStale: true))
  }

  /// The most that an area can have. Without what is written to it, it is only a length.
  package static let areaLengthMax = StateHeader.areaLengthMax

  package var rawDescriptor: CInt { file.rawDescriptor }
  package var cellCount: Int { header.cellCount }
  /// Bytes of records that there is room for.
  package var areaLength: Int { header.areaLength }

  /// Bytes of records up to which something new is to be let in, half of an area at most. Whatever follows from what was
  /// let in is appended all the same.
  package var lengthMax: Int {
    get { log.value.lengthMax }
    set { log.value.lengthMax = min(header.areaLength / 2, max(0, newValue) & ~7) }
  }

  /// Whether a record with a body of that length may be let in.
  package func hasRoom(for bodyLength: Int) -> Bool {
    bodyLength <= lengthMax - log.value.used - StateRecord.headLength
  }

  /// Bytes that the body of a record can have which there is room for when nothing else is there.
  package var bodyLengthMax: Int { lengthMax - StateRecord.headLength }

  /// Must not be held on to while something is stored in the same place.
  @_lifetime(borrow self)
  @inline(__always) func bytes(in range: Range<Int>) -> RawSpan {
    // The mapping stays as long as its owner, which the compiler does not see through a class.
    unsafe _overrideLifetime(mapping.unboundBytes(in: range), borrowing: self)
  }

  /// The same for writing, with nothing else seen there meanwhile.
  @_lifetime(borrow self)
  @inline(__always) func mutableBytes(in range: Range<Int>) -> MutableRawSpan {
    unsafe _overrideLifetime(mapping.unboundMutableBytes(in: range), borrowing: self)
  }
}
