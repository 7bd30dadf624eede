// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A shell in the terminal emulator tmux.
///
/// tmux runs in control mode: it reads commands from standard input, and writes replies, and a line whenever the
/// terminal changes. It ends with this client, and the shell with it.
final class TmuxTerminal {
  private let folder: TestFolder
  private let input = Pipe()
  private let client: RunningProgram

  init(environment: [String: String], columns: Int = 80, rows: Int = 24) throws {
    folder = try TestFolder()
    try folder.write(
      """
      set -g default-terminal tmux-256color
      set -g destroy-unattached on
      set -g escape-time 0
      set -g status off

      """, to: "configuration")
    var arguments = [
      "/usr/bin/tmux", "-u", "-S", "\(folder.path)/socket", "-f", "\(folder.path)/configuration", "-C",
      "new-session", "-x", "\(columns)", "-y", "\(rows)",
    ]
    for (key, value) in environment { arguments += ["-e", "\(key)=\(value)"] }
    arguments += ["env", "PS1=$ ", "bash", "--norc", "-i"]
    client = try RunningProgram(arguments, input: input)
    _ = try reply()
  }

  func type(_ text: String) throws { _ = try run("send-keys -l '\(text)'") }

  /// Keys by their names in tmux(1): `Enter`, `F5`, `C-z`.
  func press(_ keys: String...) throws { _ = try run("send-keys \(keys.joined(separator: " "))") }

  func resize(columns: Int, rows: Int) throws { _ = try run("resize-window -x \(columns) -y \(rows)") }

  /// In the words of tmux's formats: `#{cursor_flag}`.
  func state(_ format: String) throws -> String {
    try run("display-message -p '\(format)'").joined(separator: "\n")
  }

  /// Returns the lines of the screen once the condition holds, without trailing spaces.
  @discardableResult
  func screen(until holds: ([Substring]) -> Bool) throws -> [Substring] {
    let end = ContinuousClock.now + .seconds(Programs.patienceSeconds)
    while true {
      let lines = try run("capture-pane -p").map { line in
        line[..<(line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex)]
      }
      if holds(lines) { return lines }
      guard ContinuousClock.now < end else {
        throw Programs.Missing(
          description: "the screen does not become what it should:\n\(lines.joined(separator: "\n"))")
      }
      while try !line().hasPrefix("%output ") {}
    }
  }

  @discardableResult
  func screen(with text: String) throws -> [Substring] {
    try screen { $0.contains { $0.contains(text) } }
  }

  private func run(_ command: String) throws -> [String] {
    try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    return try reply()
  }

  private func reply() throws -> [String] {
    while try !line().hasPrefix("%begin ") {}
    var lines: [String] = []
    while true {
      let line = try line()
      if line.hasPrefix("%end ") { return lines }
      guard !line.hasPrefix("%error ") else { throw Programs.Missing(description: "tmux: \(lines)") }
      lines.append(line)
    }
  }

  private func line() throws -> String {
    guard let line = try client.output.line() else {
      throw Programs.Missing(description: "tmux has ended: \(try client.errors.rest())")
    }
    return line
  }
}
