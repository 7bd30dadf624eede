// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

@testable import TribuneCommands

func parsed(_ line: [String]) throws -> Invocation {
  guard case .run(let invocation) = try CommandLineParser.parse(line.map { Array($0.utf8) }) else {
    throw CommandError.usage("no verb runs for \(line)")
  }
  return invocation
}

func makeContext(_ line: [String] = ["list"]) throws -> Context {
  try Context(
    try parsed(line), terminal: Terminal(isTerminal: false, isColoured: false),
    signals: try SignalWatch([]))
}
