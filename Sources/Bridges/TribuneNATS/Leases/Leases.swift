// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneSystem
import TribuneWire

/// Serves requests of local programs and of FleetLock clients for leases, which are locks of the cluster.
@MainActor
final class Leases: Delegate {
  /// How long a change may take. The bus gives the delegate more time (`timeout`).
  private static let span = Duration.seconds(12)
  private static let timeout = Duration.seconds(20)
  private static let requestsMax = 64
  private static let noticesMax = 64

  private let settings: NATSSettings
  private let subjects: Subjects
  private let instance: Instance
  private let publisher: Publisher
  private let isPresent: (String) -> Bool
  private let double: DoubledHost
  private let machine = MachineID.current
  private let boot = BootID.current
  private let storage: LeaseQueue
  private let changes: LeaseChanges
  private var requests = 0
  private var posting = 0
  private var bus: Connection?

  init(
    _ settings: NATSSettings, _ subjects: Subjects, _ instance: Instance, publisher: Publisher,
    double: DoubledHost, isPresent: @escaping (String) -> Bool
  ) {
    (self.settings, self.subjects, self.instance, self.publisher) = (settings, subjects, instance, publisher)
    (self.double, self.isPresent) = (double, isPresent)
    storage = LeaseQueue(publisher, CurrentLeaseStore(cluster: settings.cluster, replicas: settings.replicas))
    changes = LeaseChanges(in: storage, span: Self.span) { [boot] in Self.isRunning($0, boot) }
  }

  func serve(_ bus: Connection, _ tries: BusTries) async {
    self.bus = bus
    await bus.persist(.leases, tries, lack: "nobody can ask about leases") { () async throws(TribuneError) in
      try await bus.attach(
        self, respondingTo: LeaseRequest.names, onFailure: .veto, timeout: Self.timeout, label: "leases")
    }
  }

  var lack: String? { settings.lack ?? publisher.lack }

  func leave() { bus = nil }

  // MARK: Local requests

  /// Abstains if a gateway asks on behalf of another host, because that host's own gateway answers.
  func answer(_ question: Tribune.Question) async throws -> Tribune.Answer {
    guard question.wantsValue, LoopRule.allows(asker: question.asker) else { return .abstain }
    do throws(LeaseRequest.Mistake) {
      return await answer(try LeaseRequest(question), question)
    } catch {
      return .failed(error.message)
    }
  }

  private func answer(_ request: LeaseRequest, _ question: Tribune.Question) async -> Tribune.Answer {
    if let lack { return .failed("cluster unreachable: \(lack)") }
    guard requests < Self.requestsMax else { return .failed("too many requests about leases are under way") }
    requests += 1
    defer { requests -= 1 }
    switch request {
    case .acquire(let id, let slots, let label):
      return await acquire(question.object, id, slots, label, for: question.asker)
    case .release(let id): return await release(question.object, id)
    case .remove(let host, let why):
      return await remove(host, why, from: question.object, for: question.asker)
    case .list: return await list()
    }
  }

  private func acquire(
    _ name: String, _ id: String, _ slots: Int, _ label: String, for asker: Asker
  ) async -> Tribune.Answer {
    if let doubt = await double.knownDoubt() { return .failed(doubt) }
    // Without a process id, two commands of this host could share a lease.
    guard asker.pid > 0 else { return .failed("the bus does not know the process that asks") }
    let pid = Int(asker.pid)
    let owner = LeaseOwner(
      host: settings.host, id: id, machine: machine, boot: boot, pid: pid,
      start: ProcessFacts.startTicks(of: asker.pid),
      label: label, uid: Int(asker.uid), unit: asker.unit.prefix(utf8Length: LeaseOwner.textMax),
      since: Int(SystemClock.wallMicroseconds / 1_000_000))
    let conclusion = await changes.make(.acquire(owner, slots: slots), of: name)
    guard case .made(let made, let isAgain) = conclusion else {
      if case .undone = conclusion { tell(.released(owner: nil), of: name) }
      if case .unknown(let why) = conclusion, Task.isCancelled {
        ServiceLog.warning(
          "\(settings.host) may keep the lease \(name), which nobody waits for any more: \(why)")
      }
      return reply(conclusion, name)
    }
    let user = [made.label, "pid \(made.pid)"].filter { !$0.isEmpty }.joined(separator: ", ")
    ServiceLog.info("\(settings.host) has the lease \(name) (\(user))")
    return value([("state", .string("acquired")), ("again", .bool(isAgain)), ("since", .integer(made.since))])
  }

  private func release(_ name: String, _ id: String?) async -> Tribune.Answer {
    let conclusion = await changes.make(
      .release(host: settings.host, machine: machine, id: id), of: name)
    guard case .made = conclusion else { return reply(conclusion, name) }
    ServiceLog.info("\(settings.host) has released the lease \(name)")
    tell(.released(owner: nil), of: name)
    return value([("state", .string("released"))])
  }

  private func remove(_ host: String, _ why: String, from name: String, for asker: Asker) async
    -> Tribune.Answer
  {
    let conclusion = await changes.make(.remove(host: host, id: nil), of: name)
    guard case .made(let owner, _) = conclusion else { return reply(conclusion, name) }
    ServiceLog.notice(
      "the lease \(name) was taken from \(host) by \(asker.process) (pid \(asker.pid), uid \(asker.uid)): \(why)"
    )
    tell(.broken(owner: host, why: why), of: name)
    return value([("state", .string("broken")), ("owner", json(owner))])
  }

