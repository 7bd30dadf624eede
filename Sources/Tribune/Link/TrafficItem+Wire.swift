// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension TrafficItem {
  /// Reads the frame that a `traffic` frame carries.
  init(_ traffic: FrameView) throws(WireError) {
    let fields = try traffic.decode(TribuneWire.Traffic.self)
    let payload = traffic.payload
    guard let header = try FrameHeader(payload, at: 0, limits: .fromBus),
      header.frameLength == payload.byteCount
    else {
      throw WireError(.malformedFrame, "what the bus shows of its traffic is not one frame")
    }
    let frame = FrameView(header, payload)
    self.init(
      time: fields.time, from: fields.from == .bus ? nil : fields.from.description,
      to: fields.to == .bus ? nil : fields.to.description, receivers: Int(fields.receivers),
      kind: header.kind.map { "\($0)" } ?? "\(header.rawKind)", serial: header.serial,
      name: String(repairing: frame.name), object: String(repairing: frame.object),
      userInfo: UserInfo([UInt8](frame.payload)), content: Content(frame), bytes: [UInt8](payload))
  }
}

extension TrafficItem.Content {
  fileprivate init(_ frame: FrameView) {
    do throws(WireError) {
      try self.init(decoding: frame)
    } catch {
      // A monitor is shown what clients sent before it is known to be right.
      self = .other
    }
  }

  private init(decoding frame: FrameView) throws(WireError) {
    switch frame.header.kind {
    case .post:
      self = .post
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
        by: .milliseconds(Int(deferral.extensionTime)), status: String(repairing: frame.payload))
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
    default:
      self = .other
    }
  }
}

extension TrafficItem {
  /// One line without control characters: from whom to whom, the kind, and what it says.
  public var description: String {
    var words = [
      "\(from ?? "bus") → \(to ?? (receivers == 1 ? "1 receiver" : "\(receivers) receivers"))", kind,
    ]
    if !name.isEmpty { words.append(name) }
    if !object.isEmpty { words.append("about \(object)") }
    words.append(contentsOf: content.words)
    return words.joined(separator: " ").escaped
  }
}

extension TrafficItem.Content {
  fileprivate var words: [String] {
    switch self {
    case .post, .other: []
    case .ask(let mode, let deadline, let fallback, let parent, let override, let isDryRun):
      ["mode \(mode.rawValue)", "default \(fallback.rawValue)"] + Self.words(within: deadline, under: parent)
        + (override.map { ["overriding: \($0)"] } ?? []) + (isDryRun ? ["dry run"] : [])
    case .query(let collectsAll, let deadline, let parent):
      [collectsAll ? "for all values" : "for a value"] + Self.words(within: deadline, under: parent)
    case .question(let query, let delegate, let timeout, _, let isDryRun, let wantsValue):
      ["query \(query)", "delegate \(delegate)", "within \(timeout)"] + (isDryRun ? ["dry run"] : [])
        + (wantsValue ? ["for a value"] : [])
    case .answer(let query, let delegate, let answer):
      ["query \(query)", "delegate \(delegate)", answer.words]
    case .deferral(let query, let delegate, let span, let status):
      ["query \(query)", "delegate \(delegate)", "by \(span)"] + (status.isEmpty ? [] : [status])
    case .progress(let progress):
      ["query \(progress.query)", "delegate \(progress.delegate)", progress.stage.words(progress.timeout)]
        + (progress.status.isEmpty ? [] : [progress.status])
    case .verdict(let verdict):
      ["query \(verdict.query)", verdict.decision.rawValue] + (verdict.isUnanswered ? ["unanswered"] : [])
        + (verdict.isOverridden ? ["overridden"] : []) + (verdict.isDryRun ? ["dry run"] : [])
    case .concluded(let conclusion, let delegate):
      ["query \(conclusion.query)", "delegate \(delegate)", conclusion.ending.rawValue]
    }
  }

  private static func words(within deadline: Duration?, under parent: UInt64?) -> [String] {
    (deadline.map { ["within \($0)"] } ?? []) + (parent.map { ["while answering query \($0)"] } ?? [])
  }
}

extension Progress.Stage {
  fileprivate func words(_ timeout: Duration) -> String {
    switch self {
    case .asked: "asked, within \(timeout)"
    case .deferred: "within \(timeout)"
    case .settled(let kind): kind.rawValue
    }
  }
}

extension Answer {
  fileprivate var words: String {
    switch self {
    case .approve: "approves"
    case .veto(let reason): reason.isEmpty ? "vetoes" : "vetoes: \(reason)"
    case .abstain: "abstains"
    case .failed(let error): error.isEmpty ? "failed" : "failed: \(error)"
    case .value: "gives a value"
    }
  }
}
