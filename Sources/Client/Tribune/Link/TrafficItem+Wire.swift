// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension TrafficItem {
  init(_ traffic: FrameView) throws(WireError) {
    let fields = try traffic.decode(TribuneWire.Traffic.self)
    let payload = traffic.payload
    guard let header = try FrameHeader(payload, at: 0, limits: .fromBus),
      header.frameLength == payload.byteCount
    else { throw WireError(.malformedFrame, "a traffic frame does not contain exactly one frame") }
    let frame = FrameView(header, payload)
    self.init(
      time: fields.time, from: fields.from == .bus ? nil : fields.from.description,
      to: fields.to == .bus ? nil : fields.to.description, receivers: Int(fields.receivers),
      kind: header.kind.map { "\($0)" } ?? "\(header.rawKind)", serial: header.serial,
      name: String(repairing: frame.name), object: String(repairing: frame.object), content: Content(frame),
      capture: [UInt8](traffic.bytes), frameStart: traffic.header.payloadStart,
      payloadStart: traffic.header.payloadStart + header.payloadStart)
  }
}

extension TrafficItem.Content {
  fileprivate init(_ frame: FrameView) {
    do throws(WireError) {
      try self.init(decoding: frame)
    } catch {
      // A monitor sees clients' frames before the bus has checked them.
      self = .other("malformed: \(error.message)")
    }
  }

  private init(decoding frame: FrameView) throws(WireError) {
    switch frame.header.kind {
    case .post:
      self = .post(wishes: try frame.decode(Post.self).wishes)
    case .error:
      let code = try frame.decode(Refusal.self)
      self = .refusal(
        code: code.code.map { "\($0)" } ?? "\(code.rawCode)", message: String(repairing: frame.payload))
    case .lost:
      self = .loss(Int(clamping: try frame.decode(Lost.self).count))
    case .ask:
      let ask = try frame.decode(Ask.self)
      let deadline: Duration? = ask.deadline == 0 ? nil : .milliseconds(Int(ask.deadline))
      let parent = ask.parent == 0 ? nil : ask.parent
      if let mode = Mode(ask.mode) {
        self = .ask(
          mode: mode, deadline: deadline, fallback: .init(ask.fallback), parent: parent,
          override: ask.flags.contains(.overrides) ? ask.overrideReason : nil,
          isDryRun: ask.flags.contains(.isDryRun))
      } else {
        self = .query(collectsAll: ask.mode == .collect, deadline: deadline, parent: parent)
      }
    case .question:
      let question = try frame.decode(TribuneWire.Question.self)
      self = .question(
        query: question.query.rawValue, delegate: question.delegate.rawValue,
        timeout: .milliseconds(Int(question.timeout)),
        asker: Asker(question.asker, connection: frame.header.sender), isDryRun: question.isDryRun,
        wantsValue: question.wantsValue)
    case .answer:
      let answer = try frame.decode(TribuneWire.Answer.self)
      self = .answer(
        query: answer.query.rawValue, delegate: answer.delegate.rawValue,
        Answer(answer.answer, payload: [UInt8](frame.payload)))
    case .defer:
      let deferral = try frame.decode(Defer.self)
      self = .deferral(
        query: deferral.query.rawValue, delegate: deferral.delegate.rawValue,
        by: .milliseconds(Int(deferral.extension)), status: String(repairing: frame.payload))
    case .progress:
      let progress = try frame.decode(TribuneWire.Progress.self)
      self = .progress(Progress(progress, status: String(repairing: frame.payload)))
    case .verdict:
      self = .verdict(Verdict(try frame.decode(TribuneWire.Verdict.self)))
    case .concluded:
      let concluded = try frame.decode(Concluded.self)
      self = .concluded(
        Conclusion(query: concluded.query.rawValue, ending: .init(concluded.conclusion)),
        delegate: concluded.delegate.rawValue)
    case .welcome, .ok, .observe, .attach, .cancel, .list, .entry, .monitor, .traffic, .hold, .amend,
      .ended, .declare, .suspend, .retained, .done, .awaited, .succeed, .poster, .room, .pace,
      .begin, .late, nil:
      self = .other(try frame.summary())
    }
  }
}
