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

  /// What other hosts learn of the question: not the mark, with which they could have this host ask in its own name.
  ///
  /// - Returns: nil if this gateway does not ask it for a client. All else that a gateway asks, it asks for another host.
  package static func userInfoForOthers(_ question: Tribune.Question, _ mark: Instance) -> UserInfo? {
    guard UInt32(bitPattern: question.asker.pid) == ThisProcess.id else { return nil }
    do throws(JSONText.SyntaxError) {
      let root = try JSONDocument(question.userInfo.bytes.rawBytes).root
      guard root["mark"]?.string == mark.text, let group = root["group"]?.string else { return nil }
      return UserInfo(JSONValue.object([("group", .string(group))]).compactBytes)
    } catch {
      return nil
    }
  }
}
