// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneJSON
import TribuneVarlink
import TribuneWire

@main
struct FuzzVarlink {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Reads the input as a call, which becomes whole frames or a JSON reply; and as a frame of the bus, which becomes a
/// JSON reply or is dropped.
@c(LLVMFuzzerTestOneInput)
public func fuzzVarlink(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = unsafe RawSpan(_unsafeStart: start, byteCount: count)
  do throws(VarlinkFlaw) {
    check(try VarlinkCall(input))
  } catch {
    precondition(!error.reason.isEmpty)
  }
  do throws(WireError) {
    // The bus sends such a reply unchanged.
    guard let header = try FrameHeader(input, at: 0, limits: .fromBus), header.frameLength == count,
      CallID(serial: header.serial)?.method != .madeReply
    else { return 0 }
    for isInCall in [true, false] {
      let reply = try FrameReply(
        FrameView(header, input),
        in: FrameReply.Context(
          connection: .bus, secret: 1, isInCall: isInCall, now: 0, peer: { _ in .unknown }))
      if let message = reply.message { check(reply: message) }
    }
  } catch {
    return 0
  }
  return 0
}

private func check(_ call: VarlinkCall) {
  switch call.translated(at: 1) {
  case .reply(nil): precondition(call.isOneway)
  case .reply(let reply?): check(reply: reply)
  case .frames(let frames): check(frames)
  case .answer(let ticket, let frame, _):
    precondition(Ticket(ticket.text) == ticket)
    check(frame)
  }
}

private func check(_ frames: ByteBuffer) {
  var position = 0
  while position < frames.count {
    guard let header = FrameHeader.peek(frames.bytes, at: position, limits: .fromBus),
      CallID(serial: header.serial)?.serial == header.serial
    else { preconditionFailure("a call becomes what is no frame") }
    position += header.frameLength
  }
  precondition(position == frames.count)
}

private func check(reply: String) {
  precondition(!reply.utf8.contains(0))
  do throws(JSONText.SyntaxError) {
    _ = try JSONText(Array(reply.utf8))
  } catch {
    preconditionFailure("\(reply) is no JSON: \(error)")
  }
}
