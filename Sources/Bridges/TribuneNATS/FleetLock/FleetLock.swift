// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneHTTP
import TribuneJSON
import TribuneService
import TribuneSystem
import TribuneWire

/// Answers FleetLock's calls: a client that is about to reboot gets the lease of its group, and releases it when it works
/// again. Nobody is told that it has a lease unless JetStream has confirmed that.
final class FleetLock {
  private static let connectionsMax = 256
  /// How long those who may veto have. With the time that a lease can take, it is less than a connection has.
  private static let deadline = Duration.seconds(10)
  /// By when the bus says how it has ended, unless it hangs.
  private static let answerMax = deadline + .seconds(2)
  /// At a time. Other hosts answer 64 questions of one at a time, and others than clients of FleetLock ask, too.
  private static let questionsMax = 16
  /// Bytes of the reasons that a client is told.
  private static let reasonsMax = 2_048

  private let settings: FleetLockSettings
  private let site: FleetLockSite
  private let mark: Instance
  private let leases: Leases
  private let bus: () -> Connection?
  private var listeners: [HTTPListener] = []
  private var questions = 0

  init(_ settings: FleetLockSettings, _ mark: Instance, leases: Leases, bus: @escaping () -> Connection?) {
    (self.settings, self.mark, self.leases, self.bus) = (settings, mark, leases, bus)
    site = FleetLockSite(settings.access)
  }

  /// What is wrong with one socket does not keep the gateway from its other work.
  func serve(_ sockets: [(descriptor: CInt, name: String)]) {
    let limits = HTTPListener.Limits(connections: Self.connectionsMax, streams: 0)
    for (descriptor, name) in sockets {
      do {
        let listener = try HTTPListener.serving(
          descriptor, named: name, settings.access, from: "nats.conf", limits
        ) { [unowned self] in answer($0) }
        listeners.append(listener)
      } catch {
        ServiceLog.error("FleetLock is not served: \(error)")
      }
    }
    if !sockets.isEmpty, settings.groups.isEmpty {
      ServiceLog.warning("nats.conf has no [FleetLock \"GROUP\"], so each call is refused")
    }
  }

  private func answer(_ request: HTTPRequest) -> HTTPAnswer {
    do throws(FleetLockError) {
      let call = try site.call(for: request)
      return .body { [unowned self] in await response(to: call, $0) }
    } catch {
      return .response(error.response)
    }
  }

  private func response(to call: FleetLockSite.Call, _ body: [UInt8]) async -> HTTPResponse {
    do throws(FleetLockError) {
      let state = try await perform(call, try FleetLockRequest(body))
      return HTTPResponse(
        type: "application/json", JSONValue.object([("state", .string(state))]).compactBytes)
    } catch {
      return error.response
    }
  }

  private func perform(
    _ call: FleetLockSite.Call, _ request: FleetLockRequest
  ) async throws(FleetLockError) -> String {
    guard let group = settings.groups[request.group] else {
      throw FleetLockError(
        .unknownGroup, "nats.conf has no [FleetLock \"\(request.group.prefix(utf8Length: 255))\"]")
    }
    if let lack = leases.lack { throw FleetLockError(.unreachable, "cluster unreachable: \(lack)") }
    let lease = FleetLockSettings.lease(of: request.group)
    let client = FleetLockClient.owner(request.id)
    switch call {
    case .preReboot:
      if let lack = group.lack { throw FleetLockError(.misconfigured, lack) }
      if let question = group.question { try await requirePermission(question, request) }
      let conclusion = await leases.acquire(lease, slots: group.slots, for: client)
      if let error = FleetLockError(conclusion, lease) { throw error }
      return "acquired"
    case .steadyState:
      let conclusion = await leases.release(lease, of: client)
      // A client says so whenever it starts, whether or not it had the lease.
      if case .absent = conclusion { return "absent" }
      if let error = FleetLockError(conclusion, lease) { throw error }
      return "released"
    }
  }

  private func requirePermission(_ name: String, _ request: FleetLockRequest) async throws(FleetLockError) {
    guard questions < Self.questionsMax else {
      throw FleetLockError(.noVerdict, "too many questions for clients are under way")
    }
    questions += 1
    defer { questions -= 1 }
    guard let bus = bus() else { throw FleetLockError(.noVerdict, "the bus of this gateway is gone") }
    let verdict: Tribune.Verdict
    do throws(TribuneError) {
      verdict = try await ask(bus, name, request).get()
    } catch {
      throw FleetLockError(.noVerdict, "\(name) cannot be asked: \(error)")
    }
    guard !verdict.isAllowed else { return }
    let reasons = verdict.objections.joined(separator: "; ").prefix(utf8Length: Self.reasonsMax)
    ServiceLog.info("\(FleetLockClient.owner(request.id)) may not reboot: \(reasons)")
    throw FleetLockError(.vetoed, "\(name): \(reasons)")
  }

  /// Asks the bus, and takes no answer for an error: it may hang.
  private func ask(
    _ bus: Connection, _ name: String, _ request: FleetLockRequest
  ) async -> Result<Tribune.Verdict, TribuneError> {
    let userInfo = FleetLockQuestion.userInfo(group: request.group, mark)
    let asking = Task { () async -> Result<Tribune.Verdict, TribuneError> in
      do throws(TribuneError) {
        return .success(
          try await bus.ask(
            name, object: request.id, userInfo: userInfo, deadline: min(Self.deadline, bus.bus.deadlineMax),
            mode: .all))
      } catch {
        return .failure(error)
      }
    }
    let alarm = Task {
      await rest(for: Self.answerMax)
      asking.cancel()
    }
    defer { alarm.cancel() }
    return await asking.value
  }
}

/// The question whether a client of FleetLock may reboot, as a gateway asks it on the bus of its host.
nonisolated enum FleetLockQuestion {
  static func userInfo(group: String, _ mark: Instance) -> UserInfo {
    UserInfo(
      JSONValue.object([("group", .string(group)), ("mark", .string(mark.text))]).compactBytes)
  }

  /// What other hosts learn of the question: not the mark, with which they could have this host ask in its own name.
  ///
  /// - Returns: nil if this gateway does not ask it for a client. All else that a gateway asks, it asks for another host.
  static func userInfoForOthers(_ question: Tribune.Question, _ mark: Instance) -> UserInfo? {
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
