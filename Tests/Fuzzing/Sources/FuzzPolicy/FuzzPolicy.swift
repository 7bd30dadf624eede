// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribunePolicy
import TribuneWire

@main
struct FuzzPolicy {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Reads the input as a policy file and, after a zero, as expectations. Each line must decide as it does alone, and
/// each expectation must get an answer.
@c(LLVMFuzzerTestOneInput)
public func fuzzPolicy(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
  var parser = PolicyParser(lookup)
  parser.read(Array(parts[0]), file: "policy")
  if parts.count > 1 { parser.read(tests: Array(parts[1]), file: "test") }
  precondition(parser.diagnostics.allSatisfy { $0.line > 0 && $0.column > 0 })
  for line in parser.lines {
    var again = PolicyParser(lookup)
    again.read(Array(line.text.utf8), file: line.origin.file)
    guard var same = again.lines.first, again.lines.count == 1 else {
      preconditionFailure("\(line.text) does not read back")
    }
    same.origin = line.origin
    precondition(same == line)
  }
  let policy = Policy(parser.lines)
  for test in parser.tests {
    let isAllowed = policy.wholeDecision(on: test.request, by: test.subject).decision.isAllowed
    precondition((test.failure(of: policy) == nil) == (isAllowed == test.isAllowed))
    _ = policy.nearMisses(to: test.request, by: test.subject, count: 5)
  }
  return 0
}

private let lookup = NameLookup(
  user: { ["root": 0, "ann": 1000][$0] }, group: { ["operators": 2000][$0] })
