// SPDX-License-Identifier: Apache-2.0

import CThreadUser
import Foundation
import Glibc
import TribuneSystem
import TribuneTestSupport
import TribuneWire

final class VarlinkClient {
  struct Reply: CustomStringConvertible {
    let text: String
    let members: [String: Any]

    init(_ text: String) throws {
      self.text = text
      let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
      guard let members = value as? [String: Any] else {
        throw Programs.Missing(description: "\(text) is no object")
      }
      self.members = members
    }

    var description: String { text }
    var error: String? { members["error"] as? String }
    var continues: Bool { members["continues"] as? Bool ?? false }

    /// As text; empty if missing.
    subscript(name: String) -> String {
      guard let value = (members["parameters"] as? [String: Any])?[name] else { return "" }
      return "\(value)"
    }

    func first(of name: String) -> [String: String] {
      let all = (members["parameters"] as? [String: Any])?[name] as? [[String: Any]]
      return (all?.first ?? [:]).mapValues { "\($0)" }
    }
  }

  private let descriptor: FileDescriptor
  private var received: [UInt8] = []

  /// Only root may connect as another user.
  init(path: String, user: UInt32? = nil) throws {
    descriptor = try UnixSocket.make(nonblocking: false)
    if let user { _ = try retrying { thread_user_set(user) } }
    defer { if user != nil { precondition(thread_user_set(0) == 0) } }
    try UnixSocket.connect(descriptor, to: path)
    try descriptor.setTimeouts(seconds: Programs.patienceSeconds)
  }

  func send(bytes: [UInt8], passing passed: [CInt] = []) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let buffer = ByteBuffer(holding: Array(rest))
      let isFirst = rest.count == bytes.count
      rest = rest.dropFirst(try UnixSocket.send(buffer.bytes, passing: isFirst ? passed : [], to: descriptor))
    }
  }

  /// A call of `io.tribune.Bus`, unless the method names another interface.
  func send(_ method: String, _ parameters: String = "{}", _ flags: String...) throws(Errno) {
    let name = method.contains(".") ? method : "io.tribune.Bus.\(method)"
    let members = flags.map { ",\"\($0)\":true" }.joined()
    try send(bytes: Array("{\"method\":\"\(name)\",\"parameters\":\(parameters)\(members)}\0".utf8))
  }

  func nextIfAny() throws -> Reply? {
    while true {
      if let end = received.firstIndex(of: 0) {
        defer { received.removeSubrange(...end) }
        return try Reply(String(decoding: received[..<end], as: UTF8.self))
      }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let number = descriptor.rawValue
      let count = try retrying { unsafe recv(number, &bytes, bytes.count, 0) }
      if count == 0 { return nil }
      received += bytes[..<Int(count)]
    }
  }

  func next() throws -> Reply {
    guard let reply = try nextIfAny() else { throw Programs.Missing(description: "the connection ends") }
    return reply
  }

  func call(_ method: String, _ parameters: String = "{}") throws -> Reply {
    do throws(Errno) {
      try send(method, parameters)
    } catch  where error == .brokenPipe {
      // A bus that has refused the connection has ended it, but its reply is readable.
      return try next()
    }
    return try next()
  }

  func start(_ method: String, _ parameters: String) throws -> Reply {
    try send(method, parameters, "more")
    return try next()
  }

  func endWriting() { UnixSocket.endWriting(descriptor) }
}

extension ServedBus {
  var varlinkPath: String { "\(path).varlink" }
}

extension TestBus {
  static func withVarlink(in folder: TestFolder? = nil, configuration: String = "") throws -> TestBus {
    let folder = try folder ?? TestFolder()
    let path = "\(folder.path)/bus"
    return try TestBus(
      configuration: configuration, arguments: ["--listen=\(path)", "--varlink=\(path).varlink"],
      folder: folder)
  }
}

extension RestartedBus {
  static func withVarlink() throws -> RestartedBus {
    let folder = try TestFolder()
    let path = "\(folder.path)/bus"
    let option = "--varlink=\(path).varlink"
    let bus = try RestartedBus(arguments: ["--listen=\(path)", option], folder: folder)
    bus.laterOptions = [option]
    return bus
  }
}

extension VarlinkClient {
  convenience init(_ bus: some ServedBus, as user: UInt32? = nil) throws {
    try self.init(path: bus.varlinkPath, user: user)
  }
}
