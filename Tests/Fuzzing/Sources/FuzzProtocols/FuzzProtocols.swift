// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneProtocols

@main
struct FuzzProtocols {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Reads the input as two protocol files with a zero between them, for two owners. The result must survive writing
/// and reading, and removal must be complete.
@c(LLVMFuzzerTestOneInput)
public func fuzzProtocols(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
  let sources = parts.enumerated().map { ProtocolSource(file: "\($0)", text: Array($1)) }
  var library = ProtocolLibrary<Int>()
  let diagnostics = library.load(sources)
  precondition(diagnostics.allSatisfy { $0.location.line > 0 && $0.location.column > 0 })
  checkAgain(library)
  checkOwners(sources)
  return 0
}

private func checkAgain(_ library: ProtocolLibrary<Int>) {
  let texts = library.protocols.map { ProtocolSource(file: $0.name, text: Array($0.text.utf8)) }
  var again = ProtocolLibrary<Int>()
  precondition(again.load(texts).isEmpty)
  precondition(again.protocols.map(\.text) == library.protocols.map(\.text))
  for linked in library.protocols {
    precondition(again[linked.name]?.isSame(as: linked) == true)
    precondition(linked.methods.allSatisfy { linked.isOrInherits(from: $0.origin) })
    precondition(linked.ancestors.allSatisfy { $0 !== linked })
  }
}

private func checkOwners(_ sources: [ProtocolSource]) {
  var library = ProtocolLibrary<Int>()
  for (owner, source) in sources.enumerated() {
    let before = library.protocols.map(\.text)
    do throws(ProtocolLibrary<Int>.Refusal) {
      try library.add(source, for: owner)
    } catch {
      precondition(!error.diagnostics.isEmpty && library.protocols.map(\.text) == before)
    }
  }
  for owner in sources.indices { library.remove(owner) }
  precondition(library.protocols.isEmpty)
}
