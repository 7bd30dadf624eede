// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The tools of a bus that post each line of a file, and write what is posted into another.
struct LinePipe {
  private let poster: [String]
  private let observer: [String]
  /// Before each line of the poster's input.
  private let prefix: String
  private let variables: [String: String]

  private static let name = "bench.line"
  /// Without the line feed.
  private static let lineLength = 16
  /// A file that does not grow for so long is complete.
  private static let silenceNanoseconds: UInt64 = 2_000_000_000

  init(_ programs: Programs, on server: Server) throws {
    func tool(_ command: String) throws -> String { try PeerProgram.find(command, in: programs.peers) }
    var (prefix, variables) = ("", [String: String]())
    switch server.kind {
    case .redis:
      let client = [try tool("redis-cli"), "-s", server.address]
      prefix = "PUBLISH \(Self.name) "
      (poster, observer) = (client + ["--pipe"], client + ["SUBSCRIBE", Self.name])
    case .mosquitto:
      let options = ["--unix", server.address, "-t", Self.name]
      poster = [try tool("mosquitto_pub"), "-l"] + options
      observer = [try tool("mosquitto_sub")] + options
    default:
      variables["TRIBUNE_ADDRESS"] = "unix:\(server.address)"
      poster = [programs.tribunectl, "post", Self.name, "--lines", "--pace=forever"]
      observer = [programs.tribunectl, "observe", Self.name, "--format={userInfo}"]
    }
    (self.prefix, self.variables) = (prefix, variables)
  }

  /// How long it took from the poster's start until the observer had written so many lines, in nanoseconds.
  ///
  /// - Throws: `Absence` if some did not arrive.
  func run(_ count: Int) throws -> UInt64 {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tribune-bench.\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { _ = unsafe system("rm -r '\(folder.path)'") }
    let (first, input) = (folder.appending(path: "first").path, folder.appending(path: "input").path)
    let output = folder.appending(path: "output").path
    let number = 1_000_000_000_000_000
    try Data("\(prefix)0\n".utf8).write(to: URL(filePath: first))
    try Data((0..<count).map { "\(prefix)\(number + $0)\n" }.joined().utf8).write(to: URL(filePath: input))
    try Data().write(to: URL(filePath: output))
    let reader = try SpawnedProgram(observer, variables: variables, output: output)
    defer {
      kill(reader.pid, SIGKILL)
      _ = reader.waitForEnd()
    }
    // It observes once it has a line.
    while try !lines(of: output).contains("0") { try post(first) }
    let writer = try SpawnedProgram(poster, variables: variables, input: input)
    let took = try wait(for: "\(number + count - 1)", in: output, of: writer)
    guard writer.waitForEnd() else {
      throw SpawnedProgram.Failure(description: "\(poster[0]) could not post a file")
    }
    let arrived = try lines(of: output).count { $0.utf8.count == Self.lineLength }
    guard arrived == count else { throw Absence(reason: "\(arrived) of \(count) lines arrived") }
    return took
  }

  /// How old the poster was when its last line had come, or nothing came any more.
  private func wait(for last: String, in output: String, of writer: SpawnedProgram) throws -> UInt64 {
    let file = try FileHandle(forReadingFrom: URL(filePath: output))
    var (end, grown) = (UInt64(0), writer.age)
    while writer.age - grown < Self.silenceNanoseconds {
      let length = try file.seekToEnd()
      if length > end { (end, grown) = (length, writer.age) }
      try file.seek(toOffset: end - min(end, UInt64(Self.lineLength + 1)))
      if try file.readToEnd() == Data("\(last)\n".utf8) { break }
      usleep(500)
    }
    return grown
  }

  private func post(_ file: String) throws {
    guard try SpawnedProgram(poster, variables: variables, input: file).waitForEnd() else {
      throw SpawnedProgram.Failure(description: "\(poster[0]) could not post a line")
    }
  }

  private func lines(of file: String) throws -> [Substring] {
    try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
  }
}
