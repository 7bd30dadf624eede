// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import TribuneSystem
import TribuneTestSupport
import TribuneWire

/// One connection of a client, and what is known of it on both sides.
final class Link {
  /// What becomes of it when the next daemon takes over.
  enum Fate {
    case survives
    /// Something was under way on it: it may have to connect again.
    case mayEnd
    /// Nobody keeps its socket.
    case ends
  }

  let number: Int
  let seat: Int
  let pid: Int32
  let uid: UInt32
  let takesFiles: Bool
  private(set) var socket: Socket?
  /// What the kernel calls the bus's end; 0 until it is accepted.
  var cookie: UInt64 = 0
  /// Which bus has accepted it, of those that knew nothing of the one before.
  var epoch: UInt64 = 0
  var acceptedTime: UInt64 = 0
  /// What the bus calls it; 0 until the client has read that.
  var id: UInt64 = 0

  // What goes to the bus.
  private var outbound: [UInt8] = []
  private(set) var composedCount = 0
  private var files: [(offset: Int, file: MemoryFile)] = []
  private(set) var operations: [Operation] = []
  var untaken: [Operation] = []
  var lastSerial: Serial = 0
  /// Bytes that the bus has read, and when it did last.
  var takenByteCount = 0
  var readTime: UInt64 = 0
  /// When the bus read that it has ended, in what was taken.
  var endTakenAt = -1
  /// Whether the bus has read a part of something.
  var isPartial: Bool { takenByteCount != (operations.last { $0.isTaken }?.end ?? 0) }

  /// The bus has read a part of what no client sends, which can be enough.
  var isBeginningGarbage: Bool {
    if case .garbage? = untaken.first?.what { isPartial } else { false }
  }

  /// The bus may close it, because its hello or the rest of a frame has not come in time.
  func isLate(at now: UInt64) -> Bool {
    !isOnBus && acceptedTime + 10_000_000_000 <= now || isPartial && readTime + 60_000_000_000 <= now
  }

  // What comes from it.
  let inbound = ByteBuffer(capacity: 1 << 16)
  var inboundFiles = PassedDescriptors()
  var isGreeted = false
  var boundary = FrameBoundary()
  /// Bytes of notifications that the bus has for it, about.
  var pendingCount = 0
  /// The bus has more for it than the kernel took; and when that was last so, in what was taken.
  var isBlocked = false
  var blockedAt = 0
  var reads = true

  // What is known of it.
  var fate = Fate.survives
  /// The bus knows nothing of it any more.
  var isForgotten = false
  /// The client has closed it.
  var isClosed = false
  /// The bus has ended it, as the client knows.
  var hasEnded = false
  /// It has been shut by a daemon that took over; what it had registered stays until then at least, and until
  /// `detachedAtMost` at most: who died while it took over may have written down when that is, or not.
  var detachedUntil: UInt64?
  var detachedAtMost: UInt64 = .max
  /// It was succeeded by another one.
  var isSucceeded = false
  var isDismissed = false
  /// The same lower bound, if no take-over has been completed: a daemon died that may have written it down.
  var detachesBy: UInt64?
  /// A daemon that took over has shut it down.
  var isShut = false
  /// The bus has read its hello.
  var isOnBus = false
  /// Since all was at rest, there was a reason to drop notifications: a death, a blocked socket, a full queue, a full hold.
  var mayLose = false
  /// A descriptor that it sent was lost: any of its files may be refused from then on.
  var losesFiles = false
  /// A long list is on its way to it.
  var isLongListed: Bool {
    operations.contains { operation in
      if case .list = operation.what { operation.isTaken && operation.awaitsReply } else { false }
    }
  }
  var registrations: [Registration] = []
  /// Nil while that is not known.
  var isSuspended: Bool? = false
  var suspensionChangedAt = 0
  var expected: [Expectation] = []
  var lostCount: UInt64 = 0
  /// What the client has received of notifications, with what it was told is lost.
  var receivedCount: UInt64 = 0
  var isMonitor = false
  var questions: [AskedQuestion] = []
  var owed: [(poster: UInt64, post: Posting)] = []
  /// Notifications that a monitor has to be told of, and how often it was told of something, since all was at rest.
  var watchedCount = 0
  var trafficCount = 0

  init(number: Int, seat: Int, pid: Int32, uid: UInt32, takesFiles: Bool) {
    self.number = number
    self.seat = seat
    self.pid = pid
    self.uid = uid
    self.takesFiles = takesFiles
  }

  /// Returns whether it could.
  func connect(to listener: Socket) -> Bool {
    let descriptor = sim_connect(listener.descriptor.rawValue)
    guard descriptor != -1 else { return false }
    sim_push_peer(pid, uid)
    socket = Socket(FileDescriptor(owning: descriptor))
    return true
  }

  func close() { socket = nil }

  /// Whether the client could still send something on it.
  var isOpen: Bool { socket != nil && !hasEnded && !isClosed }

  func serial() -> Serial {
    lastSerial += 1
    return lastSerial
  }

  func operation(_ serial: Serial) -> Operation? { operations.last { $0.serial == serial } }

  func registration(_ serial: Serial) -> Registration? { registrations.last { $0.serial == serial } }

  // MARK: Sending

  /// Queues what the client will send.
  func compose(
    _ what: Operation.What, serial: Serial = 0, awaitsReply: Bool = false, file: MemoryFile? = nil,
    _ write: (ByteBuffer) -> Void
  ) {
    let buffer = ByteBuffer(capacity: 256)
    write(buffer)
    if let file { files.append((composedCount, file)) }
    outbound += buffer.array
    composedCount += buffer.count
    let operation = Operation(self, what, serial: serial, end: composedCount, awaitsReply: awaitsReply)
    operations.append(operation)
    untaken.append(operation)
  }

  var unsentCount: Int { outbound.count }
  /// Bytes that the kernel has taken, or that a client that sends half a frame has given up.
  var sentCount: Int { composedCount - outbound.count }

  /// Sends so many bytes at most.
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
    }
  }

  private func take(_ bytes: [UInt8], _ descriptors: [CInt]) -> Int? {
    guard let socket else { return nil }
    do throws(Errno) {
      return try UnixSocket.send(bytes.raw, passing: descriptors, to: socket.descriptor)
    } catch {
      // The bus's end is closed; what it has said is still to be read.
      outbound = []
      return nil
    }
  }
}

/// A client's end of a connection, which outlives the bus.
final class Socket {
  let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    sim_keep(descriptor.rawValue, 1)
    self.descriptor = descriptor
  }

  isolated deinit { sim_keep(descriptor.rawValue, 0) }
}

/// Where the frames end that the bus has sent.
struct FrameBoundary {
  /// The first bytes of a frame, up to its serial's end.
  private var head: [UInt8] = []
  private var left = Hello.length
  private var isGreeted = false
  /// The bus has said that it closes the connection.
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
