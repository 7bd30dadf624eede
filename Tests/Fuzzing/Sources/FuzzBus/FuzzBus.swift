// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneCore
import TribunePolicy
import TribuneWire

@main
struct FuzzBus {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Feeds the input to a bus as frames of four connections. The sender's lowest bits select the connection, the
/// header's last bytes the time before the frame. The bus must end empty.
@c(LLVMFuzzerTestOneInput)
public func fuzzBus(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let stream = ByteBuffer(capacity: count)
  unsafe stream.append(RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: count))
  var world = World()
  var position = 0
  do throws(WireError) {
    while let header = try FrameHeader(
      stream.bytes, at: position, limits: FrameLimits(fields: WireLimits.fieldsLength, payload: 65_536)),
      header.frameLength <= stream.count - position
    {
      world.step(header, ByteSlice(stream, position..<position + header.frameLength))
      position += header.frameLength
    }
  } catch {
    precondition(error.code.closesConnection)
  }
  world.end()
  return 0
}

private struct World: ~Copyable {
  private static let connectionCount = 4

  private var bus = Bus(
    limits: .small, seed: 1, accounts: Accounts(),
    payloadCheck: PayloadCheck(
      userInfo: { (_, _) throws(WireError) in }, value: { (_, _) throws(WireError) in }),
    access: .policy(World.policy, exempt: []))
  /// Allows most, to reach most of the bus, and some to only some of the four users.
  private static let policy: Policy = {
    let text =
      "allow * ** user:*\nallow * ** group:3\ndeny observe,delegate *.a user:1\ndeny post,set a.** user:2\n"
    var parser = PolicyParser(NameLookup(user: { _ in nil }, group: { _ in nil }))
    parser.read(Array(text.utf8), file: "")
    precondition(parser.diagnostics.isEmpty)
    return Policy(parser.lines)
  }()

  private var now = Instant(nanoseconds: 0)
  private var lastConnection: UInt64 = 0
  private var ids: [UInt64] = Array(repeating: 0, count: World.connectionCount)
  private var asked: UInt64 = 0
  private var ended: UInt64 = 0
  private var lastQuestion = (query: UInt64(0), delegate: UInt64(0))
  private var lastAwaited = (poster: UInt64(0), serial: UInt64(0))

  init() {
    for index in 0..<Self.connectionCount { connect(ConnectionSlot(index: index)) }
  }

  private mutating func connect(_ slot: ConnectionSlot) {
    lastConnection += 1
    ids[slot.index] = lastConnection
    let peer = PeerIdentity(pid: 1, uid: 2, gid: 3, process: "fuzz", units: PeerUnits())
    bus.connect(
      slot, id: ConnectionID(rawValue: lastConnection), peer: peer,
      subject: Subject(user: UInt32(slot.index), groups: [3]))
  }

  private mutating func reconnect(_ slot: ConnectionSlot) {
    ended += UInt64(bus.counts(at: slot).queries)
    bus.disconnect(slot, at: now)
    perform()
    connect(slot)
  }

  mutating func step(_ header: FrameHeader, _ slice: ByteSlice) {
    let step = slice.bytes.integer(at: 28, as: UInt32.self)
    advance(to: now.advanced(byMilliseconds: step % 10_000))
    let slot = ConnectionSlot(index: Int(header.sender.rawValue % UInt64(Self.connectionCount)))
    switch header.kind {
    case nil:
      reconnect(slot)
    case .post where header.fieldsLength == 0:
      do throws(WireError) {
        let key = slice.bytes.extracting(header.nameStart..<header.payloadStart)
        let receivers = try bus.receivers(of: key, nameLength: header.nameLength, from: slot).receivers
        precondition(Set(receivers.map(\.slot)).count == receivers.count)
        try bus.check(post: FrameView(header, slice.bytes))
        var run = RunToBuffer(slice, count: 1)
        for receiver in receivers where receiver.way != .now { _ = bus.admit(receiver, &run) }
      } catch {
        precondition([.invalidName, .invalidObject, .unknownName, .notPermitted].contains(error.code))
      }
    case .answer, .defer:
      // Mostly replaces unknown query ids by real ones.
      if header.fieldsLength >= 16, slice.bytes.integer(at: 32, as: UInt8.self) < 0xF0 {
        slice.buffer.store(lastQuestion.query, at: slice.range.lowerBound + 32)
        slice.buffer.store(lastQuestion.delegate, at: slice.range.lowerBound + 40)
      }
      receive(header, slice, from: slot)
    case .done:
      if header.fieldsLength >= 16, slice.bytes.integer(at: 32, as: UInt8.self) < 0xF0 {
        slice.buffer.store(lastAwaited.poster, at: slice.range.lowerBound + 32)
        slice.buffer.store(lastAwaited.serial, at: slice.range.lowerBound + 40)
      }
      receive(header, slice, from: slot)
    default:
      receive(header, slice, from: slot)
    }
    perform()
    if step & 0x10000 != 0 { while bus.deliverSoon() { perform() } }
    if step & 0x20000 != 0 { while bus.deliverIdle() { perform() } }
    precondition(bus.nextDeadline.map { $0 > now } ?? true)
    for index in 0..<Self.connectionCount {
      let held = bus.bufferedByteCount(at: ConnectionSlot(index: index))
      precondition((held ?? 0) <= BusLimits.small.bufferMax)
    }
  }

