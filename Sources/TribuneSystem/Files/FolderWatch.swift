// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Notices what changes in folders, by inotify(7). One thread reads what the kernel says.
package final class FolderWatch: Sendable {
  /// Something came into a watched folder, left it, was written or got other permissions; or the folder
  /// itself did.
  package struct Change: Equatable, Sendable {
    /// What `watch` returned.
    package var watch: CInt
    /// In that folder; empty for the folder itself.
    package var name: [UInt8]
  }

  package enum News: Equatable, Sendable {
    case changes([Change])
    /// Changes that nobody knows: everything has to be looked at.
    case overflow
  }

  /// What has changed, in order. What is not read in time is told as an overflow.
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

  /// - Throws: why there is no watch to be had, or no thread.
  package init() throws(Errno) {
    let source = try Source()
    self.source = source
    let (news, tell) = AsyncStream<News>.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.news = news
    try Thread.start { Self.read(source, tell) }
  }

  deinit { source.ended.signal() }

  /// Watches a folder, through symbolic links; for one that is watched already nothing changes.
  ///
  /// - Returns: what its changes are known by, the same for the same folder whatever its path is.
  package func watch(_ path: [UInt8]) throws(Errno) -> CInt {
    let interest =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    let descriptor = source.descriptor.rawValue
    return try retrying {
      unsafe inotify_add_watch(
        descriptor, Folder.cString(path), UInt32(interest) | UInt32(IN_ONLYDIR) | UInt32(IN_EXCL_UNLINK))
    }
  }

  /// Watches a folder no more.
  package func unwatch(_ watch: CInt) {
    // A folder that is gone is not watched any more anyway.
    _ = inotify_rm_watch(source.descriptor.rawValue, watch)
  }

  private static func read(_ source: Source, _ tell: AsyncStream<News>.Continuation) {
    // Room for a name as long as there is one, many times.
    var bytes = [UInt8](repeating: 0, count: 16_384)
    while true {
      do throws(Errno) {
        let ready = try Poll.wait(for: source.descriptor, forWriting: false, wakeup: source.ended)
        if ready.isWoken { return tell.finish() }
        let count = unsafe Glibc.read(source.descriptor.rawValue, &bytes, bytes.count)
        guard count > 0 else { continue }
        // The oldest makes room for the newest, and then for the word that something is missing.
        if case .dropped = tell.yield(news(in: bytes[..<count])) { tell.yield(.overflow) }
      } catch {
        // Only a lack of memory can be why, which passes.
        tell.yield(.overflow)
      }
    }
  }

  /// The kernel's records: watch, mask, cookie and the length of a name, 4 bytes each; then the name, with
  /// zeroes behind it.
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
