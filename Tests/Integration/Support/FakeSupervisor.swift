// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem
import TribuneTestSupport

/// A bus's service manager: it stores a daemon's descriptors for the next one (sd_notify(3), `FDSTORE=1`).
final class FakeSupervisor {
  let notifySocket: NotifySocket
  private var stored: [(name: String, descriptor: CInt)]

  init(in folder: TestFolder) throws {
    notifySocket = try NotifySocket(path: nil)
    let listener = try UnixSocket.listening(at: "\(folder.path)/bus")
    stored = [("bus", listener.release())]
  }

  deinit { for one in stored { close(one.descriptor) } }

  var names: [String] { stored.map(\.name).sorted() }

  func store(_ name: String, _ descriptor: consuming FileDescriptor) {
    stored.append((name, descriptor.release()))
  }

  func drop(_ name: String) {
    for one in stored where one.name == name { close(one.descriptor) }
    stored.removeAll { $0.name == name }
  }

  @discardableResult
  func wait(for assignment: String) throws -> String {
    while true {
      let message = try notifySocket.receive()
      let lines = message.text.split(separator: "\n")
      func value(_ name: String) -> String? {
        lines.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
      }
      let name = value("FDNAME") ?? "stored"
      if value("FDSTOREREMOVE") != nil { drop(name) }
      for descriptor in message.descriptors { store(name, FileDescriptor(owning: descriptor)) }
      if lines.contains(Substring(assignment)) { return message.text }
    }
  }

  /// The daemon's command line is appended to it. It takes the stored descriptors from its standard input.
  static let wrapper = Activation.wrapper([.init(kind: .stored)])

  func passing() throws -> FileHandle {
    let pair = try UnixSocket.makePair()
    let names = Array(stored.map(\.name).joined(separator: " ").utf8)
    let sent = try UnixSocket.send(unsafe names.span.bytes, passing: stored.map(\.descriptor), to: pair.one)
    guard sent == names.count else { throw Errno.again }
    return FileHandle(fileDescriptor: try pair.other.duplicate().release(), closeOnDealloc: true)
  }
}
