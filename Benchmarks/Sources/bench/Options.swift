// SPDX-License-Identifier: Apache-2.0

struct Options {
  static let usage = """
    usage: bench --tribuned=PROGRAM --tribunectl=PROGRAM --relay=PROGRAM [--peers=FOLDER[:FOLDER]…]
                 [--quick] [--only=WORK[,WORK]…] [--output=FOLDER]
           bench --list
      --peers=FOLDER…  where other buses are, if not in PATH
      --quick          only checks that all that is sent arrives: few messages, nothing about time
      --only=WORK,…    measures these alone
      --output=FOLDER  writes results.md, results.json and the charts there, rather than the tables to
                       standard output
      --list           what can be measured
    """

  enum Job {
    case measure
    case list
    case help
  }

  var job = Job.measure
  var programs = Programs()
  var effort = Effort.full
  /// Names of works; empty for all.
  var only: [String] = []
  var output: String?

  struct UsageError: Error, CustomStringConvertible {
    var description: String
  }

  init(_ arguments: some Sequence<String>) throws {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      func value() throws -> String {
        if parts.count == 2 { return String(parts[1]) }
        guard let next = rest.popFirst() else { throw UsageError(description: "\(name) needs a value") }
        return next
      }
      switch name {
      case "--tribuned": programs.tribuned = try value()
      case "--tribunectl": programs.tribunectl = try value()
      case "--relay": programs.relay = try value()
      case "--peers": programs.peers = try value()
      case "--output": output = try value()
      case "--only": only += try value().split(separator: ",").map(String.init)
      case "--quick": effort = .quick
      case "--list": job = .list
      case "--help", "-h": job = .help
      default: throw UsageError(description: "unknown option \(argument)")
      }
    }
    let ours = [programs.tribuned, programs.tribunectl, programs.relay]
    guard job != .measure || !ours.contains("") else {
      throw UsageError(description: "--tribuned, --tribunectl and --relay are needed")
    }
    guard effort.isTimed || output == nil else {
      throw UsageError(description: "--quick has no figures to write")
    }
  }
}
