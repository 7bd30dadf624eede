// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// A batch of outgoing frames, back to back in one buffer.
///
/// The lock is never contended, because the link's state and the writer take turns with the batch.
final class OutgoingBatch: Sendable {
  enum Progress {
    case whole
    case stuck
    /// The kernel lacks memory, or the bus must first take some of the passed files. The kernel does not report
    /// when either has changed.
    case outOfResources
    case failed(Errno)
  }

  fileprivate struct Content {
    var buffer = ByteBuffer(capacity: initialCapacity)
    let slices = GatherList(capacity: 1)
    var written = 0
    /// The files of unwritten frames, with the offset of each frame.
    var files: [(start: Int, file: MemoryFile)] = []
  }

  private static let initialCapacity = 4096
  private static let keptCapacity = 262_144

  /// The limit of bytes in passed files that the bus has not taken yet. No other limit counts these bytes.
  private static let passedMax = 64 << 20

  private let content = Mutex(Content())
  private let passed: PassedCount

  init(_ passed: PassedCount) { self.passed = passed }

  /// Appends a frame. A file goes with the frame's first byte. Returns the number of bytes, with the file's.
  func append(_ fields: some FrameFields, _ message: Link.Message, flags: FrameFlags, serial: Serial) -> Int {
    content.withLock { content in
      let before = content.buffer.count
      if let file = message.file { content.files.append((before, file)) }
      content.buffer.appendFrame(
        fields, flags: message.file == nil ? flags : flags.union(.descriptor), serial: serial,
        name: message.name, object: message.object, payload: message.payload.rawBytes)
      return content.buffer.count - before + (message.file?.length ?? 0)
    }
  }

  func append(_ frames: [UInt8]) {
    content.withLock { $0.buffer.append(frames.rawBytes) }
  }

  func appendHello(of link: Link) {
    content.withLock { content in
      Hello(capabilities: link.capabilities).append(to: content.buffer)
      if link.pace != .setting {
        content.buffer.appendFrame(TribuneWire.Pace(limit: link.pace.limit), serial: 0)
      }
    }
  }

  /// Writes as much as the kernel takes. Returns the number of written bytes, including those of files. After
  /// the whole batch is written, the batch is empty and can take new frames.
  func write(to socket: borrowing FileDescriptor) -> (bytes: Int, progress: Progress) {
    content.withLock { content in
      var taken = 0
      do throws(Errno) {
        while content.written < content.buffer.count {
          let (range, file) = content.nextSend
          if let file, try !passed.hasCapacity(for: file.length, Self.passedMax, on: socket) {
            return (taken, .outOfResources)
          }
          content.slices.append(range, of: content.buffer, with: file)
          let count = try content.slices.send(to: socket)
          if count == 0 { return (taken, .stuck) }
          content.written += count
          taken += count
          if let file {
            content.files.removeFirst()
            passed.add(file.length)
            taken += file.length
          }
        }
      } catch  where error == .tooManyPassed || error.isOutOfResources {
        return (taken, .outOfResources)
      } catch {
        return (taken, .failed(error))
      }
      content.written = 0
      if content.buffer.capacity > Self.keptCapacity {
        content.buffer = ByteBuffer(capacity: Self.initialCapacity)
      } else {
        content.buffer.truncate(to: 0)
      }
      return (taken, .whole)
    }
  }
}

extension OutgoingBatch {
  enum Fate {
    case dropped, kept
    /// The frame is kept with a new deadline, in milliseconds.
    case shortened(UInt32)
  }

  /// Moves the unwritten frames to the end of another batch, unless `fate` drops them. Does not move a partly
  /// written frame. Returns the number of moved bytes, including those of files.
  func moveUnsent(to other: OutgoingBatch, _ fate: (FrameView) -> Fate) -> Int {
    content.withLock { content in
      var start = 0
      var moved = 0
      while let header = FrameHeader.peek(content.buffer.bytes, at: start, limits: .any) {
        defer { start += header.frameLength }
        guard start >= content.written else { continue }
        let bytes = content.buffer.bytes(in: start..<start + header.frameLength)
        let fate = fate(FrameView(header, bytes))
        if case .dropped = fate { continue }
        let file = content.files.first { $0.start == start }?.file
        moved += header.frameLength + (file?.length ?? 0)
        other.content.withLock { other in
          let newStart = other.buffer.count
          if let file { other.files.append((newStart, file)) }
          other.buffer.append(bytes)
          if case .shortened(let deadline) = fate { other.buffer.setDeadline(deadline, frameAt: newStart) }
        }
      }
      return moved
    }
  }
}

extension FrameLimits {
  fileprivate static let any = FrameLimits(fields: .max, payload: .max)
}

extension OutgoingBatch.Content {
  /// The part that one system call can send: at most one file, and the frames up to the next file.
  fileprivate var nextSend: (range: Range<Int>, file: MemoryFile?) {
    guard let next = files.first else { return (written..<buffer.count, nil) }
    guard next.start == written else { return (written..<next.start, nil) }
    return (written..<(files.count > 1 ? files[1].start : buffer.count), next.file)
  }
}

/// The bytes in passed files that the bus has possibly not taken. Only the writing thread uses this count.
final class PassedCount: Sendable {
  private let count = Atomic(0)

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }

  func reset() { count.store(0, ordering: .relaxed) }

  func hasCapacity(for bytes: Int, _ limit: Int, on socket: borrowing FileDescriptor) throws(Errno) -> Bool {
    let passed = count.load(ordering: .relaxed)
    guard passed > 0, passed + bytes > limit else { return true }
    guard try UnixSocket.isDrained(socket) else { return false }
    count.store(0, ordering: .relaxed)
    return true
  }
}
