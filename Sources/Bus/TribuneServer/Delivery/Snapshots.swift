// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Sends retained notifications to observers that ask for them, as fast as each observer reads.
///
/// A snapshot shares its notifications with the core. It takes memory of its own only for notifications that
/// the core replaces before the bus sends them.
final class Snapshots {
  /// In bytes: how much of its snapshots one connection gets in an iteration.
  private static let chunkLength = 65_536

  private let sessions: SessionTable
  private let recorder: Recorder
  private let sender: Sender
  private let monitor: TrafficMonitor
  private let introducer: Introducer
  private let context: ServerContext

  init(_ sender: Sender, _ monitor: TrafficMonitor, _ introducer: Introducer, _ context: ServerContext) {
    (sessions, recorder) = (context.sessions, sender.recorder)
    (self.sender, self.monitor, self.introducer, self.context) = (sender, monitor, introducer, context)
  }

  @inline(__always) var hasWork: Bool { !sender.snapshotsDue.value.isEmpty }

  func begin(_ notifications: [RetainedNotification], _ serial: Serial, for session: Session) {
    guard session.output.accepts else { return }
    sender.changeOutput(of: session) { $0.backlog.append(Backlog.Snapshot(notifications, serial: serial)) }
    recorder.countQueued(notifications.count, for: session)
    session.output.updateRoom()
    sender.scheduleFlush(session)
  }

  func goOn() {
    var due: [Session] = []
    swap(&due, &sender.snapshotsDue.value)
    for session in due {
      session.output.isSnapshotDue = false
      guard session.isServed else { continue }
      sendChunk(to: session)
      sender.scheduleFlush(session)
    }
  }

  /// Turns all snapshots into frames. Must be called before a hand-over, which writes frames only.
  func encodeAll() {
    for session in sessions.all where session.isServed && !session.output.backlog.isEmpty {
      session.output.backlog.encodeSnapshots { next, previous, serial, queue in
        // All introductions in a backlog have the slot number `waitingSlot`, so the client knows only the
        // last introduced poster. Frames behind a snapshot can introduce others. The first notification of
        // the next snapshot therefore needs an introduction, even if its poster was introduced before.
        if session.output.wantsPosters, next.sender != .bus, next.sender != previous?.sender {
          let facts = PosterFacts(connection: next.sender, slot: PosterFacts.waitingSlot, peer: next.peer)
          queue.append(sender.encode(facts), isNotification: false)
        }
        if let frame = sender.readable(encode(next, serial), by: session) {
          queue.append(frame, isNotification: true)
        } else {
          queue.appendLost(1)
        }
      }
    }
  }

  private func sendChunk(to session: Session) {
    let end = session.output.queue.byteCount + Self.chunkLength
    while let serial = session.output.backlog.first?.snapshot?.serial {
      guard session.output.grantedRoom > 0, session.output.queue.byteCount < end else { return }
      guard let next = session.output.backlog.removeNextRetained() else { break }
      sender.queuedByteCount -= next.tail.slice.weight
      send(next, serial, to: session)
      session.output.backlog.endFirstSnapshotIfEmpty()
    }
    sender.refill(session)
  }

  private func send(_ retained: RetainedNotification, _ serial: Serial, to session: Session) {
    // If there is no space for the introduction, the notification is lost. The introducer would report this
    // loss, and count the notification. But `begin` has already counted the notification. Therefore,
    // `before` is 0, and `enqueueFirstLost` reports the loss.
    guard
      introducer.introduce(
        retained.sender, retained.peer, toObserverAt: session.slot, before: 0, overtakesBacklog: true)
    else { return sender.enqueueFirstLost(for: session) }
    let slice = encode(retained, serial)
    sender.enqueueFirst(slice, for: session)
    if monitor.isWatched { monitor.showRetained(slice, retained.tail, from: retained.sender, to: session) }
  }

  private func encode(_ retained: RetainedNotification, _ serial: Serial) -> ByteSlice {
    let tail = retained.tail
    let file = tail.slice.buffer.attachment
    let fields = Retained(
      age: context.now.nanoseconds(since: retained.posted) / 1000, length: UInt32(file?.length ?? 0))
    let buffer =
      file.map { ByteBuffer(capacity: FileFrames.frameLength, attachment: $0) }
      ?? sender.bufferToEncode(for: Sender.encodeSpace + tail.slice.count)
    let start = buffer.count
    buffer.appendHead(
      of: fields, flags: file == nil ? [] : .descriptor, sender: retained.sender, serial: serial,
      nameLength: tail.nameLength, objectLength: tail.objectLength, payloadLength: tail.payloadLength)
    buffer.append(tail.slice.bytes)
    return ByteSlice(buffer, start..<buffer.count)
  }
}
