// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// Why a command ends early: what to say, and the status to exit with.
struct CommandError: Error, Equatable, Sendable {
  /// Empty when there is nothing to say.
  var message: String
  var status: Int32

  /// What was typed is wrong.
  static func usage(_ message: String) -> CommandError {
    CommandError(message: message, status: ExitStatus.usage)
  }

  /// It did not work out.
  static func failure(_ message: String) -> CommandError {
    CommandError(message: message, status: ExitStatus.failure)
  }

  /// There is nothing more to do, and nothing to say.
  static func ended(_ status: Int32) -> CommandError {
    CommandError(message: "", status: status)
  }

  /// Nobody knows whether it is allowed.
  static func noVerdict(_ message: String) -> CommandError {
    CommandError(message: message, status: ExitStatus.noVerdict)
  }

  /// The bus, or the way to it, did not let it.
  init(_ error: TribuneError, status: Int32 = ExitStatus.failure) {
    self.init(message: error.message.terminalSafe, status: status)
  }

  init(message: String, status: Int32) {
    self.message = message
    self.status = status
  }
}

/// The exit statuses that mean something.
enum ExitStatus {
  static let success: Int32 = 0
  static let failure: Int32 = 1
  static let usage: Int32 = 2
  /// `ask`: somebody vetoed.
  static let vetoed: Int32 = 1
  /// `post --wait`: not all who were waited for have acknowledged.
  static let notAcknowledged: Int32 = 1
  /// `post --wait`: nobody knows who has acknowledged.
  static let noReply: Int32 = 255
  /// `guard`: somebody vetoed, unless `--veto-exit-code` says otherwise. sysexits(3)'s EX_NOPERM.
  static let guardVetoed: Int32 = 77
  /// A command is there but cannot be run, and it is not there: as in shells.
  static let cannotRun: Int32 = 126
  static let commandNotFound: Int32 = 127

  /// That of a command that could not be started.
  static func ofCommand(notStarted error: Errno) -> Int32 {
    error == .noSuchFile ? commandNotFound : cannotRun
  }

  /// There is no verdict. `ExecCondition=` fails the unit for it, rather than skip it.
  static let noVerdict: Int32 = 255
}
