// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

struct TopCommand: Command {
  /// If the command prints the table once, a signal has its default effect, which ends the command.
  var signals: [Int32] {
    library == nil ? [] : TopSession.ending + JobControl.signals + [Signals.windowChange]
  }

  /// The permitted delays. Shorter delays would disturb the watched bus.
  private static let delays = Duration.milliseconds(100)...Duration.seconds(3600)

  private let view: TopView
  private let delay: Duration
  /// Nil to print the table once: with --once, for a program, or without a terminal that ncurses can use.
  private let library: NcursesLibrary?

  init(_ invocation: Invocation) throws(CommandError) {
    view = invocation.text(.view).flatMap { TopView(rawValue: $0) } ?? .delegates
    delay = invocation.span(.delay)?.duration ?? .seconds(2)
    guard Self.delays.contains(delay) else {
      throw .usage(
        "--delay must be from \(Self.delays.lowerBound.formatted) to \(Self.delays.upperBound.formatted)")
    }
    let output = try Context.Output(invocation, isTerminal: StandardOutput.isTerminal)
    if output.writesValues || invocation.has(.once) || !StandardInput.isTerminal
      || !StandardOutput.isTerminal
    {
      library = nil
    } else {
      let library = try NcursesLibrary()
      self.library = library.canDraw ? library : nil
    }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    if let library {
      let session = try await TopSession.begin(view, with: library, in: context)
      await session?.run(every: delay)
    } else {
      let sample = try await context.request { [view] connection throws(TribuneError) in
        try await TopSample.take(of: view, over: connection)
      }
      try show(sample, in: context)
    }
    return ExitStatus.success
  }

  private func show(_ sample: TopSample, in context: Context) throws(CommandError) {
    if let refusal = sample.refusal { throw .failure(refusal.terminalSafe) }
    if let restriction = sample.restriction {
      context.terminal.report("not all is shown: \(restriction.terminalSafe)")
    }
    var model = TopModel(view: view, size: TopSize(rows: 0, columns: 0))
    model.take(sample)
    let shown = view.columns.indices.filter { !view.columns[$0].isRate }
    var table = Table(
      shown.map { view.columns[$0] }
        .map { Table.Column(title: $0.title, isNumeric: !$0.isText, rank: $0.rank) })
    for row in model.rows {
      var texts = shown.map { row.values[$0].shown }
      texts[texts.count - 1] = row.branch + texts[texts.count - 1]
      table.append(texts, styles: row.isMarked ? [view.columns[view.sortColumn].title: .red] : [:])
    }
    try context.list(
      sample.json, text: try context.text(of: table),
      legend: "\(model.rows.count.counted("row")) of \(view.rawValue) listed.")
  }
}
