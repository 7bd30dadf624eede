// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What was under way on a connection when it was handed over.
struct InFlightIO {
  /// What was read in part, and what waited to be read.
  var stream: ByteBuffer?
  /// What was held while it was suspended.
  var held: ByteBuffer?
}

/// A file that another daemon has left.
struct InheritedFile {
  let file: InFlightFile
  let inode: UInt64
  /// By which the store knows it.
  let number: UInt64
}

/// Files that are handed over with what speaks of them, by inode. Whoever collected them still owns them.
struct FilesHandedOver {
  private(set) var descriptors: [UInt64: CInt] = [:]

  /// - Returns: by which number it is found again; 0 for what is no sealed file in memory.
  mutating func insert(_ descriptor: CInt) -> UInt64 {
    let inode = FileDescriptor.lending(descriptor) { $0.inode } ?? 0
    if inode != 0 { descriptors[inode] = descriptor }
    return inode
  }

  /// Inserts a descriptor that waits for its frame, if it is one of a file in memory. Nothing is asked of another one,
  /// and nobody else gets it.
  mutating func insert(waiting descriptor: CInt) -> UInt64 {
    if descriptor == PassedDescriptors.lost { return Self.lost }
    return MemoryFile.isInMemory(descriptor) ? insert(descriptor) : Self.foreign
  }

  /// No inode has these numbers.
  static let foreign: UInt64 = 0
  static let lost = UInt64.max
}

/// A file as it is written down: its inode, its length and its user.
enum RecordedFile {
  static let length = 8 + 8 + 4
}

extension BusServer {
  // MARK: Writing

  /// What is under way on a connection; nil if nothing is.
  func stream(of connection: Connection, _ files: inout FilesHandedOver) -> ByteBuffer? {
    let partial = connection.partial
    guard partial != nil || !connection.queue.isEmpty || !connection.descriptors.isEmpty else { return nil }
    let buffer = ByteBuffer(capacity: 256 + (partial?.count ?? 0) + connection.queue.byteCount)
    buffer.append(UInt32(partial?.count ?? 0))
    if let partial { buffer.append(partial.bytes) }
    let waiting = connection.descriptors.rawValues
    buffer.append(UInt32(waiting.count))
    for descriptor in waiting { buffer.append(files.insert(waiting: descriptor)) }
    connection.queue.forEachWaiting { part in
      buffer.append(part.kind.rawValue)
      buffer.append(UInt32(part.begunCount))
      buffer.append(part.count)
      append(part.attachment, to: buffer, &files)
      buffer.append(UInt32(part.slice.count))
      buffer.append(part.slice.bytes)
    }
    return buffer
  }

  /// Appends how a file is found again, how long it is, and whose it is: `RecordedFile.length` bytes.
  func append(_ file: (any AttachedFile)?, to buffer: ByteBuffer, _ files: inout FilesHandedOver) {
    buffer.append(file.map { files.insert($0.rawDescriptor) } ?? 0)
    buffer.append(UInt64(file?.length ?? 0))
    buffer.append((file as? InFlightFile)?.user ?? 0)
  }

  // MARK: Reading

  /// The file that `append(_:to:_:)` has written down.
  ///
  /// - Throws: when it is not there.
  func file(from reader: inout FieldReader, _ passed: PassedAtStart) throws(WireError) -> InheritedFile? {
    let inode = try reader.integer(UInt64.self)
    let length = Int(clamping: try reader.integer(UInt64.self))
    let user = try reader.integer(UInt32.self)
    guard inode != 0 else { return nil }
    if let known = inheritedFiles[inode] { return known }
    guard let found = passed.takeFile(inode: inode) else {
      throw WireError(.invalidDescriptor, "a file of \(length) bytes is not there")
    }
    let number = found.number
    let descriptor = found.descriptor
    do throws(MemoryFile.Flaw) {
      try MemoryFile.check(descriptor.rawValue, length: length)
    } catch {
      store?.remove(file: number)
      throw WireError(.invalidDescriptor, "a file of \(length) bytes is not what it was: \(error)")
    }
    let held = InFlightFile(countedIn: descriptorQuota.files, descriptorQuota.files(of: user), user: user)
    held.hold(descriptor, length: length)
    let file = InheritedFile(file: held, inode: inode, number: number)
    inheritedFiles[inode] = file
    return file
  }

  /// Has nothing stored of what is retained no more, and of what was only under way.
  func removeInheritedFiles(_ passed: PassedAtStart) {
    let kept = retainedFiles.numbers
    for file in inheritedFiles.values where !kept.contains(file.number) { store?.remove(file: file.number) }
    inheritedFiles = [:]
    for inode in passed.fileInodes {
      if let file = passed.takeFile(inode: inode) { store?.remove(file: file.number) }
    }
  }

