// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// How the bus gives its place to a daemon that asks for it over a connection, where no service manager keeps its
/// descriptors (see `HandOverMessage`).
///
/// Until it has said `yours`, it can go on, and does if the other one does not do its part in time.
extension BusServer {
  /// How long the other daemon has. Nobody else is served meanwhile.
  private static let replacingLimit = Duration.seconds(5)

  /// Takes the frame `replace`.
  func takeReplace(_ frame: FrameView, of connection: Connection) throws(WireError) {
    let version = try frame.decode(Replace.self).version
    if let refusal = refusal(ofReplacement: version, by: connection) {
      refuse(connection, serial: frame.header.serial, refusal)
    } else {
      say(Okay(), to: connection, serial: frame.header.serial)
      succession = .asked(connection)
    }
  }

  private func refusal(ofReplacement version: UInt32, by connection: Connection) -> WireError? {
    guard connection.peer.uid == 0 || connection.peer.uid == geteuid() else {
      return WireError(
        .notPermitted, "only user \(geteuid()), who runs the bus, and root can have it replaced")
    }
    guard store == nil else {
      return WireError(
        .notPermitted, "a service manager keeps what the bus has: \"systemctl restart tribuned\" replaces it")
    }
    guard version >= WriteAheadLog.version else {
      return WireError(
        .invalidValue,
        "the bus's state has version \(WriteAheadLog.version), and \(version) is the last known")
    }
    guard case .none = succession else {
      return WireError(.limitExceeded, "another daemon is just taking the place of this one")
    }
    return nil
  }

  /// Hands everything over to the daemon that has asked for it, or goes on. To be called when an iteration ends.
  func handOver(to asker: Connection) {
    succession = .none
    commit()
    flush(asker)
    guard stopBy == nil, asker.isServed, !asker.isWriteClosed else { return }
    let who = asker.peer.summary
    let channel: HandOverChannel
    do throws(Errno) {
      guard asker.queue.isEmpty else { throw .again }
      channel = HandOverChannel(try asker.descriptor.duplicate(), within: Self.replacingLimit)
    } catch {
      closeLater(asker, WireError(.outOfMemory, "nothing can be handed over: \(error)"))
      return
    }
    succession = .handingOver
    close(asker, isEnded: false)
    let count = sessions.count
    log.info("\(who) takes the place of this bus")
    do throws(HandOverChannel.Failure) {
      try handOver(to: channel)
      succession = .handedOver
      log.info("handed over \(count.counted("connection")) to \(who)")
    } catch {
      channel.refuse("\(error)")
      takeBack()
      succession = .none
      log.warning("the bus goes on, for \(who) could not take its place: \(error)")
    }
  }

  private func handOver(to channel: HandOverChannel) throws(HandOverChannel.Failure) {
    // What is under way lies in files that nobody else may hold.
    var copies = PassedDescriptors()
    defer { copies.removeAll() }
    do throws(Errno) {
      try handOver(passing: { Self.append(copyOf: $0, to: &copies) })
    } catch {
      throw .failed(error)
    }
    // How long that takes depends on how much waits, and on nobody else.
    channel.extend(by: Self.replacingLimit)
    var files = FilesHandedOver()
    for file in copies.rawValues { _ = files.insert(file) }
    for file in bus.allRetained().compactMap(\.attachment) { _ = files.insert(file.rawDescriptor) }

    var batch = Batch()
    try batch.append(.state, wal.rawDescriptor, sendingTo: channel)
    for listener in acceptor.listeners {
      try batch.append(
        .listener(path: listener.path, file: listener.ownFile), listener.descriptor.rawValue,
        sendingTo: channel)
    }
    for file in files.descriptors.values { try batch.append(.file, file, sendingTo: channel) }
    for connection in sessions.all
    where connection.isServed && connection.position != nil && !connection.isDetached {
      try batch.append(.connection, connection.descriptor.rawValue, sendingTo: channel)
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
