// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// Translates the calls of Varlink clients into frames.
final class VarlinkCalls {
  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let recorder: Recorder
  private let replier: Replier
  let router: Router
  let dispatcher: FrameDispatcher

  init(
    _ router: Router, _ dispatcher: FrameDispatcher, _ replier: Replier, _ recorder: Recorder,
    _ context: ServerContext
  ) {
    (bus, sessions) = (context.bus, context.sessions)
    (self.router, self.dispatcher, self.replier) = (router, dispatcher, replier)
    (self.recorder, self.context) = (recorder, context)
  }

  func take(_ message: RawSpan, of session: Session) throws(WireError) {
    let call: VarlinkCall
    do throws(VarlinkFlaw) {
      call = try VarlinkCall(message)
    } catch {
      throw WireError(.malformedFrame, error.reason)
    }
    switch call.translated(at: context.now.nanoseconds) {
    case .reply(nil): break
    case .reply(let reply?): enqueue(reply, for: session)
    case .frames(let frames):
      if !call.isOneway { recorder.setFlag(.inCall, of: session) }
      try take(frames, of: session)
    case .answer(let ticket, let frame, let isOneway):
      let refusal = try answer(ticket, frame, of: session)
      guard !isOneway else { break }
      enqueue(refusal.map { VarlinkError.refused($0).reply } ?? VarlinkCall.emptyReply, for: session)
    }
  }

  private func enqueue(_ reply: String, for session: Session) {
    recorder.setFlag(.inCall, of: session)
    replier.enqueue(Okay(), for: session, serial: CallID(.madeReply).serial, text: reply)
  }

  /// Handles one call's frames. If the bus refuses one of several registrations, cancels the earlier ones.
  private func take(_ frames: ByteBuffer, of session: Session) throws(WireError) {
    var position = 0
    while position < frames.count, session.isServed {
      let serial = frames.bytes.frameSerial(at: position)
      let header: FrameHeader?
      do throws(WireError) {
        header = try FrameHeader(frames.bytes, at: position, limits: session.limits)
      } catch {
        return replier.refuse(session, serial: serial, error)
      }
      guard let header, let call = CallID(serial: serial) else {
        preconditionFailure("a call has become half a frame")
      }
      try take(header, in: frames, at: position, of: session)
      position += header.frameLength
      guard call.count > 1, session.isServed, !bus.value.isRegistered(serial, by: session.slot) else {
        continue
      }
      for index in 0..<Int(call.index) {
        let earlier = CallID(call.method, index: index, of: Int(call.count))
        let cancel = ByteBuffer(capacity: 64)
        cancel.appendFrame(Cancel(target: earlier.serial), serial: CallID(.takeBack).serial)
        try take(cancel, of: session)
      }
      return
    }
  }

  private func take(
    _ header: FrameHeader, in frames: ByteBuffer, at position: Int, of session: Session
  ) throws(WireError) {
    if case .post = header.kind, header.fieldsLength == 0 {
      _ = router.routePosts(of: session, in: frames, at: position, first: header)
      return
    }
    frames.stamp(session.id, frameAt: position)
    let slice = ByteSlice(frames, position..<position + header.frameLength)
    try dispatcher.dispatch(FrameView(header, slice.bytes), in: slice, of: session)
  }

  /// Handles the answer as if the connection that was asked had sent it.
  ///
  /// - Returns: the bus's refusal; nil if the bus has accepted the answer.
  private func answer(
    _ ticket: Ticket, _ frame: ByteBuffer, of session: Session
  ) throws(WireError) -> WireError? {
    guard let asked = sessions[ticket.connection], let varlink = asked.varlink, asked.isOpen,
      varlink.secret == ticket.secret, asked.peer.uid == session.peer.uid
    else { return WireError(.notAsked, "nobody waits for an answer with this ticket") }
    varlink.refusal = nil
    let header: FrameHeader?
    do throws(WireError) {
      header = try FrameHeader(frame.bytes, at: 0, limits: asked.limits)
    } catch {
      return error
    }
    guard let header else { preconditionFailure("an answer has become half a frame") }
    recorder.markReceiving(from: asked)
    try take(header, in: frame, at: 0, of: asked)
    recorder.markReceived(from: asked)
    return varlink.refusal
  }
}
