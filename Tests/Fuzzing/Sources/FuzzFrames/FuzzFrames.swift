// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneWire

@main
struct FuzzFrames {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Reads the input as a hello and as a stream of frames. Accepted frames survive writing and reading.
@c(LLVMFuzzerTestOneInput)
public func fuzzFrames(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let stream = ByteBuffer(capacity: count)
  unsafe stream.append(RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: count))
  readHello(stream.bytes)
  for limits in [FrameLimits.fromBus, FrameLimits(fields: WireLimits.fieldsLength, payload: 65_536)] {
    readFrames(stream, limits: limits)
  }
  return 0
}

private func readHello(_ bytes: RawSpan) {
  do throws(WireError) {
    guard let hello = try Hello(bytes) else { return }
    let again = ByteBuffer(capacity: Hello.length)
    hello.append(to: again)
    let reread = try Hello(again.bytes)
    precondition(reread == hello)
    _ = try hello.negotiated()
  } catch {
    precondition(error.code == .badMagic || error.code == .unsupportedVersion)
  }
}

private func readFrames(_ stream: ByteBuffer, limits: FrameLimits) {
  var position = 0
  do throws(WireError) {
    while let header = try FrameHeader(stream.bytes, at: position, limits: limits) {
      precondition(header.frameLength >= FrameHeader.length)
      guard header.frameLength <= stream.count - position else { return }
      let slice = ByteSlice(stream, position..<position + header.frameLength)
      readParts(FrameView(header, slice.bytes))
      position += header.frameLength
    }
  } catch {
    precondition(error.code == .malformedFrame || error.code == .frameTooLong)
  }
}

private func readParts(_ frame: FrameView) {
  let parts = frame.fields.byteCount + frame.name.byteCount + frame.object.byteCount + frame.payload.byteCount
  precondition(FrameHeader.length + parts == frame.header.frameLength)
  if NameSyntax.isName(frame.name) {
    let name = String(repairing: frame.name)
    precondition(frame.name.isEqual(to: name.utf8Bytes))
    precondition(Pattern.any.matches(frame.name))
  }
  if NameSyntax.isObject(frame.object) {
    precondition(frame.object.isEqual(to: String(repairing: frame.object).utf8Bytes))
  }
  guard let kind = frame.header.kind else { return }
  do throws(WireError) {
    switch kind {
    case .welcome: try readFields(Welcome.self, of: frame)
    case .begin: try readFields(Begin.self, of: frame)
    case .late: try readFields(Late.self, of: frame)
    case .error: try readFields(Refusal.self, of: frame)
    case .ok: try readFields(Okay.self, of: frame)
    case .post: try readFields(Post.self, of: frame)
    case .lost: try readFields(Lost.self, of: frame)
    case .observe: try readFields(Observe.self, of: frame)
    case .attach: try readFields(Attach.self, of: frame)
    case .ask: try readFields(Ask.self, of: frame)
    case .question: try readFields(Question.self, of: frame)
    case .answer: try readFields(Answer.self, of: frame)
    case .defer: try readFields(Defer.self, of: frame)
    case .progress: try readFields(Progress.self, of: frame)
    case .verdict: try readFields(Verdict.self, of: frame)
    case .concluded: try readFields(Concluded.self, of: frame)
    case .cancel: try readFields(Cancel.self, of: frame)
    case .amend: try readFields(Amend.self, of: frame)
    case .list: try readFields(List.self, of: frame)
    case .entry: try readFields(Entry.self, of: frame)
    case .monitor: try readFields(Monitor.self, of: frame)
    case .traffic: try readFields(Traffic.self, of: frame)
    case .hold: try readFields(Hold.self, of: frame)
    case .ended: try readFields(Ended.self, of: frame)
    case .declare: try readFields(Declare.self, of: frame)
    case .suspend: try readFields(Suspend.self, of: frame)
    case .retained: try readFields(Retained.self, of: frame)
    case .done: try readFields(Done.self, of: frame)
    case .awaited: try readFields(Awaited.self, of: frame)
    case .succeed: try readFields(Succeed.self, of: frame)
    case .poster: try readFields(PosterFacts.self, of: frame)
    case .room: try readFields(Room.self, of: frame)
    case .pace: try readFields(Pace.self, of: frame)
    }
  } catch {
    precondition([.malformedFrame, .invalidValue, .limitExceeded].contains(error.code))
  }
}

private func readFields<F: FrameFields>(_ type: F.Type, of frame: FrameView) throws(WireError) {
  let fields = try frame.decode(F.self)
  // Writing repairs text, which then grows, and cuts it near 64 KiB.
  guard frame.fields.byteCount < 20_000 else { return }
  let written = ByteBuffer(capacity: 0)
  written.appendFrame(fields, serial: frame.header.serial, payload: frame.payload)
  guard let header = try FrameHeader(written.bytes, at: 0, limits: .fromBus) else {
    preconditionFailure("a frame was written without a header")
  }
  let reread = try FrameView(header, written.bytes).decode(F.self)
  precondition(reread == fields)
}
