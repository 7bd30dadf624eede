// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Restores the in-flight I/O (`InFlightIO`) of handed-over connections.
extension Recovery {
  /// The in-flight I/O by connection id. Nil without a hand-over, or if its file is missing or damaged.
  func handedOverIO(_ replayed: ReplayedLog) -> [UInt64: InFlightIO]? {
    guard let (inode, moment) = replayed.handedOver, let file = passed.takeFile(inode: inode)
    else { return nil }
    let log: WriteAheadLog
    do throws(LogError) {
      log = try WriteAheadLog(adopting: file)
    } catch {
      context.log.warning("cannot read the in-flight I/O: \(error)")
      return nil
    }
    var inFlight: [UInt64: InFlightIO] = [:]
    var isWhole = false
    let damage = log.forEachEntry { entry in
      let body = ByteBuffer(holding: entry.body)
      switch entry.kind {
      case .inFlight: inFlight[entry.connection.rawValue, default: InFlightIO()].bytes = body
      case .buffered: inFlight[entry.connection.rawValue, default: InFlightIO()].buffered = body
      case .handoverEnd: isWhole = entry.moment == moment
      default: break
      }
    }
    guard damage == nil, isWhole else {
      context.log.warning("the in-flight I/O is damaged")
      return nil
    }
    return inFlight
  }

  func file(from reader: inout FieldReader) throws(WireError) -> (inode: UInt64, file: InFlightFile)? {
    let inode = try reader.integer(UInt64.self)
    let length = Int(clamping: try reader.integer(UInt64.self))
    let user = try reader.integer(UInt32.self)
    guard inode != 0 else { return nil }
    if let known = inheritedFiles[inode] { return (inode, known) }
    guard let descriptor = passed.takeFile(inode: inode) else {
      throw WireError(.invalidDescriptor, "a file of \(length) bytes is missing")
    }
    do throws(MemoryFile.Flaw) {
      try MemoryFile.check(descriptor.rawValue, length: length)
    } catch {
      throw WireError(.invalidDescriptor, "a file of \(length) bytes has changed: \(error)")
    }
    let file = InFlightFile(of: quota.descriptors(of: user))
    file.take(descriptor, length: length)
    inheritedFiles[inode] = file
    return (inode, file)
  }

  func keepInheritedFiles() {
    for inode in recorder.retainedFiles.value.inodes.sorted() {
      guard let file = inheritedFiles[inode] else { continue }
      do throws(Errno) {
        keeper.keep(.file(inode), owning: try FileDescriptor.duplicate(of: file.rawDescriptor))
      } catch {
        context.log.warning("cannot keep a retained file for another restart: \(error)")
      }
    }
    inheritedFiles = [:]
  }

  func restore(_ inFlight: InFlightIO, of session: Session) {
    do throws(WireError) {
      if let bytes = inFlight.bytes {
        var fields = FieldReader(bytes.bytes)
        let input = try fields.byteArray()
        var waiting: [UInt64] = []
        for _ in 0..<(try fields.integer(UInt32.self)) { waiting.append(try fields.integer()) }
        if let varlink = session.varlink { try restoreReply(from: &fields, of: varlink) }
        // Output is restored before input. If the input is invalid, the error is queued behind the output,
        // and so cannot interrupt a frame.
        while !fields.isAtEnd { try restorePart(from: &fields, of: session) }
        recorder.countRestoredFrames(of: session)
        try reader.restore(input, of: session)
        for inode in waiting { try restorePassedDescriptor(inode, of: session) }
      }
      if let buffered = inFlight.buffered { try restoreBuffered(buffered, of: session) }
    } catch {
      context.log.warning("cannot restore the in-flight I/O of connection \(session.id): \(error.message)")
      sessions.dismissLater(session, WireError(.restarted, "in-flight frames were lost in a restart"))
    }
  }

  private func restoreReply(
    from reader: inout FieldReader, of varlink: VarlinkState
  ) throws(WireError) {
    let rest = try reader.byteArray()
    if !rest.isEmpty { varlink.reply = ByteBuffer(holding: rest.rawBytes) }
    varlink.isLast = try reader.flag()
    varlink.endsConnection = try reader.flag()
  }

  private func restorePart(from reader: inout FieldReader, of session: Session) throws(WireError) {
    let kind = try reader.value(WaitingFrames.Kind.self)
    let partialCount = Int(try reader.integer(UInt32.self))
    let count = try reader.integer(UInt64.self)
    let file = try file(from: &reader)?.file
    let bytes = try reader.byteArray()
    let buffer = ByteBuffer(holding: bytes.rawBytes, attachment: file)
    let part = WaitingFrames(
      kind: kind, slice: ByteSlice(buffer, 0..<buffer.count), partialCount: partialCount, count: count)
    try sender.changeOutput(of: session) { output throws(WireError) in try output.restore(part) }
    sender.scheduleFlush(session)
  }

  private func restorePassedDescriptor(_ inode: UInt64, of session: Session) throws(WireError) {
    let standIn: CInt? =
      switch inode {
      case FilesHandedOver.foreign: PassedDescriptors.foreign
      case FilesHandedOver.lost: PassedDescriptors.lost
      default: nil
      }
    if let standIn {
      session.input.descriptors.append(standIn: standIn)
    } else {
      session.input.descriptors.append(owning: try duplicateFile(inode: inode).release())
    }
    quota.countRestored(of: session)
  }

  /// Returns a duplicate, because retained notifications and other connections can need the same file.
  private func duplicateFile(inode: UInt64) throws(WireError) -> FileDescriptor {
    do throws(Errno) {
      if let known = inheritedFiles[inode] { return try FileDescriptor.duplicate(of: known.rawDescriptor) }
      if let file = try passed.duplicateFile(inode: inode) { return file }
    } catch {
      throw WireError(.missingDescriptor, "cannot duplicate a descriptor that waited for its frame: \(error)")
    }
    throw WireError(.missingDescriptor, "a descriptor that waited for its frame is missing")
  }

  // MARK: Buffered notifications

  private func restoreBuffered(_ buffered: ByteBuffer, of session: Session) throws(WireError) {
    var fields = FieldReader(buffered.bytes)
    let count = Int(try fields.integer(UInt32.self))
    var attached: [any AttachedFile] = []
    for _ in 0..<count {
      guard let file = try file(from: &fields) else {
        throw WireError(.missingDescriptor, "a buffered notification lacks its file")
      }
      attached.append(file.file)
    }
    try bus.value.restoreBuffered(
      buffered.bytes.extracting(droppingFirst: 4 + FilesHandedOver.recordLength * count),
      attachments: attached, for: session.slot)
    session.output.bufferedBefore &-= UInt32(truncatingIfNeeded: bus.value.bufferedCount(of: session.slot))
  }
}
