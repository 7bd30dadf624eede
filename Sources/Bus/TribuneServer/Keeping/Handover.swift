// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Hands the bus over to the next daemon.
///
/// The log has the core's state. A hand-over adds each connection's unhandled input and queued output.
/// Because of their size, input and output are in a separate file, which is also a log. Both logs end with a
/// `handoverEnd` entry of the same time, by which the next daemon knows that the two belong together.
final class Handover {
  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let recorder: Recorder
  private let gatekeeper: Gatekeeper
  private let keeper: KeeperLink

  init(_ recorder: Recorder, _ gatekeeper: Gatekeeper, _ context: ServerContext) {
    (bus, sessions, keeper) = (context.bus, context.sessions, recorder.keeper)
    (self.recorder, self.gatekeeper, self.context) = (recorder, gatekeeper, context)
  }

  /// Unread input stays in the sockets. After this call, the bus must not change.
  func write() throws(Errno) {
    for session in sessions.all {
      recorder.storeCounters(ofHandedOver: session)
      switch session.state {
      case .awaitingHello:
        if session.positions.connect == nil { recorder.recordConnection(session) }
        recorder.keepOpen(session)
      case .closing, .ending, .dismissing: gatekeeper.close(session)
      case .open: recorder.keepOpen(session)
      case .closed: break
      }
    }
    for session in sessions.allDetached { recorder.storeCounters(ofHandedOver: session) }
    recorder.compactNow()
    var files = FilesHandedOver()
    let log = try writeInFlight(&files)
    let inFlight = files.insert(log.rawDescriptor)
    // Gives `files` to the keeper. The keeper already has the files of retained notifications, except those
    // that the bus could not duplicate, for example for lack of descriptors.
    for (inode, file) in files.descriptors.sorted(by: { $0.key < $1.key })
    where !keeper.isToKeep(.file(inode)) {
      keeper.keep(.file(inode), owning: try FileDescriptor.duplicate(of: file))
    }
    recorder.recordHandoverEnd(inFlight: inFlight)
  }

  /// Shuts down connections that the keeper has not acknowledged, so that their clients notice the loss.
  /// Makes the keeper forget these connections. The next daemon gives clients with registrations, actions or
  /// bound notifications time to reconnect.
  func shutUnkept() {
    for session in sessions.all where !keeper.isKept(.connection(session.cookie)) {
      UnixSocket.shutdown(session.descriptor)
    }
    keeper.forgetUnkept()
  }

  /// Must be called after the last change of the bus and its log, except for the log's `handoverEnd`.
  private func writeInFlight(_ files: inout FilesHandedOver) throws(Errno) -> WriteAheadLog {
    var bodies: [(kind: EntryKind, id: ConnectionID, body: ByteBuffer)] = []
    for session in sessions.all
    where session.positions.connect != nil && session.isServed {
      if let bytes = inFlightBytes(of: session, &files) { bodies.append((.inFlight, session.id, bytes)) }
      if bus.value.isSuspended(session.slot) {
        bodies.append((.buffered, session.id, buffered(for: session, &files)))
      }
    }
    let length = bodies.reduce(4096) { $0 + LogEntry.length(bodyLength: $1.body.count) }
    guard length <= WriteAheadLog.segmentCapacityMax else { throw .fileTooBig }
    let log = try WriteAheadLog(slotCount: 0, segmentCapacity: length)
    for (kind, id, body) in bodies {
      guard log.append(kind, connection: id, at: context.now, body.bytes) != nil else {
        preconditionFailure("the in-flight I/O does not fit into \(length) bytes")
      }
    }
    _ = log.append(.handoverEnd, connection: .bus, at: context.now, RawSpan())
    log.commit()
    return log
  }

  private func inFlightBytes(of session: Session, _ files: inout FilesHandedOver) -> ByteBuffer? {
    let request = session.listing?.request
    let inputCount = (request?.count ?? 0) + session.input.count
    guard inputCount > 0 || !session.output.isEmpty || !session.input.descriptors.isEmpty
    else { return nil }
    let buffer = ByteBuffer(
      capacity: 256 + inputCount + session.output.byteCount + (session.varlink?.unsentCount ?? 0))
    buffer.append(UInt32(inputCount))
    if let request { buffer.append(request.bytes) }
    session.input.append(to: buffer)
    let waiting = session.input.descriptors.rawValues
    buffer.append(UInt32(waiting.count))
    for descriptor in waiting { buffer.append(files.insert(waiting: descriptor)) }
    if let varlink = session.varlink {
      buffer.append(UInt32(varlink.unsentCount))
      if let reply = varlink.reply { buffer.append(reply.bytes(in: varlink.sentCount..<reply.count)) }
      buffer.append(varlink.isLast)
      buffer.append(varlink.endsConnection)
    }
    func append(_ part: WaitingFrames) {
      buffer.append(part.kind.rawValue)
      buffer.append(UInt32(part.partialCount))
      buffer.append(part.count)
      files.append(part.attachment, to: buffer)
      buffer.append(UInt32(part.slice.count))
      buffer.append(part.slice.bytes)
    }
    session.output.queue.forEachWaiting(append)
    session.output.backlog.forEachWaiting(append)
    return buffer
  }

  private func buffered(for session: Session, _ files: inout FilesHandedOver) -> ByteBuffer {
    let fields = ByteBuffer(capacity: 256)
    let attached = bus.value.appendBuffered(of: session.slot, to: fields)
    let buffer = ByteBuffer(capacity: fields.count + 8 + FilesHandedOver.recordLength * attached.count)
    buffer.append(UInt32(attached.count))
    for file in attached { files.append(file, to: buffer) }
    buffer.append(fields.bytes)
    return buffer
  }
}
