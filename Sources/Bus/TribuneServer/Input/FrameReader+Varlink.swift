// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneVarlink
import TribuneWire

/// Finds the calls in the bytes of Varlink clients.
///
/// A client's next call waits until the bus has written the last reply to the previous call. The bus keeps
/// waiting calls like a partial frame. While calls wait, the bus does not read from the client.
extension FrameReader {
  func handleCalls(
    of session: Session, _ varlink: VarlinkState, in buffer: ByteBuffer, from start: Int,
    hasTime: Bool = false
  ) {
    var hasTime = hasTime
    let couldRead = session.interest.contains(.readable)
    var position = start
    varlink.waitsForTime = false
    do throws(WireError) {
      while session.isServed, !session.isInCall,
        let end = buffer.bytes.firstZero(from: position + varlink.scannedCount)
      {
        guard hasTime || self.hasTime(for: session) else {
          varlink.waitsForTime = true
          sender.answered.value.append(session)
          break
        }
        hasTime = false
        guard end - position < VarlinkCall.lengthMax else { throw PartialFrames.messageTooLong }
        varlink.scannedCount = 0
        try calls.take(buffer.bytes(in: position..<end), of: session)
        position = end + 1
      }
      if position > start { session.input.partialSince = context.now }
      guard session.isServed else { return }
      if !session.isInCall, !varlink.waitsForTime { varlink.scannedCount = buffer.count - position }
      try keepPartial(buffer, from: position, of: session)
      if session.interest.contains(.readable) != couldRead { sender.loop.updateInterest(of: session) }
    } catch {
      dismissCaller(session, error)
    }
  }

  func dismissCaller(_ session: Session, _ error: WireError) {
    recorder.setFlag(.inCall, of: session)
    gatekeeper.dismiss(session, error)
  }

  private func hasTime(for session: Session) -> Bool {
    !timeShares.waitsForCompaction(session.user)
      && timeShares.hasTime(for: session.user, isMuchWork: true)
  }

  func handleCallsOfAnswered() {
    let answered = sender.answered.value
    sender.answered.value = []
    for session in answered { handleKeptCalls(of: session) }
  }

  private func handleKeptCalls(of session: Session) {
    guard session.isServed, let varlink = session.varlink, let kept = session.input.partial else { return }
    // If the user's time in this iteration is spent, the call stays in its buffer. Without this check, the
    // bus could copy hundreds of long calls in each iteration.
    guard hasTime(for: session) else {
      varlink.waitsForTime = true
      return sender.answered.value.append(session)
    }
    let buffer = ByteBuffer(holding: kept.bytes)
    partials.release(session)
    handleCalls(of: session, varlink, in: buffer, from: 0, hasTime: true)
    recorder.markReceived(from: session)
  }

  /// Handles the end of the client's input. The client can still be waiting for replies. If the client also
  /// closes the other direction, another event follows.
  ///
  /// - Returns: false if no call is in progress. The caller must then close the connection.
  func halfClose(_ session: Session) -> Bool {
    guard session.isInCall else { return false }
    session.varlink?.isHalfClosed = true
    sender.loop.updateInterest(of: session)
    return true
  }
}

extension RawSpan {
  fileprivate func firstZero(from start: Int) -> Int? {
    unsafe withUnsafeBytes { bytes in
      unsafe bytes[min(start, bytes.count)...].firstIndex(of: 0)
    }
  }
}
