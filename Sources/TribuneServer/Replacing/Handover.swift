// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Hands everything over to the next daemon, so that nobody notices.
///
/// What the log has of the core is complete as it is. Added to it is what is under way between the bus and each connection,
/// in both directions: frames that have been read in part, and what waits to be read. That can be as much as all queues
/// may hold, and lies in a file of its own, whose log ends with the same entry as the bus's.
final class Handover {
  /// How long a daemon that has asked for the bus may take to get everything. Nobody else is served meanwhile.
  private static let limit = Duration.seconds(5)

  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let recorder: Recorder
  private let sender: Sender
  private let gatekeeper: Gatekeeper
  private let succession: Succession
  private let store: DescriptorStore?

  init(
    _ interpreter: Interpreter, _ gatekeeper: Gatekeeper, _ succession: Succession, _ store: DescriptorStore?
  ) {
    context = interpreter.context
    bus = interpreter.bus
    sessions = interpreter.sessions
    recorder = interpreter.recorder
    sender = interpreter.sender
    (self.gatekeeper, self.succession, self.store) = (gatekeeper, succession, store)
  }

  /// Logs all that the next daemon needs. What has not been read stays where it is.
  ///
  /// Nothing may happen on the bus any more, unless it is to go on after all (`takeBack`).
  ///
  /// - Parameter pass: passes on a file that the log speaks of.
  func write(passing pass: (CInt) -> Bool) throws(Errno) {
    for session in sessions.all {
      recorder.noteHandedOver(session)
      switch session.state {
      case .awaitingHello:
        if session.positions.connect == nil { recorder.recordConnection(session) }
        gatekeeper.keepOpen(session)
      // It has been sent why, as far as it reads.
      case .closing, .ending: gatekeeper.close(session)
      case .open: gatekeeper.keepOpen(session)
      case .closed: break
      }
    }
    for session in sessions.allDetached { recorder.noteHandedOver(session) }
    recorder.compactor.compactNow(at: context.now)
    var files = FilesHandedOver()
    let streams = try writeInFlight(&files)
    let inFlight = files.insert(streams.rawDescriptor)
    // What is retained is stored already.
    let stored = store == nil ? [] : Set(recorder.retainedFiles.value.retained.map(\.inode))
    guard files.descriptors.allSatisfy({ stored.contains($0.key) || pass($0.value) }) else {
      throw .noSpace
    }
    recorder.recordHandoverEnd(inFlight: inFlight)
  }

  /// The bus goes on: what was written for another daemon is forgotten.
  private func takeBack() { recorder.compactor.compactNow(at: context.now) }

  /// A log of what is under way on each connection, which ends at the moment at which the state's does.
  private func writeInFlight(_ files: inout FilesHandedOver) throws(Errno) -> WriteAheadLog {
    var bodies: [(kind: EntryKind, id: ConnectionID, body: ByteBuffer)] = []
    for session in sessions.all
    where session.positions.connect != nil && session.isServed {
      if let stream = stream(of: session, &files) { bodies.append((.inFlight, session.id, stream)) }
      if bus.value.isSuspended(session.slot) {
        bodies.append((.buffered, session.id, buffered(for: session, &files)))
      }
    }
    let length = bodies.reduce(4096) { $0 + LogEntry.length(bodyLength: $1.body.count) }
    guard length <= WriteAheadLog.segmentCapacityMax else { throw .fileTooBig }
    let streams = try WriteAheadLog(slotCount: 0, segmentCapacity: length)
    for (kind, id, body) in bodies {
      guard streams.append(kind, connection: id, at: context.now, body.bytes) != nil else {
        preconditionFailure("what is under way does not fit into \(length) bytes")
      }
    }
    _ = streams.append(.handoverEnd, connection: .bus, at: context.now, RawSpan())
    streams.commit()
    return streams
  }

  /// What is under way on a connection; nil if nothing is.
  private func stream(of session: Session, _ files: inout FilesHandedOver) -> ByteBuffer? {
    let partial = session.input.partial
    guard partial != nil || !session.output.queue.isEmpty || !session.input.descriptors.isEmpty else {
      return nil
    }
    let buffer = ByteBuffer(capacity: 256 + (partial?.count ?? 0) + session.output.queue.byteCount)
    buffer.append(UInt32(partial?.count ?? 0))
    if let partial { buffer.append(partial.bytes) }
    let waiting = session.input.descriptors.rawValues
    buffer.append(UInt32(waiting.count))
    for descriptor in waiting { buffer.append(files.insert(waiting: descriptor)) }
    session.output.queue.forEachWaiting { part in
      buffer.append(part.kind.rawValue)
      buffer.append(UInt32(part.begunCount))
      buffer.append(part.count)
      files.append(part.attachment, to: buffer)
      buffer.append(UInt32(part.slice.count))
      buffer.append(part.slice.bytes)
    }
    return buffer
  }

