// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reports changes in folders by inotify(7).
package final class FolderWatch: Sendable {
  /// A change in a watched folder, or of the folder itself.
  package struct Change: Equatable, Sendable {
    package var watch: CInt
    /// The name in the folder. It is empty for a change of the folder itself.
    package var name: [UInt8]
  }

  package enum News: Equatable, Sendable {
    case changes([Change])
    /// Some changes were lost.
    case overflow
  }

  /// The changes, in order. If the reader is too slow, it gets an overflow instead of some changes.
  package let news: AsyncStream<News>

  private final class Source: Sendable {
    let descriptor: FileDescriptor
    let ended: Wakeup

    init() throws(Errno) {
      descriptor = FileDescriptor(
        owning: try retrying { inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK)) })
      ended = try Wakeup()
    }
  }

  private let source: Source

  package init() throws(Errno) {
    let source = try Source()
    self.source = source
    let (news, continuation) = AsyncStream<News>.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.news = news
    try Thread.start { Self.read(source, continuation) }
  }

  deinit { source.ended.signal() }

  /// Watches a folder, and follows symbolic links. Returns a number, the same for all paths of one folder.
  package func watch(_ path: [UInt8]) throws(Errno) -> CInt {
    let interest =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    let descriptor = source.descriptor.rawValue
    return try retrying {
      unsafe inotify_add_watch(
        descriptor, Folder.cString(path), UInt32(interest) | UInt32(IN_ONLYDIR) | UInt32(IN_EXCL_UNLINK))
    }
  }

  package func unwatch(_ watch: CInt) {
    // This fails if the folder has been removed.
    _ = inotify_rm_watch(source.descriptor.rawValue, watch)
  }

  private static func read(_ source: Source, _ continuation: AsyncStream<News>.Continuation) {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    while true {
      do throws(Errno) {
        let ready = try Poll.wait(for: source.descriptor, forWriting: false, wakeup: source.ended)
        if ready.isWoken { return continuation.finish() }
        let count = unsafe Glibc.read(source.descriptor.rawValue, &bytes, bytes.count)
        guard count > 0 else { continue }
        // If the stream is full, this yield drops the oldest element, and the yield of `.overflow` another.
        if case .dropped = continuation.yield(news(in: bytes[..<count])) { continuation.yield(.overflow) }
      } catch {
        // Only a temporary lack of memory makes this wait fail.
        continuation.yield(.overflow)
      }
    }
  }

  /// Parses the kernel's records. A record has the watch, the mask, a cookie and the length of the name, 4
  /// bytes each. The padded name follows.
  static func news(in bytes: ArraySlice<UInt8>) -> News {
    var changes: [Change] = []
    var rest = bytes
    while rest.count >= 16 {
      let numbers = (0..<4).map { field in
        unsafe rest.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: 4 * field, as: UInt32.self) }
      }
      if numbers[1] & UInt32(IN_Q_OVERFLOW) != 0 { return .overflow }
      let name = rest.dropFirst(16).prefix(Int(numbers[3])).prefix { $0 != 0 }
      changes.append(Change(watch: CInt(bitPattern: numbers[0]), name: Array(name)))
      rest = rest.dropFirst(16 + Int(numbers[3]))
    }
    return .changes(changes)
  }
}
