// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// Writes the queues of Varlink clients. Each frame becomes a reply, or is skipped. A frame leaves the queue
/// when the bus has written the whole reply.
extension Sender {
  /// In bytes. One flush translates frames of about this total length, because translation is slow.
  private static let translatedMax = 16_384

  func sendReplies(
    of session: Session, _ varlink: VarlinkState, _ isRead: inout Bool
  ) -> Output.Writing {
    var translated = 0
    var frameLength = 0
    while !session.output.queue.isEmpty {
      if varlink.reply == nil {
        guard translated < Self.translatedMax else {
          // `relieve` can flush while the regular flush is scheduled. The regular flush then sends the rest.
          if session.output.flush == .none { postpone(session) }
          return .open
        }
        let slice = session.output.queue.firstFrame()
        frameLength = slice.count
        translated += frameLength
        guard makeReply(of: slice, to: session, varlink) else { continue }
      }
      guard let reply = varlink.reply else { preconditionFailure("a reply is under way") }
      do throws(Errno) {
        gather.append(varlink.sentCount..<reply.count, of: reply)
        recorder.markSending(to: session)
        let sent = try gather.send(to: session.descriptor)
        isRead = isRead || sent > 0
        varlink.sentCount += sent
        if varlink.sentCount < reply.count {
          if !session.output.queue.isMidFrame {
            if sent > 0 { consume(1, of: session) } else { varlink.reply = nil }
          }
          return .full
        }
        endReply(of: session, varlink, frameLength)
        recorder.storeSent(to: session)
      } catch {
        if !session.output.queue.isMidFrame { varlink.reply = nil }
        return writing(after: error, to: session)
      }
    }
    return .open
  }

  private func makeReply(of slice: ByteSlice, to session: Session, _ varlink: VarlinkState) -> Bool {
    let reply = reply(slice, of: session, varlink)
    guard let message = reply?.message else {
      consume(slice.count, of: session)
      if let reply, reply.isLast { endCall(of: session, varlink, endsConnection: reply.endsConnection) }
      return false
    }
    let buffer = ByteBuffer(capacity: message.utf8.count + 1)
    buffer.append(message: message)
    (varlink.reply, varlink.sentCount) = (buffer, 0)
    (varlink.isLast, varlink.endsConnection) = (reply?.isLast == true, reply?.endsConnection == true)
    return true
  }

  private func reply(_ slice: ByteSlice, of session: Session, _ varlink: VarlinkState) -> FrameReply? {
    guard !slice.bytes.isHello(at: 0) else { return nil }
    do throws(WireError) {
      guard let header = try FrameHeader(slice.bytes, at: 0, limits: .fromBus) else {
        preconditionFailure("a queue has whole frames")
      }
      let translation = FrameReply.Context(
        connection: session.id, secret: varlink.secret, isInCall: session.isInCall,
        now: context.now.nanoseconds,
        peer: { [sessions, context] in sessions.peer(of: $0, at: context.now) })
      return try FrameReply(FrameView(header, slice.bytes), in: translation)
    } catch {
      preconditionFailure("the bus has queued a frame that it cannot read: \(error.message)")
    }
  }

  private func endReply(of session: Session, _ varlink: VarlinkState, _ frameLength: Int) {
    varlink.reply = nil
    let left = session.output.queue.isMidFrame ? session.output.queue.partialLeft : frameLength
    consume(left, of: session)
    if varlink.isLast { endCall(of: session, varlink, endsConnection: varlink.endsConnection) }
  }

  private func consume(_ count: Int, of session: Session) {
    session.output.queue.consume(count)
    session.output.sentByteCount &+= UInt64(count)
    queuedByteCount -= count
  }

  private func endCall(of session: Session, _ varlink: VarlinkState, endsConnection: Bool) {
    let wasRead = session.interest.contains(.readable)
    recorder.removeFlag(.inCall, of: session)
    if endsConnection || varlink.isHalfClosed { return sessions.closeLater(session) }
    if session.input.partial != nil { answered.value.append(session) }
    if !wasRead { loop.updateInterest(of: session) }
  }
}

extension ByteBuffer {
  func append(message: String) {
    append(message)
    append(UInt8(0))
  }
}
