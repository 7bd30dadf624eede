// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

/// Makes workers run lives, adds up their reports, and shortens the history of the first failure.
@MainActor
final class Supervisor {
  private static let shrinkingSeconds = 90

  /// Fresh lives have at least one death in this many steps.
  private static let stepsPerDeath = 100

  /// A dead bus keeps some descriptors, which only the end of the worker's process closes.
  private static let livesOfWorkerMax = 100

  private let options: Options
  private let began = time(nil)

  init(_ options: Options) { self.options = options }

  private static let descriptorsMin: rlim_t = 1024

  func run() -> Int32 {
    var limit = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur >= Self.descriptorsMin else {
      StandardError.writeLine(
        "simulate: a life needs \(Self.descriptorsMin) descriptors, and may have \(limit.rlim_cur) (ulimit -n)"
      )
      return 2
    }
    if let seed = options.seed {
      if options.isTold { return tell(seed) }
      return report(on: [seed], steps: options.steps ?? Simulation.stepsOfLife)
    }
    let first = UInt64.random(in: 0...(1 << 48))
    let steps = options.steps ?? 1_000_000
    let lives = (steps + Simulation.stepsOfLife - 1) / Simulation.stepsOfLife
    say("simulate: \(lives) lives of \(Simulation.stepsOfLife) steps, seeds from \(first) on")
    return report(on: (0..<UInt64(lives)).map { first + $0 }, steps: Simulation.stepsOfLife)
  }

  private func say(_ line: String) {
    print(line)
    fflush(nil)
  }

  // MARK: Lives

  private func report(on seeds: [UInt64], steps: Int) -> Int32 {
    var total = Life.Counts()
    var next = 0
    var failed: (order: Order, what: String, end: WorkerProcess.End?)?
    var running: [(process: WorkerProcess, order: Order, lives: Int)] = []
    var reports: [UInt64: String] = [:]
    var told = began
    func order() -> Order? {
      guard next < seeds.count, failed == nil else { return nil }
      if options.seed == nil, time(nil) - began >= options.seconds { return nil }
      defer { next += 1 }
      return Order(seed: seeds[next], steps: steps, kept: options.kept)
    }
    for _ in 0..<2 {
      guard let first = order() else { break }
      let process = WorkerProcess()
      process.send(first)
      running.append((process, first, 1))
    }
    while !running.isEmpty {
      let (index, answer) = WorkerProcess.next(of: running.map(\.process)) {
        guard time(nil) - told >= 20 else { return }
        told = time(nil)
        var all = total
        all.steps += running.reduce(0) { $0 + $1.process.step }
        say("simulate: \(all.text)")
      }
      let (process, done, lives) = running[index]
      switch answer {
      case .report(let report):
        total += report.counts
        reports[done.seed] = "\(report)"
        if let failure = report.failure, failed == nil {
          failed = (done, "step \(failure.step): \(failure.what)", nil)
        }
      case .end(.unable): return 2
      case .end(let end): if failed == nil { failed = (done, "\(end)", end) }
      }
      if let another = order() {
        let isUsedUp = lives >= Self.livesOfWorkerMax
        if isUsedUp { process.end() }
        let next = isUsedUp ? WorkerProcess() : process
        next.send(another)
        running[index] = (next, another, isUsedUp ? 1 : lives + 1)
      } else {
        process.end()
        running.remove(at: index)
      }
    }
    if let failed {
      explain(failed.order, failed.what, isShortened: failed.end != .hung)
      return 1
    }
    say("simulate: \(total.text)")
    if let flaw = Self.flaw(of: total, lives: seeds.count, steps: options.kept?.count ?? steps) {
      say("simulate: FAILED: \(flaw)")
      return 1
    }
    return isSameAgain(reports, steps: steps) ? 0 : 1
  }

