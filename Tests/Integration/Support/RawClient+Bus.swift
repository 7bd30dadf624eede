// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

extension RawClient {
  func observe(_ pattern: String = "", object: String = "", serial: Serial) throws {
    try sendConfirmed(Observe(), serial: serial, name: pattern, object: object)
  }

  /// Skips other frames until the `ok`.
  func sendConfirmed<F: FrameFields>(
    _ fields: F, serial: Serial, name: String = "", object: String = "", text: String = ""
  ) throws {
    try send(
      fields, serial: serial, flags: fields is Post ? .acknowledge : [], name: name, object: object,
      text: text)
    #expect(try next(.ok).header.serial == serial)
  }

  @discardableResult
  func attach(_ attach: Attach, object: String = "", serial: Serial) throws -> DelegateID {
    try send(attach, serial: serial, object: object)
    let frame = try next(.ok)
    #expect(frame.header.serial == serial)
    return DelegateID(rawValue: try frame.decode(Okay.self).delegate)
  }

  func nextQuestion() throws -> (frame: Frame, question: Question) {
    let frame = try next(.question)
    return (frame, try frame.decode(Question.self))
  }

  @discardableResult
  func ask(_ name: String, object: String = "", _ ask: Ask = Ask(), serial: Serial) throws -> Verdict {
    try send(ask, serial: serial, name: name, object: object)
    return try nextVerdict()
  }

  func nextVerdict() throws -> Verdict { try next(.verdict).decode(Verdict.self) }

  func expectClosed(with code: ErrorCode) throws {
    #expect(try nextError() == code)
    #expect(try readToEnd().isEmpty)
  }

  func nextConclusion() throws -> ConclusionKind { try next(.concluded).decode(Concluded.self).conclusion }

  func answer(_ question: Question, _ answer: AnswerKind, _ reason: String = "") throws {
    try send(
      Answer(query: question.query, delegate: question.delegate, answer: answer), serial: 0, text: reason)
  }

  /// Expects that everything that the bus has sent was read.
  func expectSilence(serial: Serial = .max) throws {
    try send(Post(), serial: serial, flags: .acknowledge, name: "test.silence")
    let frame = try next()
    #expect(frame.kind == .ok)
    #expect(frame.header.serial == serial)
  }

  func list(_ list: List, name: String = "", object: String = "", serial: Serial = .max - 1) throws -> [Entry]
  {
    try send(list, serial: serial, name: name, object: object)
    var entries: [Entry] = []
    while true {
      let frame = try next()
      guard frame.header.serial == serial else { continue }
      if frame.kind == .ok { return entries }
      entries.append(try frame.decode(Entry.self))
    }
  }

  func connections(_ list: List = List(.connections)) throws -> [ConnectionEntry] {
    try self.list(list).compactMap {
      if case .connection(let entry) = $0 { entry } else { nil }
    }
  }

  func busEntry() throws -> BusEntry {
    for case .bus(let entry) in try list(List(.bus)) { return entry }
    throw Ended()
  }

  func post(
    _ name: String, object: String = "", bytes: [UInt8], serial: Serial, sender: ConnectionID = .bus
  ) throws {
    try send {
      $0.appendHead(
        of: Post(), sender: sender, serial: serial, nameLength: name.utf8.count,
        objectLength: object.utf8.count, payloadLength: bytes.count)
      $0.append(name)
      $0.append(object)
      $0.append(bytes)
    }
  }
}
