// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// How everything is handed over to the next daemon, so that nobody notices.
///
/// What the state says of the core is complete as it is. Added to it is what is under way between the bus and each
/// connection, in both directions: frames that have been read in part, and what waits to be read. That can be as
/// much as all queues may hold, and lies in a file of its own, whose log ends with the same record as the state's.
extension BusServer {
  /// Takes what has been read, and writes down all that the next daemon needs. What has not been read stays where it is.
  ///
  /// Nothing may happen on the bus any more, unless it is to go on after all.
  ///
  /// - Parameter pass: passes on a file that is spoken of.
  func handOver(passing pass: (CInt) -> Bool) throws(Errno) {
    for connection in sessions.all {
      while connection.isServed, connection.deferredInput != nil { takeDeferred(of: connection) }
    }
    deliverPostponed()
    flushDeferred()
    _ = endIteration()
    for connection in sessions.all {
      wal.set(.queued, of: connection.slot.index, to: connection.traffic.value.queuedCount)
      noteBuffered(for: connection)
      noteMidFrame(of: connection)
      switch connection.phase {
      case .awaitingHello:
        if connection.position == nil { recordConnection(connection) }
        keepOpen(connection)
      // It has been sent why, as far as it reads.
      case .closing: close(connection)
      case .open: keepOpen(connection)
      case .closed: break
      }
    }
    compactor.compactNow(at: now)
    var files = FilesHandedOver()
    let streams = try writeInFlight(&files)
    let buffer = bufferToRecord()
    buffer.append(files.insert(streams.rawDescriptor))
    // What is retained is stored already.
    let stored = store == nil ? [] : Set(retainedFiles.retained.map(\.inode))
    guard files.descriptors.allSatisfy({ stored.contains($0.key) || pass($0.value) }) else {
      throw Errno(rawValue: ENOSPC)
    }
    record(.handoverEnd, of: .bus, at: now, buffer.bytes)
    wal.commit()
  }

  /// The bus goes on: what was written down for another daemon is forgotten.
  func takeBack() { compactor.compactNow(at: now) }

  /// A log of what is under way on each connection, which ends at the moment at which the state's does.
  private func writeInFlight(_ files: inout FilesHandedOver) throws(Errno) -> WriteAheadLog {
    var bodies: [(kind: EntryKind, id: ConnectionID, body: ByteBuffer)] = []
    for connection in sessions.all
    where connection.position != nil && connection.isServed && !connection.isDetached {
      if let stream = stream(of: connection, &files) { bodies.append((.inFlight, connection.id, stream)) }
      if bus.isSuspended(connection.slot) {
        bodies.append((.buffered, connection.id, held(for: connection, &files)))
      }
    }
    let length = bodies.reduce(4096) { $0 + LogEntry.length(bodyLength: $1.body.count) }
    guard length <= WriteAheadLog.segmentCapacityMax else { throw Errno(rawValue: EFBIG) }
    let streams = try WriteAheadLog(slotCount: 0, segmentCapacity: length)
    for (kind, id, body) in bodies {
      guard streams.append(kind, connection: id, at: now, body.bytes) != nil else {
        preconditionFailure("what is under way does not fit into \(length) bytes")
      }
    }
    _ = streams.append(.handoverEnd, connection: .bus, at: now, RawSpan())
    streams.commit()
    return streams
  }

  /// What was under way on each connection, by id, if the daemon that was here handed it over.
  func handedOverIO(_ replayed: ReplayedLog, _ passed: PassedAtStart) -> [UInt64: InFlightIO]? {
    guard let (inode, moment) = replayed.handedOver, let file = passed.takeFile(inode: inode) else {
      return nil
    }
    store?.remove(file: file.number)
    let log: WriteAheadLog
    do throws(LogError) {
      log = try WriteAheadLog(adopting: file.descriptor)
    } catch {
      self.log.warning("what was under way cannot be taken over: \(error)")
      return nil
    }
    var streams: [UInt64: InFlightIO] = [:]
    var isWhole = false
    let damage = log.forEachEntry { entry in
      let body = ByteBuffer(capacity: entry.body.byteCount)
      body.append(entry.body)
      switch entry.kind {
      case .inFlight: streams[entry.connection.rawValue, default: InFlightIO()].stream = body
      case .buffered: streams[entry.connection.rawValue, default: InFlightIO()].held = body
      case .handoverEnd: isWhole = entry.moment == moment
      default: break
      }
    }
    guard damage == nil, isWhole else {
      self.log.warning("what was under way is damaged")
      return nil
    }
    return streams
  }
}