  private func reply(_ conclusion: LeaseAttempt.Conclusion, _ name: String) -> Tribune.Answer {
    switch conclusion {
    case .made: preconditionFailure("what was made has a reply of its own")
    case .busy(let record): value([("state", .string("busy"))] + members(record))
    case .absent(let record): value([("state", .string("absent"))] + members(record))
    case .refused(let why): value([("state", .string("refused")), ("why", .string(why))])
    case .failed(let why): .failed("\(why); nothing was changed")
    case .undone: .abstain
    case .unknown(let why):
      .failed("\(why); it is not known whether that was done: \"tribunectl leases\" shows who has \(name)")
    }
  }

  private func list() async -> Tribune.Answer {
    let end = ContinuousClock.now + Self.span
    do throws(LeaseStoreError) {
      let (names, isComplete) = try await storage.names(until: end).get()
      var leases: [JSONValue] = []
      for name in names {
        let stored = try await storage.read(name, after: .zero, until: end).get()
        if let bytes = stored.bytes { leases.append(listed(name, bytes)) }
      }
      return value([("leases", .array(leases)), ("complete", .bool(isComplete))])
    } catch {
      return .failed(error.message)
    }
  }

  private func listed(_ name: String, _ bytes: [UInt8]) -> JSONValue {
    do throws(LeaseRecordError) {
      return .object([("lease", .string(name))] + members(try LeaseRecord(bytes)))
    } catch {
      return .object([("lease", .string(name)), ("error", .string(error.message))])
    }
  }

  private func value(_ members: [(name: String, value: JSONValue)]) -> Tribune.Answer {
    .value(UserInfo(JSONValue.object(members).compactBytes))
  }

  private func members(_ record: LeaseRecord) -> [(name: String, value: JSONValue)] {
    [("slots", .integer(record.slots)), ("owners", .array(record.owners.map(json)))]
  }

  private func json(_ owner: LeaseOwner) -> JSONValue {
    let isHere = owner.host == settings.host
    let present: JSONValue =
      Subjects.isToken(owner.host) ? .bool(isHere || isPresent(owner.host)) : .null
    return .object([
      ("host", .string(owner.host)), ("present", present),
      ("since", .integer(owner.since)), ("label", .string(owner.label)), ("pid", .integer(owner.pid)),
      ("uid", .integer(owner.uid)), ("unit", .string(owner.unit)),
      ("running", isHere ? .bool(Self.isRunning(owner, boot)) : .null),
    ])
  }

  /// True if the owner's process runs on this host. False for a FleetLock client.
  nonisolated private static func isRunning(_ owner: LeaseOwner, _ boot: String) -> Bool {
    guard owner.pid > 0, owner.boot == boot, ProcessFacts.exists(Int32(clamping: owner.pid)) else {
      return false
    }
    let start = ProcessFacts.startTicks(of: Int32(clamping: owner.pid))
    return start == 0 || owner.start == 0 || start == owner.start
  }

  // MARK: FleetLock

  func acquire(_ name: String, slots: Int, for client: String) async -> LeaseAttempt.Conclusion {
    let owner = LeaseOwner(
      host: client, id: Instance().text, boot: "", label: "a reboot, through \(settings.host)",
      since: Int(SystemClock.wallMicroseconds / 1_000_000))
    let conclusion = await changes.make(.acquire(owner, slots: slots), of: name)
    if case .made(_, again: false) = conclusion { ServiceLog.info("\(client) has the lease \(name)") }
    return conclusion
  }

  func release(_ name: String, of client: String) async -> LeaseAttempt.Conclusion {
    let conclusion = await changes.make(.release(host: client, machine: "", id: nil), of: name)
    guard case .made = conclusion else { return conclusion }
    ServiceLog.info("\(client) has released the lease \(name)")
    tell(.released(owner: client), of: name)
    return conclusion
  }

  // MARK: Announcements

  private func tell(_ notice: LeaseNotice, of name: String) {
    _ = publisher.publish(
      ClusterMessage(
        subjects.lease(name), headers: notice.headers.merging([.instance: instance.text]) { $1 }))
    post(notice, of: name, by: settings.host)
  }

  func receive(_ message: ClusterMessage, from host: String, name: String) throws(EnvelopeError) {
    let notice = try LeaseNotice(message)
    if case .broken(settings.host, let why) = notice {
      ServiceLog.warning("on \(host), the lease \(name) was taken from this host: \(why)")
    }
    post(notice, of: name, by: host)
  }

  /// Posts a notice. If `noticesMax` posts already wait for the bus, drops the notice, because programs that
  /// wait for a lease also poll.
  private func post(_ notice: LeaseNotice, of name: String, by host: String) {
    guard let bus, posting < Self.noticesMax else { return }
    let userInfo: JSONValue =
      switch notice {
      case .released(let owner): .object([("host", .string(owner ?? host))])
      case .broken(let owner, let why):
        .object([("host", .string(owner)), ("by", .string(host)), ("why", .string(why))])
      }
    posting += 1
    Task {
      await PostExchange.post(notice.name, name, UserInfo(userInfo.compactBytes), on: bus)
      posting -= 1
    }
  }
}