  /// The reason why lives without a failure prove too little.
  private static func flaw(of total: Life.Counts, lives: Int, steps: Int) -> String? {
    if total.steps < lives * steps {
      return "only \(total.steps) of \(lives * steps) steps in the time given"
    }
    let deathsMin = lives * steps / stepsPerDeath
    if lives >= 100, total.deaths < deathsMin {
      return "\(total.deaths) deaths, and not \(deathsMin) at least"
    }
    return nil
  }

  private func isSameAgain(_ reports: [UInt64: String], steps: Int) -> Bool {
    let process = WorkerProcess()
    defer { process.end() }
    for (seed, text) in reports.sorted(by: { $0.key < $1.key }).prefix(10) {
      let order = Order(seed: seed, steps: steps, kept: options.kept)
      process.send(order)
      guard case .report(let report) = process.receive(), "\(report)" == text else {
        say("simulate: FAILED: seed \(seed) is another life the second time")
        return false
      }
    }
    return true
  }

  // MARK: Failures

  private func explain(_ order: Order, _ what: String, isShortened: Bool) {
    say("simulate: FAILED: seed \(order.seed), \(what)")
    var command = ".build/simulation/release/simulate --tell --seed=\(order.seed) --steps=\(order.steps)"
    if isShortened {
      say("simulate: looking for the shortest history that still fails …")
      let (kept, last) = shrink(order, what)
      say("simulate: \(kept.count) of \(order.steps) steps are enough: \(last)")
      command += " --keep=\(Options.text(of: kept.isEmpty ? [1] : kept))"
    } else if let kept = order.kept {
      command += " --keep=\(Options.text(of: kept.sorted()))"
    }
    say("simulate: to see it:\n  \(command)")
  }

  private func shrink(_ order: Order, _ what: String) -> (kept: [Int], last: String) {
    var kept = (order.kept.map { $0.sorted() } ?? Array(1...order.steps))
    var last = what
    var process = WorkerProcess()
    defer { process.end() }
    let deadline = time(nil) + Self.shrinkingSeconds
    func fails(_ candidate: [Int]) -> Bool {
      process.send(Order(seed: order.seed, steps: order.steps, kept: Set(candidate)))
      switch process.receive() {
      case .end(let end):
        process = WorkerProcess()
        return "\(end)" == what
      case .report(let report):
        guard let failure = report.failure else { return false }
        let text = "step \(failure.step): \(failure.what)"
        guard Self.kind(of: text) == Self.kind(of: what) else { return false }
        last = text
        return true
      }
    }
    for seat in Set(kept.map { Life.seat(ofStep: $0, seed: order.seed) }).sorted() where time(nil) < deadline
    {
      let candidate = kept.filter { Life.seat(ofStep: $0, seed: order.seed) != seat }
      if fails(candidate) { kept = candidate }
    }
    var size = max(1, kept.count / 2)
    while time(nil) < deadline {
      var index = 0
      var hasShrunk = false
      while index < kept.count, time(nil) < deadline {
        let candidate = Array(kept[..<index] + kept[min(kept.count, index + size)...])
        if fails(candidate) {
          kept = candidate
          hasShrunk = true
        } else {
          index += size
        }
      }
      if size == 1, !hasShrunk { break }
      size = max(1, size / 2)
    }
    return (kept, last)
  }

  private static func kind(of what: String) -> String { String(what.filter { $0.isLetter }.prefix(40)) }

  private func tell(_ seed: UInt64) -> Int32 {
    let process = WorkerProcess(isTold: true)
    defer { process.end() }
    process.send(Order(seed: seed, steps: options.steps ?? Simulation.stepsOfLife, kept: options.kept))
    switch process.receive() {
    case .end(let end):
      say("simulate: FAILED: \(end)")
      return end == .unable ? 2 : 1
    case .report(let report):
      say("simulate: \(report.counts.text)")
      guard let failure = report.failure else { return 0 }
      say("simulate: FAILED: step \(failure.step): \(failure.what)")
      return 1
    }
  }
}
