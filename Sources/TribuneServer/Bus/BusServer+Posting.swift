// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// How plain posts go past the core: each run of them is stamped where it lies, and handed on as one slice.
extension BusServer {
  /// Takes the plain posts of one name and object that begin at `start`. A post about an object that has a protocol is
  /// a run of its own.
  ///
  /// - Returns: where the next frame begins.
  func takePosts(
    of connection: Connection, in buffer: ByteBuffer, at start: Int, first: FrameHeader
  ) -> Int {
    let key = buffer.bytes(in: start + first.nameStart..<start + first.payloadStart)
    let isDeclared = bus.isDeclared(key.extracting(droppingFirst: first.nameLength))
    let run = PostRun(
      in: buffer, at: start, first: first, from: connection.id, limits: connection.limits, isAlone: isDeclared
    )
    let slice = ByteSlice(buffer, run.range)
    let wantsAnswers = first.flags.contains(.acknowledge)
    do throws(WireError) {
      let receivers = try bus.receivers(of: key, nameLength: first.nameLength)
      guard !NameSyntax.isReserved(key.extracting(first: first.nameLength)) else {
        throw WireError(.reservedName, "only the bus posts under \(NameSyntax.reservedPrefix)")
      }
      if isDeclared { try bus.check(post: FrameView(first, slice.bytes)) }
      let deliveries = deliver(slice, count: run.count, to: receivers, from: connection)
      if bus.isMonitored { monitorPosts(slice, receivers: deliveries, from: connection) }
      if wantsAnswers { answer(slice, to: connection, refusal: nil) }
    } catch {
      if bus.isMonitored { monitorPosts(slice, receivers: 0, from: connection) }
      answer(slice, to: connection, refusal: error)
    }
    return run.range.upperBound
  }

  /// Queues a run for all who receive it now.
  ///
  /// - Returns: how many they are.
  private func deliver(_ run: ByteSlice, count: Int, to receivers: [Receiver], from poster: Connection) -> Int
  {
    let deliveries: Int
    if areAllPlain(receivers, run) {
      for receiver in receivers { enqueue(run, count: count, for: receiver.slot) }
      deliveries = receivers.count
    } else {
      deliveries = deliverOneByOne(run, count: count, to: receivers, from: poster)
    }
    statistics.delivered += UInt64(count * deliveries)
    poster.postedCount += UInt64(count)
    statistics.posted += UInt64(count)
    return deliveries
  }

  /// Whether nobody who receives a run needs a thought.
  ///
  /// All are looked at before the first gets it. That fetches the memory of all, which is seldom at hand where they are
  /// many, at once rather than one after the other.
  private func areAllPlain(_ receivers: [Receiver], _ run: ByteSlice) -> Bool {
    let roomMax = configuration.highMarkBytes - run.count
    for receiver in receivers {
      guard case .now = receiver.way, let observer = sessions.hotState(at: receiver.slot),
        observer.value.isServed, !observer.value.isWriteClosed, observer.value.queue.byteCount <= roomMax
      else { return false }
    }
    return true
  }

  @inline(__always) private func enqueue(_ run: ByteSlice, count: Int, for slot: ConnectionSlot) {
    guard let observer = sessions.hotState(at: slot) else {
      preconditionFailure("an observer has no connection")
    }
    // What relieves the queues can end connections.
    guard observer.value.isServed, !observer.value.isWriteClosed else { return }
    observer.value.queue.append(run, isNotification: true, count: count, copyingInto: queuePool)
    noteQueued(count, at: slot, &observer.value)
    queuedByteCount += run.count
    if !observer.value.needsFlush { scheduleFlush(connection(at: slot)) }
    if queuedByteCount > relievedAbove { relieveQueues() }
  }

  private func deliverOneByOne(
    _ run: ByteSlice, count: Int, to receivers: [Receiver], from poster: Connection
  ) -> Int {
    var deliveries = 0
    for receiver in receivers {
      if case .now = receiver.way {} else if !receivesNow(receiver, run, count: UInt64(count)) { continue }
      deliver(run, count: count, to: receiver.slot, from: poster)
      deliveries += 1
    }
    return deliveries
  }

  /// Has the core hold a run for a suspended connection, or drop it.
  ///
  /// - Returns: whether the connection receives it now, all the same.
  func receivesNow(_ receiver: Receiver, _ run: ByteSlice, count: UInt64) -> Bool {
    let receivesNow = bus.isFor(receiver, run, count: count)
    carryOutEffects()
    noteBufferedOfAll()
    return receivesNow
  }

  /// Answers each post of a run: that it was taken, or why not.
  private func answer(_ run: ByteSlice, to connection: Connection, refusal: WireError?) {
    if bus.isMonitored { monitorAnswers(to: run, from: connection) }
    defer { iteration.taken = nil }
    var position = run.range.lowerBound
    while position < run.range.upperBound {
      let bytes = run.buffer.bytes
      let serial = bytes.integer(at: position + FrameHeader.serialOffset, as: UInt64.self)
      position += Int(bytes.integer(at: position, as: UInt32.self))
      if let refusal {
        refuse(connection, serial: serial, refusal)
      } else {
        say(Okay(), to: connection, serial: serial)
      }
    }
  }
}
