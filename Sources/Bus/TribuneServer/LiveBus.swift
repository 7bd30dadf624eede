// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneSystem
import TribuneWire

/// A blocking connection to the running bus, for `--check-config --live`.
nonisolated struct LiveBus: ~Copyable {
  private static let timeout = Duration.seconds(30)

  private let socket: FileDescriptor
  private let input = ByteBuffer(capacity: 1 << 16)

  init(at path: String) throws(Errno) {
    let socket = try UnixSocket.make(nonblocking: false)
    try UnixSocket.connect(socket, to: path)
    self.socket = socket
  }

  func endings(by policy: Policy?) throws -> [EndingEntry] {
    let payload = ByteBuffer(capacity: 1024)
    PolicyFields(policy).append(to: payload)
    let output = ByteBuffer(capacity: payload.count + 64)
    Hello().append(to: output)
    output.appendFrame(List(.endings), serial: 1, payload: payload.bytes)
    try send(output)
    var endings: [EndingEntry] = []
    var position = 0
    while input.count < Hello.length { try receive() }
    position += Hello.length
    while true {
      guard let header = try FrameHeader(input.bytes, at: position, limits: .fromBus),
        input.count - position >= header.frameLength
      else {
        try receive()
        continue
      }
      let frame = FrameView(header, input.bytes(in: position..<position + header.frameLength))
      position += header.frameLength
      switch header.kind {
      case .entry: if case .ending(let entry) = try frame.decode(Entry.self) { endings.append(entry) }
      case .ok: return endings
      case .error:
        let refusal = try frame.decode(Refusal.self)
        throw WireError(refusal.code ?? .invalidValue, String(repairing: frame.payload))
      default: continue
      }
    }
  }

  private func send(_ output: ByteBuffer) throws {
    var sent = 0
    while sent < output.count {
      let count = try UnixSocket.send(output.bytes(in: sent..<output.count), passing: [], to: socket)
      sent += count
      if count == 0, try !Poll.wait(for: socket, forWriting: true, timeout: Self.timeout) {
        throw Errno.timedOut
      }
    }
  }

  private func receive() throws {
    guard try Poll.wait(for: socket, forWriting: false, timeout: Self.timeout) else { throw Errno.timedOut }
    input.reserve(1 << 16)
    if case .end = try UnixSocket.receive(from: socket, into: input) { throw Errno.connectionReset }
  }
}
