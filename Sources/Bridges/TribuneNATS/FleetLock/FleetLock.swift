// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneHTTP
import TribuneJSON
import TribuneService
import TribuneSystem
import TribuneWire

/// Serves the FleetLock protocol. A client acquires its group's lease (a lock in JetStream) before a reboot,
/// and releases it afterwards. The client learns of success only after JetStream has confirmed the change.
final class FleetLock {
  private static let connectionsMax = 256
  /// The bus's time for a verdict. Together with the time to change the lease, this time is below an HTTP
  /// connection's deadline.
  private static let deadline = Duration.seconds(10)
  /// The bus replies within this time, unless it hangs.
  private static let answerMax = deadline + .seconds(2)
  /// Another host answers at most 64 questions of this host at a time. FleetLock must not use all of them.
  private static let questionsMax = 16
  /// In bytes.
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

  /// Serves all sockets that systemd has passed. A bad socket does not stop the gateway.
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
      // A client sends this call at each start, even without a lease, so a missing lease is not an error.
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

  /// Asks the bus. The bus may hang, so the wait ends after `answerMax`.
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

/// The userInfo of the question that the gateway asks before a FleetLock client reboots.
nonisolated enum FleetLockQuestion {
  static func userInfo(group: String, _ mark: Instance) -> UserInfo {
    UserInfo(
      JSONValue.object([("group", .string(group)), ("mark", .string(mark.text))]).compactBytes)
  }

  /// The userInfo for asking the other hosts; nil if this gateway did not ask the question for a FleetLock
  /// client. The secret `mark` shows that it did. The result lacks this secret.
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
