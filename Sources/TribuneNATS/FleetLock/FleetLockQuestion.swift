// SPDX-License-Identifier: Apache-2.0

package import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// The question whether a client of FleetLock may reboot, as a gateway asks it on the bus of its host.
nonisolated package enum FleetLockQuestion {
  package static func userInfo(group: String, _ mark: Instance) -> UserInfo {
    UserInfo(
      JSONValue.object([("group", .string(group)), ("mark", .string(mark.text))]).compactBytes)
  }

  /// Whether this gateway asks it for a client. All else that a gateway asks, it asks for another host.
  package static func isOwn(_ question: Tribune.Question, _ mark: Instance) -> Bool {
    guard UInt32(bitPattern: question.asker.pid) == ThisProcess.id else { return false }
    do throws(JSONText.SyntaxError) {
      return try JSONDocument(question.userInfo.bytes.rawBytes).root["mark"]?.string == mark.text
    } catch {
      return false
    }
  }
}
