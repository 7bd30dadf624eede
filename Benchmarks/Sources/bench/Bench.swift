// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures the bus beside its alternatives, and reports. Exits with 0 if all that was sent arrived, whatever the
/// figures are; with 1 if something did not; with 2 on wrong usage.
///
/// It starts the servers on the main thread: on a thread of Dispatch, they would start with all signals blocked, and
/// could not be told to end.
@main
@MainActor
enum Bench {
  static func main() async {
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      var catalogue = Catalogue(options.effort, options.programs)
      switch options.job {
      case .help: return print(Options.usage)
      case .list: return print(catalogue.names.joined(separator: "\n"))
      case .measure: break
      }
      if !options.only.isEmpty {
        let unknown = catalogue.keep(only: options.only)
        guard unknown.isEmpty else {
          throw Options.UsageError(description: "nothing is called \(unknown.joined(separator: " or "))")
        }
      }
      try await measure(catalogue, options)
    } catch let error as Options.UsageError {
      end("bench: \(error)\n\(Options.usage)", status: 2)
    } catch {
      end("bench: \(error)", status: 1)
    }
  }

  private static func measure(_ catalogue: Catalogue, _ options: Options) async throws {
    let effort = options.effort
    try DescriptorLimit.require(effort.descriptors)
    let folder = FileManager.default.temporaryDirectory.appending(path: "tribune-bench.\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer {
      // A folder that stays behind under /tmp is worth only a warning.
      do { try FileManager.default.removeItem(at: folder) } catch { warn("bench: \(error)") }
    }
    let stage = Stage(options.programs, in: folder)
    defer { stage.stop() }
    stage.start(for: catalogue.subjects, effort: effort)
    var runner = Runner(
      effort: effort, servers: stage.servers, absences: stage.absences, progress: { warn("bench: \($0)") })
    var results = Results(effort: effort, machine: Machine(versions: stage.versions))
    results.works = await runner.run(catalogue.works)
    // The curves bring their own crowds, which need the descriptors of the bystanders.
    try stage.leave()
    results.curves = await runner.run(catalogue.curves)
    try report(results, options)
  }

  private static func report(_ results: Results, _ options: Options) throws {
    let report = Report(results: results)
    let files = try report.files
    for file in files where file.name.hasSuffix(".svg") { try WellFormed.check(file) }
    if let output = options.output {
      try report.write(to: URL(filePath: output, directoryHint: .isDirectory))
      warn("bench: \(files.map(\.name).joined(separator: ", ")) are in \(output)")
    } else if results.effort.isTimed {
      print(MarkdownReport(results, charts: []).text)
    }
    let failures = results.failures
    guard failures.isEmpty else { throw Failure(lines: failures) }
    if !results.effort.isTimed {
      print("All that was sent arrived. So few messages say nothing about time.")
      for absence in results.absenceLines { print("Not measured: \(absence)") }
    }
  }

  /// What was lost, or could not be measured though it must be.
  struct Failure: Error, CustomStringConvertible {
    var lines: [String]

    var description: String { "this went wrong:\n" + lines.map { "  \($0)" }.joined(separator: "\n") }
  }

  private static func end(_ text: String, status: CInt) {
    warn(text)
    exit(status)
  }

  private nonisolated static func warn(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }
}
