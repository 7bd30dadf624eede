// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import TribuneSystem
import TribuneTestSupport
import TribuneWire

final class Link {
  /// How the connection fares when the next daemon takes over.
  enum Fate {
    case survives
    /// A frame, a read or a write was under way: the client may have to connect again.
    case mayEnd
    case ends
  }

  let number: Int
  let seat: Int
  let pid: Int32
  let uid: UInt32
  let acceptsFiles: Bool
  /// Without a limit, it is sent everything at once.
  let isLimited: Bool
  /// The highest that it has sent, and whether the bus has asked for it since.
  private(set) var limit: UInt64 = 0
  var mustSendLimit = false
  var wantsPosters: Bool { number % 3 == 0 }
  private(set) var socket: Socket?
  /// The kernel's cookie of the bus's end; 0 until the bus has accepted it.
  var cookie: UInt64 = 0
  var epoch: UInt64 = 0
  var acceptedTime: UInt64 = 0
  /// 0 until the client has read it.
  var id: UInt64 = 0

  private var outbound: [UInt8] = []
  private(set) var composedCount = 0
  private var files: [(offset: Int, file: MemoryFile)] = []
  private(set) var operations: [Operation] = []
  var untaken: [Operation] = []
  var lastSerial: Serial = 0
  private(set) var hasSentFile = false
  /// Bytes of unknown fields in the next frames, after the known ones.
  var growth = 0
  /// Bytes that the bus has read, and since when it waits for the rest of a partial frame.
  var takenByteCount = 0
  var partialSince: UInt64 = 0
  var endTakenAt = -1
  var isPartial: Bool { takenByteCount != (operations.last { $0.isTaken }?.end ?? 0) }

  /// A part of an invalid frame can be enough to close the connection.
  var isBeginningGarbage: Bool {
    if case .garbage? = untaken.first?.what { isPartial } else { false }
  }

  /// The bus may close it, because its hello or the rest of a frame is late.
  func isLate(at now: UInt64) -> Bool {
    !isOnBus && acceptedTime + 10_000_000_000 <= now || isPartial && partialSince + 60_000_000_000 <= now
  }

  let inbound = ByteBuffer(capacity: 1 << 16)
  var inboundFiles = PassedDescriptors()
  var isGreeted = false
  /// By slot.
  var posters: [UInt32: ConnectionID] = [:]
  var boundary = FrameBoundary()
  /// Approximate bytes of notifications that the bus has queued for it.
  var pendingCount = 0
  /// The kernel took less than the bus had for it; and `Life.taken` when that was last so.
  var isBlocked = false
  var blockedAt = 0
  var reads = true

  var fate = Fate.survives
  var isForgotten = false
  var hasLeft = false
  var hasEnded = false
  /// A new daemon has shut it. Its registrations stay until then at least, and until `detachedAtMost` at most: a
  /// daemon that died during its take-over may not have logged the time.
  var detachedUntil: UInt64?
  var detachedAtMost: UInt64 = .max
  var isSucceeded = false
  var isDismissed = false
  /// The same lower bound before a take-over is complete: a daemon that died may have logged it.
  var detachesBy: UInt64?
  var isShutDown = false
  var isOnBus = false
  /// A death, a blocked socket, a full queue or a full buffer since the last rest allows lost notifications.
  var mayLose = false
  /// One of its descriptors was lost: the bus may refuse any of its files from now on.
  var losesFiles = false
  var isLongListed: Bool {
    operations.contains { operation in
      if case .list = operation.what { operation.isTaken && operation.awaitsReply } else { false }
    }
  }
  var registrations: [Registration] = []
  /// Nil while it is unknown.
  var isSuspended: Bool? = false
  var suspensionChangedAt = 0
  var expected: [Expectation] = []
  var lostCount: UInt64 = 0
  var receivedCount: UInt64 = 0
  var isMonitor = false
  /// It observes, or has observed, what the bus announces.
  var isFollower = false
  var questions: [AskedQuestion] = []
  var owed: [(poster: UInt64, post: Posting)] = []
  /// `retainedAt` of the last notification of each snapshot, by serial.
  var snapshots: [Serial: Int] = [:]
  var watchedCount = 0
  var trafficCount = 0

  init(number: Int, seat: Int, pid: Int32, uid: UInt32, acceptsFiles: Bool, isLimited: Bool) {
    self.number = number
    self.seat = seat
    self.pid = pid
    self.uid = uid
    self.acceptsFiles = acceptsFiles
    self.isLimited = isLimited
  }

  /// Makes room for at least this many more notifications, or says again how many have room.
  func grant(_ count: Int) {
    limit = max(limit, receivedCount + UInt64(count))
    mustSendLimit = false
    compose(.room) { [limit] in $0.appendFrame(Room(limit: limit), serial: 0) }
  }

