// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures the bus against a bare relay, and prints a table. Exits 0 when all that was sent arrived,
/// whatever the figures are; 1 when something did not; 2 on wrong usage.
///
/// The servers are started on the main thread: what a thread of Dispatch starts has all signals blocked,
/// and would not end when it is told to.
@main
@MainActor
enum Bench {
  static func main() async {
    let options: Options
    do {
      options = try Options(CommandLine.arguments.dropFirst())
    } catch {
      return end("bench: \(error)\n\(Options.usage)", status: 2)
    }
    if options.wantsHelp { return print(Options.usage) }
    do {
      try await measure(options)
    } catch {
      end("bench: \(error)", status: 1)
    }
  }

  private static func measure(_ options: Options) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tribune-bench.\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer {
      // What is left behind here is a folder under /tmp, which is worth a line and no more.
      do { try FileManager.default.removeItem(at: folder) } catch { warn("bench: \(error)") }
    }
    let tribuned = try Server(.tribune, program: options.tribuned, in: folder)
    defer { tribuned.stop() }
    if options.wantsChains { return print(try Growth(tribuned: tribuned).run()) }
    let relay = try Server(.relay, program: options.relay, in: folder)
    defer { relay.stop() }
    if options.wantsComparison {
      let comparison = Comparison(ours: [relay, tribuned], peers: options.peers, in: folder)
      defer { comparison.stop() }
      return try await comparison.run()
    }
    let crowded = try Server(.crowded, program: options.tribuned, in: folder)
    defer { crowded.stop() }
    let starred = try Server(.starred, program: options.tribuned, in: folder)
    defer { starred.stop() }
    let idle = try Server(.idle, program: options.tribuned, in: folder)
    defer { idle.stop() }
    let effort = options.effort
    try DescriptorLimit.require(effort.descriptors)
    let footprint = try await Footprint.measure(effort.idleConnections, on: idle)
    let rounds = Rounds(servers: [relay, tribuned, crowded, starred], effort: effort)
    let report = try await effort.crowd.around(crowded) {
      try await effort.crowd.around(starred, hasStars: true) {
        try await rounds.run(footprint: footprint)
      }
    }
    print(report.table)
    if let file = options.jsonFile { try report.json.write(to: URL(filePath: file)) }
  }

  private static func end(_ text: String, status: CInt) {
    warn(text)
    exit(status)
  }

  private static func warn(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }
}
