// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

struct CommandError: Error, Equatable, Sendable {
  var message: String
  var status: Int32

  static func usage(_ message: String) -> CommandError {
    CommandError(message: message, status: ExitStatus.usage)
  }

  static func failure(_ message: String) -> CommandError {
    CommandError(message: message, status: ExitStatus.failure)
  }

  static func cannotStart(_ command: [[UInt8]], _ error: Errno) -> CommandError {
    CommandError(
      message: error.message(starting: command).terminalSafe, status: ExitStatus.ofCommand(notStarted: error))
  }

  static func ended(_ status: Int32) -> CommandError { CommandError(message: "", status: status) }
}

extension CommandError {
  init(_ error: TribuneError, status: Int32 = ExitStatus.failure) {
    self.init(message: error.message.terminalSafe, status: status)
  }
}

func orEnd<Answer>(
  with status: Int32 = ExitStatus.failure, _ work: () async throws(TribuneError) -> Answer
) async throws(CommandError) -> Answer {
  do throws(TribuneError) {
    return try await work()
  } catch {
    throw CommandError(error, status: status)
  }
}

extension Errno {
  func message(starting command: [[UInt8]]) -> String {
    let path = command.first ?? []
    // The kernel gives the same error for a missing script and for a script whose interpreter is missing.
    let reason =
      if self != .noSuchFile {
        "\(self)"
      } else if !path.contains(UInt8(ascii: "/")) {
        "\(self) in PATH, \(ProgramFile.searchPath)"
      } else {
        Folder.kind(of: path) == nil ? "\(self)" : "its interpreter does not exist"
      }
    return "\(String(decoding: path, as: UTF8.self)) cannot be run: \(reason)"
  }
}

enum ExitStatus {
  static let success: Int32 = 0
  static let failure: Int32 = 1
  static let usage: Int32 = 2
  /// `ask`: the query was vetoed. A command of `delegate` vetoes with this status.
  static let vetoed: Int32 = 1
  /// A command of `delegate` abstains with this status, which common programs do not use.
  static let abstained: Int32 = 198
  /// `post --wait`: at least one awaited observer has not acknowledged.
  static let notAcknowledged: Int32 = 1
  /// `post --wait`, `get`: the reply is missing.
  static let noReply: Int32 = 255
  /// `guard`: the query was vetoed. The value is EX_NOPERM of sysexits(3); `--veto-exit-code` replaces it.
  static let guardVetoed: Int32 = 77
  /// `lease`: the lease did not become free within `--wait=`. The value is EX_TEMPFAIL of sysexits(3).
  static let leaseBusy: Int32 = 75
  static let cannotRun: Int32 = 126
  static let commandNotFound: Int32 = 127

  static func ofCommand(notStarted error: Errno) -> Int32 {
    error == .noSuchFile ? commandNotFound : cannotRun
  }

  /// There is no verdict. If `ExecCondition=` exits with 255, the unit fails; with 1 to 254, systemd skips
  /// the unit.
  static let noVerdict: Int32 = 255
}
