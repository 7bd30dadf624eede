// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The fast path of plain posts, which have neither fields nor a file. Consecutive posts with the same name
/// and object are a run. `PostRun` writes the sender's id into each of them. The router appends the run as
/// one slice to the queue of each receiver that gets it now.
final class Router {
  private static let manyReceivers = 256

  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sender: Sender
  private let introducer: Introducer
  private let interpreter: Interpreter
  private let monitor: TrafficMonitor
  private let replier: Replier
  private let timeShares: TimeShares

  init(
    _ introducer: Introducer, _ interpreter: Interpreter, _ timeShares: TimeShares, _ context: ServerContext
  ) {
    (bus, sender) = (context.bus, interpreter.sender)
    (monitor, replier) = (interpreter.monitor, interpreter.replier)
    (self.introducer, self.interpreter) = (introducer, interpreter)
    (self.timeShares, self.context) = (timeShares, context)
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
      let deliveries =
        !poster.output.isPatient
          && sender.deliverPlain(slice, count: run.count, to: receivers, from: poster.slot)
        ? receivers.count : deliverOneByOne(slice, count: run.count, to: receivers, from: poster)
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
