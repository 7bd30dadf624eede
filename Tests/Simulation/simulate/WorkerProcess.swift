// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

@MainActor
final class WorkerProcess {
  enum Answer {
    case report(Report)
    /// It ended without an answer, or was killed.
    case end(End)
  }

  enum End: Equatable, CustomStringConvertible {
    case crashed(signal: Int32)
    case hung
    case unable

    var description: String {
      switch self {
      case .crashed(let signal): "the bus crashed: \(unsafe String(cString: strsignal(signal)))"
      case .hung: "nothing has happened for \(WorkerProcess.silentSecondsMax) s"
      case .unable: "no life can begin"
      }
    }
  }

  /// A worker reports every 2,000 steps.
  static let silentSecondsMax = 120

  private let pid: pid_t
  private let orders: FileDescriptor
  private let answers: FileDescriptor
  private var received: [UInt8] = []
  private var silentSeconds = 0
  private var hasClosed = false
  private var isReaped = false
  private(set) var step = 0

  init(isTold: Bool = false) {
    var orderEnds: [CInt] = [-1, -1]
    var answerEnds: [CInt] = [-1, -1]
    guard unsafe pipe(&orderEnds) == 0, unsafe pipe(&answerEnds) == 0 else {
      preconditionFailure("there can be no pipe to a worker: \(Errno.current)")
    }
    // A worker must not inherit another one's pipes.
    for end in orderEnds + answerEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
    if isTold { unsafe posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) }
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
    (silentSeconds, step) = (0, 0)
    var bytes = Array("\(order)\n".utf8)
    while !bytes.isEmpty {
      let count = unsafe write(orders.rawValue, bytes, bytes.count)
      guard count > 0 else { return }
      bytes.removeFirst(count)
    }
  }

  func receive() -> Answer { Self.next(of: [self]).answer }

  /// Waits for the first answer of any worker; calls `tick` at least once a second. It counts seconds instead of
  /// measuring them, so being stopped with its workers costs no time.
  static func next(
    of processes: [WorkerProcess], tick: () -> Void = {}
  ) -> (index: Int, answer: Answer) {
    while true {
      for (index, process) in processes.enumerated() {
        if let answer = process.answer() { return (index, answer) }
      }
      tick()
      var watched = processes.map { pollfd(fd: $0.answers.rawValue, events: Int16(POLLIN), revents: 0) }
      let count = unsafe poll(&watched, nfds_t(watched.count), 1000)
      for (process, watched) in zip(processes, watched) {
        if watched.revents != 0 { process.readMore() } else if count == 0 { process.silentSeconds += 1 }
      }
    }
  }

  private func readMore() {
    silentSeconds = 0
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe read(answers.rawValue, &buffer, buffer.count)
    hasClosed = count <= 0
    received += buffer.prefix(max(0, count))
  }

  private func answer() -> Answer? {
    while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: received[..<end], as: UTF8.self)
      received.removeSubrange(...end)
      if let report = Report(line) { return .report(report) }
      if line.hasPrefix("step "), let step = Int(line.dropFirst(5)) { self.step = step }
    }
    if hasClosed { return .end(reap()) }
    guard silentSeconds >= Self.silentSecondsMax else { return nil }
    // Makes even a stopped worker print its step.
    _ = kill(pid, SIGALRM)
    _ = kill(pid, SIGCONT)
    _ = reap()
    return .end(.hung)
  }

  private func reap() -> End {
    var status: CInt = 0
    _ = unsafe waitpid(pid, &status, 0)
    isReaped = true
    let signal = status & 0x7F
    return signal == 0 ? .unable : .crashed(signal: signal)
  }

  func end() {
    guard !isReaped else { return }
    _ = kill(pid, SIGKILL)
    _ = reap()
  }
}

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
