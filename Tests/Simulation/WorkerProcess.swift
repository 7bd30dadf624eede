// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

/// A worker's process, as its supervisor sees it.
@MainActor
final class WorkerProcess {
  enum Answer {
    case report(Report)
    /// It has ended without one: it crashed, or was ended because it hung.
    case crash
  }

  static let crash = "the bus crashed or hung"

  private let pid: pid_t
  private let orders: FileDescriptor
  private let answers: FileDescriptor
  private var received: [UInt8] = []

  init(isTold: Bool = false) {
    var orderEnds: [CInt] = [-1, -1]
    var answerEnds: [CInt] = [-1, -1]
    guard unsafe pipe(&orderEnds) == 0, unsafe pipe(&answerEnds) == 0 else {
      preconditionFailure("there can be no pipe to a worker: \(Errno.current)")
    }
    // No worker keeps another one's ends.
    for end in orderEnds + answerEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, orderEnds[0], STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, answerEnds[1], STDOUT_FILENO)
    var child: pid_t = 0
    let result = unsafe withArguments(
      ["simulate", "--worker"] + (isTold ? ["--tell"] : [])
    ) { words in
      unsafe posix_spawn(&child, "/proc/self/exe", &actions, nil, words, environ)
    }
    precondition(result == 0, "a worker cannot be started: \(Errno(rawValue: result))")
    pid = child
    orders = FileDescriptor(owning: orderEnds[1])
    answers = FileDescriptor(owning: answerEnds[0])
    FileDescriptor(owning: orderEnds[0]).close()
    FileDescriptor(owning: answerEnds[1]).close()
  }

  func send(_ order: Order) {
    var bytes = Array("\(order)\n".utf8)
    while !bytes.isEmpty {
      let count = unsafe write(orders.rawValue, bytes, bytes.count)
      // It has crashed, which its answer will tell.
      guard count > 0 else { return }
      bytes.removeFirst(count)
    }
  }

  /// Waits for the answer to what was sent last.
  func receive() -> Answer {
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: received[..<end], as: UTF8.self)
        received.removeSubrange(...end)
        guard let report = Report(line) else { continue }
        return .report(report)
      }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe read(answers.rawValue, &buffer, buffer.count)
      guard count > 0 else { return .crash }
      received += buffer.prefix(count)
    }
  }

  /// Which of them has something to say first.
  static func wait(for processes: [WorkerProcess]) -> Int {
    while true {
      var watched = processes.map { pollfd(fd: $0.answers.rawValue, events: Int16(POLLIN), revents: 0) }
      _ = unsafe poll(&watched, nfds_t(watched.count), -1)
      if let index = watched.firstIndex(where: { $0.revents != 0 }) { return index }
    }
  }

  func end() {
    _ = kill(pid, SIGKILL)
    var status: CInt = 0
    _ = unsafe waitpid(pid, &status, 0)
    Worker.removeFolder(of: pid)
  }
}

/// Calls `body` with what a program is started with.
func withArguments<Result>(
  _ words: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var list = unsafe words.map { unsafe strdup($0) } + [nil]
  defer { for index in unsafe list.indices { unsafe free(list[index]) } }
  return unsafe list.withUnsafeMutableBufferPointer { list in
    guard let first = list.baseAddress else { preconditionFailure("there is a program's name") }
    return unsafe body(first)
  }
}
