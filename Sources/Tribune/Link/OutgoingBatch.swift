// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

/// Frames on their way out, back to back.
///
/// It passes between the link's state and whoever writes. The lock inside is never waited for, because
/// only one of them knows the batch at a time; it is what lets the bytes change hands.
final class OutgoingBatch: Sendable {
  /// What became of a batch that was being written.
  enum Progress {
    /// The kernel has all of it.
    case whole
    /// The kernel has no room for the rest now.
    case stuck
    /// The bus is to take some of the files first that were passed to it, which no event tells.
    case fullOfFiles
    case failed(Errno)
  }

  fileprivate struct Content {
    var buffer = ByteBuffer(capacity: initialCapacity)
    let slices = GatherList(capacity: 1)
    var written = 0
    /// Files whose frames have not begun to be written, and where these begin.
    var files: [(start: Int, file: MemoryFile)] = []
  }

  private static let initialCapacity = 4096
  /// Capacity that is kept for the next frames.
  private static let keptCapacity = 262_144

  /// Bytes of files that may be on their way to a bus that does not take them: they count nowhere else.
  private static let passedMax = 64 << 20

  private let content = Mutex(Content())
  /// Of the files that were passed since the bus had last taken everything; all batches of a link share it.
  private let passed: PassedCount

  init(_ passed: PassedCount) { self.passed = passed }

  /// - Parameter file: goes with the frame's first byte.
  /// - Returns: the bytes that were appended, with those of the file.
  func append<F: FrameFields>(
    _ fields: F, flags: FrameFlags, serial: Serial, name: String, object: String, payload: [UInt8],
    file: MemoryFile?
  ) -> Int {
    content.withLock { content in
      let before = content.buffer.count
      if let file { content.files.append((before, file)) }
      content.buffer.appendFrame(
        fields, flags: flags, serial: serial, name: name, object: object, payload: payload.rawBytes)
      return content.buffer.count - before + (file?.length ?? 0)
    }
  }

  func appendHello() -> Int {
    content.withLock { content in
      Hello(capabilities: .descriptors).append(to: content.buffer)
      return Hello.length
    }
  }

  /// Writes what the kernel takes.
  ///
  /// - Returns: the bytes it took, with those of files; a batch that was written whole is empty again.
  func write(to socket: borrowing FileDescriptor) -> (bytes: Int, progress: Progress) {
    content.withLock { content in
      var taken = 0
      do throws(Errno) {
        while content.written < content.buffer.count {
          let (range, file) = content.nextSend
          if let file, try !passed.hasRoom(for: file.length, Self.passedMax, on: socket) {
            return (taken, .fullOfFiles)
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
      } catch  where error == .tooManyPassed {
        return (taken, .fullOfFiles)
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

extension OutgoingBatch.Content {
  /// What can be written at once: up to the next frame with a file, or from it on.
  fileprivate var nextSend: (range: Range<Int>, file: MemoryFile?) {
    guard let next = files.first else { return (written..<buffer.count, nil) }
    guard next.start == written else { return (written..<next.start, nil) }
    return (written..<(files.count > 1 ? files[1].start : buffer.count), next.file)
  }
}
