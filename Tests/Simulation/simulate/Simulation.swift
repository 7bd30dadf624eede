// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import Glibc
import TribuneServer
import TribuneSystem

@MainActor
enum Simulation {
  /// Short enough for a failure to be understood, long enough for slow processes.
  static let stepsOfLife = 2000

  static func main(_ arguments: [String]) -> Int32 {
    let options: Options
    do throws(Options.UsageError) {
      options = try Options(parsing: arguments)
    } catch {
      StandardError.writeLine("simulate: \(error); see simulate --help")
      return 2
    }
    if options.isHelp {
      print(Options.help)
      return 0
    }
    Life.isTold = options.isTold
    // Two runs of one seed must be the same, so hashing must not differ between processes.
    guard unsafe getenv("SWIFT_DETERMINISTIC_HASHING") != nil else { return Worker.startAgain(arguments) }
    return options.isWorker ? Worker(options).run() : Supervisor(options).run()
  }
}

struct Options {
  struct UsageError: Error, CustomStringConvertible { let description: String }

  static let help = """
    usage: simulate [--steps=N] [--seconds=N]
           simulate --seed=N [--steps=N] [--keep=LIST] [--tell]
      --seed=N      one life, the one of this number; else fresh ones, whose numbers are printed
      --steps=N     so many steps in all, in lives of 2,000: 1,000,000; of one life: 2,000
      --seconds=N   no new life begins after so long: 3,600; a failure if steps are missing
      --keep=LIST   only these steps of the life, as in 1-20,37
      --tell        says all that happens: the step, the bus's clock in microseconds, and what it does
    The status is 0, 1 after a failure, and 2 where nothing could be simulated.
    """
  private static let stepsMax: UInt64 = 1_000_000_000_000

  var seed: UInt64?
  var steps: Int?
  var seconds = 3600
  var kept: Set<Int>?
  var isTold = false
  var isHelp = false
  var isWorker = false

  init(parsing arguments: [String]) throws(UsageError) {
    var given: Set<Substring> = []
    var list: (text: String, argument: String)?
    for argument in arguments {
      let parts = argument.split(separator: "=", maxSplits: 1)
      let value = parts.count == 2 ? String(parts[1]) : ""
      guard let name = parts.first, given.insert(name).inserted else {
        throw UsageError(description: "\(argument) comes after another one")
      }
      switch name {
      case "--seed": seed = try Self.number(value, argument, in: 0...(.max))
      case "--steps": steps = Int(try Self.number(value, argument, in: 1...Self.stepsMax))
      case "--seconds": seconds = Int(try Self.number(value, argument, in: 1...Self.stepsMax))
      case "--keep": list = (value, argument)
      case "--tell": isTold = true
      case "--help", "-h": isHelp = true
      case "--worker": isWorker = true
      default: throw UsageError(description: "there is no option \(argument)")
      }
    }
    if let list { kept = try Self.list(list.text, list.argument, upTo: steps ?? Simulation.stepsOfLife) }
    for name in ["--keep", "--tell"] where given.contains(name[...]) && seed == nil && !isWorker {
      throw UsageError(description: "\(name) is for one life: it needs --seed")
    }
    guard seed == nil || !given.contains("--seconds") else {
      throw UsageError(description: "--seconds is for fresh lives, and not for one")
    }
  }

  private static func number(
    _ text: String, _ argument: String, in range: ClosedRange<UInt64>
  ) throws(UsageError) -> UInt64 {
    guard let number = UInt64(text), range.contains(number) else {
      throw UsageError(
        description: "\(argument) has no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func list(
    _ text: String, _ argument: String, upTo last: Int
  ) throws(UsageError) -> Set<Int> {
    var steps: Set<Int> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
      guard let first = ends.first, let end = ends.last, 1 <= first, first <= end, end <= last,
        ends.count <= 2
      else { throw UsageError(description: "\(argument) is no list of steps from 1 to \(last)") }
      steps.formUnion(first...end)
    }
    return steps
  }

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