  func connect(to listener: Socket) -> Bool {
    let descriptor = sim_connect(listener.descriptor.rawValue)
    guard descriptor != -1 else { return false }
    sim_push_peer(pid, uid)
    socket = Socket(FileDescriptor(owning: descriptor))
    return true
  }

  func close() { socket = nil }

  var isOpen: Bool { socket != nil && !hasEnded && !hasLeft }

  func serial() -> Serial {
    lastSerial += 1
    return lastSerial
  }

  func operation(_ serial: Serial) -> Operation? { operations.last { $0.serial == serial } }

  func registration(_ serial: Serial) -> Registration? { registrations.last { $0.serial == serial } }

  // MARK: Sending

  func compose(
    _ what: Operation.What, serial: Serial = 0, awaitsReply: Bool = false, file: MemoryFile? = nil,
    _ write: (ByteBuffer) -> Void
  ) {
    let buffer = ByteBuffer(capacity: 256)
    write(buffer)
    if let file {
      files.append((composedCount, file))
      hasSentFile = true
    }
    let bytes = grown(buffer.array, what)
    outbound += bytes
    composedCount += bytes.count
    let operation = Operation(self, what, serial: serial, end: composedCount, awaitsReply: awaitsReply)
    operations.append(operation)
    untaken.append(operation)
  }

  /// The frame as a later version may send it: with more fields, and with all flags that its kind does not use.
  private func grown(_ bytes: [UInt8], _ what: Operation.What) -> [UInt8] {
    switch what {
    case .garbage, .stray: return bytes
    default: break
    }
    guard growth > 0, var header = FrameHeader.peek(bytes.raw, at: 0, limits: .fromBus),
      // A post or an observation has all fields or none.
      header.fieldsLength > 0 || header.kind != .post && header.kind != .observe
    else { return bytes }
    let tail = bytes[header.nameStart...]
    let fields = bytes[FrameHeader.length..<header.nameStart] + [UInt8](repeating: 0xA5, count: growth)
    header.fieldsLength += growth
    header.frameLength += growth
    header.flags.formUnion(FrameFlags(rawValue: 0xFC))
    let buffer = ByteBuffer(capacity: header.frameLength)
    header.append(to: buffer)
    return buffer.array + fields + tail
  }

  var unsentCount: Int { outbound.count }
  /// Bytes that the kernel took, or that the client gave up after half a frame.
  var sentCount: Int { composedCount - outbound.count }

  func send(atMost limit: Int = .max) {
    guard isOpen else { return }
    var left = min(limit, outbound.count)
    while left > 0 {
      let start = sentCount
      let next = files.first { $0.offset > start }?.offset
      let file = files.first { $0.offset == start }
      let count = min(left, (next ?? .max) - start)
      let part = Array(outbound.prefix(count))
      guard let taken = take(part, file.map { [$0.file.rawDescriptor] } ?? []), taken > 0 else { return }
      if file != nil { files.removeAll { $0.offset == start } }
      outbound.removeFirst(taken)
      left -= taken
      for operation in untaken where operation.end <= sentCount && operation.sentTime == .max {
        operation.sentTime = Kernel.now
      }
    }
  }

  private func take(_ bytes: [UInt8], _ descriptors: [CInt]) -> Int? {
    guard let socket else { return nil }
    do throws(Errno) {
      return try UnixSocket.send(bytes.raw, passing: descriptors, to: socket.descriptor)
    } catch  where error == .notPermitted {
      // Only an admitted connection takes files.
      return nil
    } catch {
      outbound = []
      return nil
    }
  }
}

final class Socket {
  let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    sim_keep(descriptor.rawValue, 1)
    self.descriptor = descriptor
  }

  isolated deinit { sim_keep(descriptor.rawValue, 0) }
}

struct FrameBoundary {
  private var head: [UInt8] = []
  private var left = Hello.length
  private var isGreeted = false
  private(set) var isClosing = false

  var isMidFrame: Bool { isGreeted ? left > 0 || !head.isEmpty : left < Hello.length }

  mutating func feed(_ bytes: [UInt8]) {
    var position = 0
    while position < bytes.count {
      if left > 0 {
        let count = min(left, bytes.count - position)
        left -= count
        position += count
        isGreeted = isGreeted || left == 0
        if left == 0 { head = [] }
      } else {
        head.append(bytes[position])
        position += 1
        guard head.count == FrameHeader.length else { continue }
        left = head[..<4].enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) } - head.count
        if head[4] == FrameKind.error.rawValue, head[16..<24].allSatisfy({ $0 == 0 }) { isClosing = true }
        if left == 0 { head = [] }
      }
    }
  }
}
