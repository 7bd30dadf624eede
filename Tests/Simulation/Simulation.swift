// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneServer
import TribuneSystem

/// What is simulated, and what is said of it.
@MainActor
enum Simulation {
  /// Steps of a life. A failure is easier to understand in a short one, and what lasts long happens in a long one.
  static let stepsOfLife = 2000

  static func main(_ arguments: [String]) -> Int32 {
    let options: Options
    do throws(Options.UsageError) {
      options = try Options(parsing: arguments)
    } catch {
      StandardError.writeLine("simulate: \(error)\n\(Options.help)")
      return 2
    }
    Life.isTold = options.isTold
    // Between two runs of one seed, nothing differs but what it decides.
    guard unsafe getenv("SWIFT_DETERMINISTIC_HASHING") != nil else { return Worker.startAgain(arguments) }
    return options.isWorker ? Worker(options).run() : Supervisor(options).run()
  }
}

/// What the command line says.
struct Options {
  struct UsageError: Error, CustomStringConvertible { let description: String }

  static let help = """
    usage: simulate [--seed=N] [--steps=N] [--seconds=N] [--keep=LIST] [--tell] [--seeds=FILE]
      --seed=N      one life, the one of this number; else fresh ones, whose numbers are printed
      --steps=N     so many steps in all: 1,000,000; of one life: 2,000
      --seconds=N   no new life begins after so long: 3,600
      --keep=LIST   of one life, only these steps, as in 1-20,37
      --tell        says all that happens
      --seeds=FILE  the lives whose numbers the file has, instead of fresh ones
    """

  var seed: UInt64?
  var steps: Int?
  var seconds = 3600
  var kept: Set<Int>?
  var isTold = false
  var isWorker = false
  var seedFile: String?

  init(parsing arguments: [String]) throws(UsageError) {
    for argument in arguments {
      let parts = argument.split(separator: "=", maxSplits: 1)
      let value = parts.count == 2 ? String(parts[1]) : ""
      switch parts.first {
      case "--seed": seed = try Self.number(value, argument)
      case "--steps": steps = Int(clamping: try Self.number(value, argument))
      case "--seconds": seconds = Int(clamping: try Self.number(value, argument))
      case "--keep": kept = try Self.list(value, argument)
      case "--seeds": seedFile = value
      case "--tell": isTold = true
      case "--worker": isWorker = true
      default: throw UsageError(description: "there is no option \(argument)")
      }
    }
  }

  private static func number(_ text: String, _ argument: String) throws(UsageError) -> UInt64 {
    guard let number = UInt64(text) else { throw UsageError(description: "\(argument) has no number") }
    return number
  }

  private static func list(_ text: String, _ argument: String) throws(UsageError) -> Set<Int> {
    var steps: Set<Int> = []
    for part in text.split(separator: ",") {
      let ends = part.split(separator: "-").map { Int($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last, ends.count <= 2 else {
        throw UsageError(description: "\(argument) is no list of steps")
      }
      steps.formUnion(first...last)
    }
    return steps
  }

  /// Steps as `--keep` takes them.
  static func text(of steps: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for step in steps {
      if let last = ranges.last, last.upperBound + 1 == step {
        ranges[ranges.count - 1] = last.lowerBound...step
      } else {
        ranges.append(step...step)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
      .joined(separator: ",")
  }
}