  /// What is buffered for a suspended connection.
  private func buffered(for session: Session, _ files: inout FilesHandedOver) -> ByteBuffer {
    let fields = ByteBuffer(capacity: 256)
    let attached = bus.value.appendHeld(of: session.slot, to: fields)
    let buffer = ByteBuffer(capacity: fields.count + 8 + RecordedFile.length * attached.count)
    buffer.append(UInt32(attached.count))
    for file in attached { files.append(file, to: buffer) }
    buffer.append(fields.bytes)
    return buffer
  }

  // MARK: Over a channel

  /// Begins to hand over to the daemon that has asked over a connection, which is closed with that.
  ///
  /// - Returns: nil if the bus goes on.
  func open(to asker: Session) -> HandOverChannel? {
    recorder.commit()
    sender.flush(asker)
    guard !gatekeeper.acceptor.isStopped, asker.output.accepts else {
      succession.state = .none
      return nil
    }
    let channel: HandOverChannel
    do throws(Errno) {
      guard asker.output.queue.isEmpty else { throw .again }
      channel = HandOverChannel(try asker.descriptor.duplicate(), within: Self.limit)
    } catch {
      sessions.closeLater(asker, WireError(.outOfMemory, "nothing can be handed over: \(error)"))
      succession.state = .none
      return nil
    }
    succession.state = .handingOver
    gatekeeper.close(asker, isEnded: false)
    context.log.info("\(asker.peer.summary) takes the place of this bus")
    return channel
  }

  /// Hands everything over. The bus goes on if the other daemon does not do its part in time.
  ///
  /// - Returns: whether the other daemon has it all.
  func complete(over channel: HandOverChannel, to who: String) -> Bool {
    let count = sessions.count
    do throws(HandOverChannel.Failure) {
      try write(to: channel)
      context.log.info("handed over \(count.counted("connection")) to \(who)")
      return true
    } catch {
      channel.refuse("\(error)")
      takeBack()
      succession.state = .none
      context.log.warning("the bus goes on, for \(who) could not take its place: \(error)")
      return false
    }
  }

  private func write(to channel: HandOverChannel) throws(HandOverChannel.Failure) {
    // What is under way lies in files that nobody else may hold.
    var copies = PassedDescriptors()
    defer { copies.removeAll() }
    do throws(Errno) {
      try write(passing: { Self.append(copyOf: $0, to: &copies) })
    } catch {
      throw .failed(error)
    }
    // How long that takes depends on how much waits, and on nobody else.
    channel.extend(by: Self.limit)
    var files = FilesHandedOver()
    for file in copies.rawValues { _ = files.insert(file) }
    for file in bus.value.allRetained().compactMap(\.attachment) { _ = files.insert(file.rawDescriptor) }

    var batch = Batch()
    try batch.append(.state, recorder.wal.rawDescriptor, sendingTo: channel)
    for listener in gatekeeper.acceptor.listeners {
      try batch.append(
        .listener(path: listener.path, file: listener.ownFile), listener.descriptor.rawValue,
        sendingTo: channel)
    }
    for file in files.descriptors.values { try batch.append(.file, file, sendingTo: channel) }
    for session in sessions.all
    where session.isServed && session.positions.connect != nil {
      try batch.append(.connection, session.descriptor.rawValue, sendingTo: channel)
    }
    try batch.send(to: channel)
    try channel.send(.end(count: batch.sentCount))
    guard try channel.receive() == .ready else { throw .malformed("what is not to be said now") }
    try channel.send(.yours)
  }

  private static func append(copyOf file: CInt, to copies: inout PassedDescriptors) -> Bool {
    do throws(Errno) {
      copies.append(owning: try FileDescriptor.duplicate(of: file).release())
      return true
    } catch {
      return false
    }
  }

  /// Descriptors that are to be sent with one message.
  private struct Batch {
    private var parts: [HandedOver] = []
    private var descriptors: [CInt] = []
    private(set) var sentCount = 0

    /// Sends what there is before if there is no room for one more.
    mutating func append(
      _ part: HandedOver, _ descriptor: CInt, sendingTo channel: HandOverChannel
    ) throws(HandOverChannel.Failure) {
      if parts.count == UnixSocket.descriptorsPerMessageMax { try send(to: channel) }
      parts.append(part)
      descriptors.append(descriptor)
    }

    mutating func send(to channel: HandOverChannel) throws(HandOverChannel.Failure) {
      try channel.send(.batch(parts), passing: descriptors)
      sentCount += parts.count
      parts.removeAll(keepingCapacity: true)
      descriptors.removeAll(keepingCapacity: true)
    }
  }
}
