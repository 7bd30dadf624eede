// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// Replacements of which nothing comes: the bus goes on, and whoever was to take its place says why it has not.
@Suite("Failed replacements", .timeLimit(.minutes(3)))
struct FailedReplacementTests {
  /// Messages between daemons: their length, kind, number of descriptors.
  private enum Message {
    static let ready: [UInt8] = [0, 0, 0, 0, 3, 0, 0, 0]
    static let yours: [UInt8] = [0, 0, 0, 0, 4, 0, 0, 0]
    static let refusal: [UInt8] = [4, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0x6E, 0x6F]
    static func end(_ count: UInt8) -> [UInt8] { [4, 0, 0, 0, 2, 0, 0, 0, count, 0, 0, 0] }
    /// One descriptor that is to be a state.
    static let state: [UInt8] = [5, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1]
  }

  // MARK: The bus's side

  /// What somebody does who has said `replace`.
  enum Step: CaseIterable {
    case hangsUp
    case hangsUpAfterOkay
    case refuses
    case talksNonsense
    case saysTooMuch
    case passesDescriptors
    case takesWhatIsNotYours
    case isReadyAndDeaf
    case saysNothing
  }

  @Test("the bus goes on with everybody when who is to take its place fails", arguments: Step.allCases)
  func step(_ step: Step) throws {
    let replaced = try ReplacedBus()
    let bus = replaced.bus
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    let silent = try RawClient(bus)
    let frame = ByteBuffer(capacity: 64)
    frame.appendFrame(Post(), serial: 1001, name: "load.unit", text: "last")
    let bytes = [UInt8](frame.bytes)
    let payload = String(repeating: "x", count: 1000)
    for serial in 1...1000 {
      try poster.send(Post(), serial: Serial(serial), name: "load.unit", text: payload)
    }
    try poster.settle()
    try poster.send(Array(bytes[..<40]))
    try RawClient.greeted(bus).settle()

    try fail(step, bus)
    try poster.send(Array(bytes[40...]))
    try poster.settle()
    try silent.greet()
    // Who has hung up before is not even begun with.
    if step != .hangsUp { #expect(try bus.log().contains("the bus goes on, for ")) }
    for serial in 1...500 { #expect(try observer.next().header.serial == Serial(serial)) }
    try replaced.replace()
    for serial in 501...1000 { #expect(try observer.next().header.serial == Serial(serial)) }
    #expect(try observer.next().payload == "last")
    for client in [observer, poster, silent] { try client.settle() }
    // The one that failed is not among them.
    #expect(try poster.busEntry().connections == 3)
  }

  private func fail(_ step: Step, _ bus: TestBus) throws {
    let client = try RawClient.greeted(bus)
    try client.send(Replace(version: 1), serial: 1, flags: .critical)
    if step == .hangsUp { return }
    _ = try client.next(.ok)
    switch step {
    case .hangsUp, .hangsUpAfterOkay: return
    case .refuses: try client.send(Message.refusal)
    case .talksNonsense: try client.send([0, 0, 0, 0, 77, 0, 0, 0])
    case .saysTooMuch: try client.send([0xFF, 0xFF, 0xFF, 0xFF, 3, 0, 0, 0])
    case .passesDescriptors: try client.send(Message.ready, with: [STDERR_FILENO])
    case .takesWhatIsNotYours: try client.send(Message.yours)
    case .isReadyAndDeaf:
      _ = shutdown(client.rawDescriptor, CInt(SHUT_RD))
      try client.send(Message.ready)
    case .saysNothing: break
    }
    // It has failed when somebody else is served again.
    try withExtendedLifetime(client) { try RawClient.greeted(bus).settle() }
  }

  @Test("a state that is newer than what it reads is not handed over to anybody")
  func version() throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    try client.send(Replace(version: 0), serial: 1, flags: .critical)
    #expect(try client.nextError() == .invalidValue)
    // It was refused, and is a client like any other.
    try client.settle()
  }

  @Test("of two who ask at once one is refused")
  func two() throws {
    let bus = try TestBus()
    let client = try RawClient.greeted(bus)
    try client.send {
      $0.appendFrame(Replace(version: 1), flags: .critical, serial: 1)
      $0.appendFrame(Replace(version: 1), flags: .critical, serial: 2)
    }
    #expect(try client.next(.ok).header.serial == 1)
    #expect(try client.nextError() == .limitExceeded)
    try client.send(Message.refusal)
    try RawClient.greeted(bus).settle()
  }

  // MARK: The other side

  /// What plays the bus, and what is expected to be said of it.
  enum Impostor: CaseIterable {
    case isOlder
    case hangsUp
    case talksNonsense
    case countsWrong
    case passesNoState
    case passesNothing

    var complaint: String {
      switch self {
      case .isOlder: "it is of an older version, which cannot be replaced"
      case .hangsUp: "it has hung up"
      case .talksNonsense: "it says what makes no sense: "
      case .countsWrong: "1 descriptors came of 7"
      case .passesNoState, .passesNothing: "no sockets to listen on"
      }
    }
  }

  /// A daemon that is to take the place of what listens in that folder.
  private static func daemon(_ folder: TestFolder) throws -> RunningProgram {
    try RunningProgram([
      try Programs.path(of: "tribuned"), "--replace", "--listen=\(folder.path)/bus",
      "--config=\(folder.path)",
    ])
  }

  @Test("a daemon takes nothing from what is no bus, or does not do its part", arguments: Impostor.allCases)
  func impostor(_ impostor: Impostor) throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/bus"
    let listener = try UnixSocket.listening(at: path)
    let daemon = try Self.daemon(folder)
    do {
      let client = try RawClient.welcoming(at: listener)
      let request = try client.next(.replace)
      #expect(request.header.flags == .critical)
      if impostor == .isOlder {
        try client.send(Refusal(.unknownCriticalKind), serial: 0, text: "unknown")
      } else {
        try client.send(Okay(), serial: request.header.serial)
      }
      let file = try SharedFile.make([1, 2, 3])
      switch impostor {
      case .isOlder, .hangsUp: break
      case .talksNonsense: try client.send([9, 9, 9, 9, 9, 9, 9, 9])
      case .countsWrong:
        try client.send(Message.state, with: [file.rawValue])
        try client.send(Message.end(7))
      case .passesNoState:
        try client.send(Message.state, with: [file.rawValue])
        try client.send(Message.end(1))
      case .passesNothing: try client.send(Message.end(0))
      }
    }
    #expect(daemon.status() == 1)
    let errors = try daemon.errors.rest()
    #expect(errors.hasPrefix("tribuned: cannot take the place of the bus at \(path): "))
    #expect(errors.contains(impostor.complaint))
  }

  @Test("a signal calls it off while it waits for a bus that hangs", arguments: [SIGTERM, SIGINT])
  func calledOff(number: Int32) throws {
    let folder = try TestFolder()
    let listener = try UnixSocket.listening(at: "\(folder.path)/bus")
    let daemon = try Self.daemon(folder)
    let client = try RawClient(acceptedAt: listener)
    // It waits for what the bus says to that.
    _ = try client.readHello()
    _ = try client.next(.replace)
    daemon.signal(number)
    #expect(daemon.status() == -number)
  }
}
