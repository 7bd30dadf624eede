// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The fast path of plain posts: stamps each run in place, and queues it as one slice.
final class Router {
  private static let manyReceivers = 256

  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let recorder: Recorder
  private let sender: Sender
  private let introducer: Introducer
  private let interpreter: Interpreter
  private let monitor: TrafficMonitor
  private let replier: Replier
  private let timeShares: TimeShares

  init(
    _ bus: Cell<Bus>.Reference, _ sessions: SessionTable, _ recorder: Recorder, _ sender: Sender,
    _ monitor: TrafficMonitor, _ replier: Replier, _ introducer: Introducer, _ interpreter: Interpreter,
    _ timeShares: TimeShares, _ context: ServerContext
  ) {
    (self.bus, self.sessions, self.recorder, self.sender) = (bus, sessions, recorder, sender)
    (self.monitor, self.replier, self.introducer) = (monitor, replier, introducer)
    (self.interpreter, self.timeShares, self.context) = (interpreter, timeShares, context)
  }

  func routePosts(of poster: Session, in buffer: ByteBuffer, at start: Int, first: FrameHeader) -> Int {
    let key = buffer.bytes(in: start + first.nameStart..<start + first.payloadStart)
    let isDeclared = bus.value.isDeclared(key.extracting(droppingFirst: first.nameLength))
    let run = PostRun(
      in: buffer, at: start, first: first, from: poster.id, limits: poster.limits, isAlone: isDeclared)
    let slice = ByteSlice(buffer, run.range)
    do throws(WireError) {
      let (receivers, isNewRoute) = try bus.value.receivers(
        of: key, nameLength: first.nameLength, from: poster.slot)
      if isNewRoute || receivers.count > Self.manyReceivers { timeShares.markMuchWork() }
      try key.extracting(first: first.nameLength).requireUnreservedName()
      if isDeclared { try bus.value.check(post: FrameView(first, slice.bytes)) }
      let deliveries: Int
      if areAllPlain(receivers, slice, run.count, from: poster.slot) {
        let isCopied = OutboundQueue.copies(slice)
        for receiver in receivers {
          guard let observer = sessions.output(at: receiver.slot) else {
            preconditionFailure("slot \(receiver.slot.index) of a receiver has no session")
          }
          if !isCopied
            || !observer.value.queue.extendOpenEntry(by: slice, isNotification: true, count: run.count)
          {
            observer.value.queue.append(
              slice, isNotification: true, count: run.count, copyingInto: sender.queuePool)
          }
          observer.value.takeRoom(run.count)
          recorder.countQueued(run.count, at: receiver.slot, &observer.value)
          if observer.value.flush != .scheduled, let session = sessions[receiver.slot] {
            sender.scheduleFlush(session)
          }
        }
        sender.queuedByteCount += slice.count * receivers.count
        deliveries = receivers.count
      } else {
        deliveries = deliverOneByOne(slice, count: run.count, to: receivers, from: poster)
      }
      context.statistics.value.delivered += UInt64(run.count * deliveries)
      context.statistics.value.posted += UInt64(run.count)
      context.statistics.value.postedBytes += UInt64(slice.count)
      poster.traffic.posted += UInt64(run.count)
      poster.traffic.postedBytes += UInt64(slice.count)
      if monitor.isWatched { monitor.showPosts(slice, receivers: deliveries, from: poster) }
      if first.flags.contains(.acknowledge) { answer(slice, to: poster, refusal: nil) }
    } catch {
      if monitor.isWatched { monitor.showPosts(slice, receivers: 0, from: poster) }
      answer(slice, to: poster, refusal: error)
    }
    interpreter.relieveAndAnnounceIfNeeded()
    return run.range.upperBound
  }

  /// Checks all before the first gets the run: the receivers' memory is rarely in the cache, and this loop
  /// fetches it for all at once.
  private func areAllPlain(
    _ receivers: [Receiver], _ run: ByteSlice, _ count: Int, from poster: ConnectionSlot
  ) -> Bool {
    guard sender.queuedByteCount + run.count * receivers.count <= sender.relievedAbove else { return false }
    let queuedMax = context.configuration.queue.highMarkBytes - run.count
    for receiver in receivers {
      guard case .now = receiver.way, let observer = sessions.output(at: receiver.slot),
        observer.value.accepts(from: poster), observer.value.queue.byteCount <= queuedMax,
        observer.value.room >= count
      else { return false }
    }
    return true
  }

  private func deliverOneByOne(
    _ run: ByteSlice, count: Int, to receivers: [Receiver], from poster: Session
  ) -> Int {
    var deliveries = 0
    var runToBuffer = RunToBuffer(run, count: count)
    for receiver in receivers {
      if case .now = receiver.way {
      } else if !interpreter.receivesNow(receiver, &runToBuffer) {
        continue
      }
      guard introducer.introduce(poster, to: receiver, before: count) else { continue }
      sender.deliver(run, count: count, to: receiver, from: poster)
      deliveries += 1
    }
    return deliveries
  }

  private func answer(_ run: ByteSlice, to poster: Session, refusal: WireError?) {
    if monitor.isWatched { monitor.expectAnswers(to: run, from: poster) }
    defer { monitor.endFrame() }
    var position = run.range.lowerBound
    while position < run.range.upperBound {
      let bytes = run.buffer.bytes
      let serial = bytes.frameSerial(at: position)
      position += bytes.frameLength(at: position)
      if let refusal {
        replier.refuse(poster, serial: serial, refusal)
      } else {
        replier.enqueue(Okay(), for: poster, serial: serial)
      }
    }
  }
}
