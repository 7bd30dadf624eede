// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneVarlink
import TribuneWire

/// Queues the bus's own frames for clients, and shows them to monitors.
final class Replier {
  private let sender: Sender
  private let monitor: TrafficMonitor
  private let refusals: RefusalLog

  init(_ sender: Sender, _ monitor: TrafficMonitor, _ refusals: RefusalLog) {
    (self.sender, self.monitor, self.refusals) = (sender, monitor, refusals)
  }

  func enqueue<F: FrameFields>(
    _ fields: F, for session: Session, serial: Serial, text: String = "", about query: QueryTail? = nil,
    defersFlush: Bool = false, isRecorded: Bool = true
  ) {
    let buffer = sender.bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(fields, serial: serial, text: text)
    let slice = ByteSlice(buffer, start..<buffer.count)
    sender.enqueue(
      slice, for: session, isNotification: false, defersFlush: defersFlush, isRecorded: isRecorded)
    if monitor.isWatched { monitor.showControlFrame(slice, F.kind, query, to: session) }
  }

  func refuse(_ session: Session, serial: Serial, _ error: WireError) {
    refusals.countAndLog(error, of: session)
    // The bus queues no refusal of a `takeBack` frame (`CallID`). If that frame is an answer,
    // `VarlinkCalls.answer` returns the refusal.
    if let varlink = session.varlink, CallID(serial: serial)?.method == .takeBack {
      varlink.refusal = error
      return
    }
    enqueue(Refusal(error.code), for: session, serial: serial, text: error.message)
  }

  func enqueueHello(for session: Session) {
    let buffer = sender.bufferToEncode()
    let start = buffer.count
    Hello(capabilities: .descriptors).append(to: buffer)
    sender.enqueue(ByteSlice(buffer, start..<buffer.count), for: session, isNotification: false)
  }
}