  /// Goes on with what was under way on a connection.
  func restore(_ streams: InFlightIO, of connection: Connection, _ passed: PassedAtStart) {
    do throws(WireError) {
      if let stream = streams.stream {
        var reader = FieldReader(stream.bytes)
        let partial = try reader.byteArray()
        var waiting: [UInt64] = []
        for _ in 0..<(try reader.integer(UInt32.self)) { waiting.append(try reader.integer()) }
        // What goes out comes first: what is wrong with the rest is said behind it, and not within a frame.
        while !reader.isAtEnd { try restorePart(from: &reader, of: connection, passed) }
        noteRestoredFrames(of: connection)
        try restorePartial(partial, of: connection)
        for inode in waiting { try restorePassedDescriptor(inode, of: connection, passed) }
      }
      if let held = streams.held { try restoreHeld(held, of: connection, passed) }
    } catch {
      log.warning("what was under way on connection \(connection.id) cannot be made use of: \(error.message)")
      closeLater(connection, WireError(.restarted, "what was under way is lost"))
    }
  }

  /// Frames of the bus's own that another daemon had queued are not in the log.
  private func noteRestoredFrames(of connection: Connection) {
    let count = UInt32(truncatingIfNeeded: connection.queue.unsentOtherCount)
    guard outlivesDeath, count > 0 else { return }
    connection.traffic.value.controlCount &+= count
    setFlag(.unlogged, of: connection)
  }

  private func restorePart(
    from reader: inout FieldReader, of connection: Connection, _ passed: PassedAtStart
  ) throws(WireError) {
    let kind = try reader.value(WaitingFrames.Kind.self)
    let begunCount = Int(try reader.integer(UInt32.self))
    let count = try reader.integer(UInt64.self)
    let file = try file(from: &reader, passed)?.file
    let bytes = try reader.byteArray()
    let buffer = ByteBuffer(capacity: bytes.count, attachment: file)
    buffer.append(bytes.rawBytes)
    let part = WaitingFrames(
      kind: kind, slice: ByteSlice(buffer, 0..<buffer.count), begunCount: begunCount, count: count)
    let before = connection.queue.byteCount
    try connection.queue.restore(part)
    queuedByteCount += connection.queue.byteCount - before
    scheduleFlush(connection)
  }

  private func restorePassedDescriptor(
    _ inode: UInt64, of connection: Connection, _ passed: PassedAtStart
  ) throws(WireError) {
    let standIn: CInt? =
      switch inode {
      case FilesHandedOver.foreign: PassedDescriptors.foreign
      case FilesHandedOver.lost: PassedDescriptors.lost
      default: nil
      }
    if let standIn {
      connection.descriptors.append(standIn: standIn)
    } else {
      connection.descriptors.append(owning: try duplicateFile(inode: inode, passed).release())
    }
    descriptorQuota.countRestored(of: connection)
  }

  /// A file that others may have as well, under way to them or retained.
  private func duplicateFile(inode: UInt64, _ passed: PassedAtStart) throws(WireError) -> FileDescriptor {
    do throws(Errno) {
      if let known = inheritedFiles[inode] {
        return try FileDescriptor.duplicate(of: known.file.rawDescriptor)
      }
      if let file = try passed.duplicateFile(inode: inode) { return file }
    } catch {
      throw WireError(.missingDescriptor, "a descriptor that waited for its frame cannot be had: \(error)")
    }
    throw WireError(.missingDescriptor, "a descriptor that waited for its frame is not there")
  }

  // MARK: What is held

  /// What is held for a suspended connection.
  func held(for connection: Connection, _ files: inout FilesHandedOver) -> ByteBuffer {
    let fields = ByteBuffer(capacity: 256)
    let attached = bus.appendHeld(of: connection.slot, to: fields)
    let buffer = ByteBuffer(capacity: fields.count + 8 + RecordedFile.length * attached.count)
    buffer.append(UInt32(attached.count))
    for file in attached { append(file, to: buffer, &files) }
    buffer.append(fields.bytes)
    return buffer
  }

  private func restoreHeld(
    _ held: ByteBuffer, of connection: Connection, _ passed: PassedAtStart
  ) throws(WireError) {
    var reader = FieldReader(held.bytes)
    let count = Int(try reader.integer(UInt32.self))
    var attached: [any AttachedFile] = []
    for _ in 0..<count {
      guard let file = try file(from: &reader, passed) else {
        throw WireError(.missingDescriptor, "a file that is held is none")
      }
      attached.append(file.file)
    }
    try bus.restoreHeld(
      held.bytes.extracting(droppingFirst: 4 + RecordedFile.length * count), attachments: attached,
      for: connection.slot)
    // They are held again, and not lost.
    connection.traffic.value.bufferedBefore &-= UInt32(truncatingIfNeeded: bus.heldCount(of: connection.slot))
  }
}