  private mutating func advance(to moment: Instant) {
    now = moment
    bus.advance(to: now)
    repeat { perform() } while bus.deliverDue(at: now)
    precondition(bus.nextDeadline.map { $0 > now } ?? true)
  }

  private mutating func receive(_ header: FrameHeader, _ slice: ByteSlice, from slot: ConnectionSlot) {
    do throws(WireError) {
      let receipt = try bus.receive(FrameView(header, slice.bytes), in: slice, from: slot, at: now)
      // A begun action has the id of a query that is never asked.
      if header.kind == .begin, case .accepted(let acceptance) = receipt, acceptance.query != nil {
        ended += 1
      }
    } catch {
      precondition(error.code.closesConnection)
      reconnect(slot)
    }
    if header.kind == .post {
      lastAwaited = (ids[slot.index], header.serial)
    }
  }

  private mutating func perform() {
    var effects = Batch<Effect>()
    bus.takeEffects(&effects)
    effects.drain { effect in
      switch effect {
      case .question(_, _, _, let question, let tail):
        lastQuestion = (question.query.rawValue, question.delegate.rawValue)
        asked = max(asked, question.query.rawValue)
        precondition(tail.payloadLength >= 0)
      case .verdict: ended += 1
      case .refusal(_, _, let error) where error.code == .cancelled: ended += 1
      case .notification(let slice, let receivers, _):
        precondition(Set(receivers.map(\.slot)).count == receivers.count)
        precondition(slice.count > 0 && receivers.allSatisfy { $0.slot.index < Self.connectionCount })
      case .buffered(_, let flushed):
        precondition(UInt64(flushed.slices.count) <= flushed.count && flushed.count + flushed.lost > 0)
      case .snapshot(_, _, let notifications):
        precondition(!notifications.isEmpty && notifications.allSatisfy { $0.tail.payloadLength > 0 })
      case .awaited(_, _, let awaited, _): precondition(awaited.missing.count <= Self.connectionCount)
      case .late(_, _, let late): precondition(late.actions <= UInt32(bus.actionCount))
      case .okay, .refusal, .progress, .concluded, .ended, .announcement, .kept, .forgotten, .waiting,
        .noLongerWaiting, .noLongerPermitted, .observesLess, .expired:
        break
      }
    }
    precondition(ended + UInt64(bus.queryCount) >= asked)
  }

  mutating func end() {
    while let next = bus.nextDeadline { advance(to: max(now, next)) }
    precondition(bus.queryCount == 0)
    for index in 0..<Self.connectionCount { bus.disconnect(ConnectionSlot(index: index), at: now) }
    precondition(bus.delegateCount == 0 && bus.holdCount == 0 && bus.actionCount == 0)
    precondition(bus.observationCount == 0 && !bus.isMonitored)
    precondition(bus.declarationCount == 0 && bus.protocolCount == 0)
  }
}

extension BusLimits {
  /// Limits that small inputs reach.
  fileprivate static var small: BusLimits {
    var limits = BusLimits()
    limits.bufferMax = 2_000
    limits.totals[.queues] = 6_000
    limits.totals[.retained] = 6_400
    limits.totals[.log] = 20_000
    limits.totals[.registrations] = 40
    limits.totals[.protocols] = 8
    return limits
  }
}
