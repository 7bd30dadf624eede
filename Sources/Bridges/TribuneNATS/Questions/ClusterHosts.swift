// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneService

/// Attaches a delegate for each other host to this bus. Hosts outside the roster have delegates only while
/// they are present.
final class ClusterHosts {
  private static let unlistedMax = 64

  /// A delegate, and how to attach it.
  private struct Place {
    var delegate: HostDelegate
    var label: String
    var patterns: [String]
    /// How a failure of the delegate counts, for example the end of this program. The value is `veto` even
    /// with `OnMissingHost=abstain`; only delegates of hosts outside the roster abstain.
    var onFailure = FailurePolicy.veto
  }

  private final class Unlisted {
    let places: [Place]
    var attachments: [Attachment] = []
    var isGone = false

    init(_ places: [Place]) { self.places = places }
  }

  private let settings: NATSSettings
  private let inquiries: Inquiries
  private let own: OwnBus
  private let mark: Instance
  private let double: DoubledHost
  private let rosters: RosterCheck
  /// Keeps the delegates of the roster alive, because the connection does not retain them.
  private var listed: [Place] = []
  private var asked: [String] = []
  /// The patterns that the bus refused. The gateway tries them again.
  private(set) var refused: [String] = []
  private var unlisted: [String: Unlisted] = [:]
  private var isOverfull = false
  private var bus: Connection?

  init(
    _ settings: NATSSettings, _ inquiries: Inquiries, own: OwnBus, mark: Instance, double: DoubledHost,
    rosters: RosterCheck
  ) {
    (self.settings, self.inquiries, self.own) = (settings, inquiries, own)
    (self.mark, self.double, self.rosters) = (mark, double, rosters)
  }

  func join(_ bus: Connection) async throws(TribuneError) {
    // Gateways recognize each other by this process name. Under another name, questions could loop.
    let known = try await bus.own().process
    guard known == LoopRule.process else {
      throw TribuneError(.refused, "the bus knows this process as \"\(known)\", not as \(LoopRule.process)")
    }
    self.bus = bus
    let patterns = settings.clusterPatterns
    guard !patterns.isEmpty, try await !attachConfigured(patterns, to: bus) else { return }
    // One refused pattern must not affect the others, so each pattern gets its own delegates.
    for pattern in patterns where try await !attachConfigured([pattern], to: bus) {
      refused.append(pattern)
      let veto = await hold(pattern, on: bus)
      Task { await attachLater(pattern, insteadOf: veto, to: bus) }
    }
  }

  private func attachConfigured(_ patterns: [String], to bus: Connection) async throws(TribuneError) -> Bool {
    do throws(TribuneError) {
      try await attachAll(configuredPlaces(patterns), to: bus)
      asked += patterns
      return true
    } catch  where !bus.hasEnded {
      return false
    }
  }

  /// Vetoes the pattern's questions by a hold. Otherwise, they would pass as if the cluster had approved.
  private func hold(_ pattern: String, on bus: Connection) async -> Hold? {
    do throws(TribuneError) {
      let hold = try await bus.hold(
        pattern, why: "the cluster is not asked, because the bus refuses the gateway as a delegate",
        label: "cluster")
      if let span = hold.expiresIn {
        ServiceLog.warning("\(pattern) is vetoed for \(span.formatted) only, as the bus limits holds")
      }
      return hold
    } catch {
      ServiceLog.error("\(pattern) is not vetoed: \(error)")
      return nil
    }
  }

  private func attachLater(_ pattern: String, insteadOf veto: Hold?, to bus: Connection) async {
    await bus.persist(lack: "\(pattern) is not asked of the cluster") { () async throws(TribuneError) in
      try await attachAll(configuredPlaces([pattern]), to: bus)
      try await veto?.release()
      guard self.bus === bus else { return }
      asked.append(pattern)
      refused.removeAll { $0 == pattern }
    }
  }

  func serveScopes(on bus: Connection, _ tries: BusTries) async {
    await bus.persist(.scopes, tries, lack: "nobody can ask by a scope") { () async throws(TribuneError) in
      try await attachAll(scopedPlaces, to: bus)
    }
  }

  /// Attaches the delegates of all places, or none if the bus refuses one. Until all are attached, another
  /// delegate vetoes, because a question must not reach only a part of the roster.
  private func attachAll(_ places: [Place], to bus: Connection) async throws(TribuneError) {
    guard let first = places.first else { return }
    let delegate = HostDelegate(first.delegate.role, mark) { [host = settings.host] _, _, _ in
      .failed("the gateway of \(host) is starting")
    }
    defer { withExtendedLifetime(delegate) {} }
    let starting = try await attach(
      Place(delegate: delegate, label: "starting", patterns: first.patterns), to: bus)
    var attachments: [Attachment] = []
    do throws(TribuneError) {
      for place in places { attachments.append(try await attach(place, to: bus)) }
    } catch {
      for attachment in attachments { try await attachment.detach() }
      try await starting.detach()
      throw error
    }
    listed += places
    try await starting.detach()
  }

  func leave() {
    for one in unlisted.values { one.isGone = true }
    (bus, listed, asked, refused, unlisted) = (nil, [], [], [], [:])
  }

  private func attach(_ place: Place, to bus: Connection) async throws(TribuneError) -> Attachment {
    place.delegate.whenReplaced { [weak self, weak bus] other in
      if let bus { await self?.attachAgain(place, to: bus, replacedBy: other) }
    }
    // In the mode *order*, the high number makes the bus ask local delegates first.
    return try await bus.attach(
      place.delegate, respondingTo: place.patterns, order: 1_000, onFailure: place.onFailure,
      timeout: settings.hostTimeout, label: place.label)
  }

  /// Attaches a replaced delegate again, because the vetoes of its host would be missing otherwise.
  private func attachAgain(_ place: Place, to bus: Connection, replacedBy other: DelegateInfo) async {
    ServiceLog.warning(
      "\(place.label) was replaced by \(other.label) (\(other.process), pid \(other.pid)), and is attached again"
    )
    await bus.persist(lack: "\(place.label) is not asked") { () async throws(TribuneError) in
      let one = unlisted.values.first { $0.places.contains { $0.delegate === place.delegate } }
      guard one != nil || listed.contains(where: { $0.delegate === place.delegate }) else { return }
      let attachment = try await attach(place, to: bus)
      one?.attachments.append(attachment)
    }
  }

  // MARK: The roster

  private func configuredPlaces(_ patterns: [String]) -> [Place] {
    guard let lack = settings.lack else {
      return settings.others.map {
        Place(delegate: other($0, .configured), label: label($0), patterns: patterns)
      }
    }
    let delegate = HostDelegate(.configured, mark) { _, _, _ in .veto("cluster unreachable: \(lack)") }
    return [Place(delegate: delegate, label: "cluster", patterns: patterns)]
  }

  private var scopedPlaces: [Place] {
    let patterns = GatewayName.clusterPatterns
    let own = Place(
      delegate: ownDelegate, label: label(settings.host), patterns: patterns + [GatewayName.hostPattern])
    guard let lack = settings.scopeLack else {
      return [own]
        + settings.others.map { Place(delegate: other($0, .scoped), label: label($0), patterns: patterns) }
    }
    let delegate = HostDelegate(.scoped, mark) { _, _, _ in .failed("cluster unreachable: \(lack)") }
    return [own, Place(delegate: delegate, label: "cluster", patterns: patterns)]
  }

  private func label(_ host: String) -> String { "host:\(host)" }

  private func other(_ host: String, _ role: HostDelegate.Role) -> HostDelegate {
    let missing = settings.roster.contains(host) ? settings.missing : .unlisted
    return HostDelegate(role, mark) { [inquiries, double, rosters] question, name, userInfo in
      let answer = await inquiries.ask(host, missing: missing, question, as: name, userInfo)
      if !answer.isObjection, !question.wantsValue, let doubt = rosters.doubt { return .veto(doubt) }
      // If another host has this host's name, that host was not asked, although it could have a veto.
      return answer.isObjection ? answer : await double.knownDoubt().map { .failed($0) } ?? answer
    }
  }

  private var ownDelegate: HostDelegate {
    HostDelegate(.scoped, mark) { [own, host = settings.host] question, name, userInfo in
      let request = OwnBus.Request(
        name: name, object: question.object, userInfo: userInfo, wantsValue: question.wantsValue,
        isDryRun: question.isDryRun, timeout: question.timeout, parent: question.query)
      let (reply, value) = await own.decide(request) { need in
        guard case .progress(let span, let status) = need else { return }
        Task { await question.extend(by: span + Inquiry.margin, status) }
      }
      return reply.answer(of: host, value)
    }
  }

  // MARK: Unlisted hosts

  func addUnlisted(_ host: String) {
    guard let bus, settings.scopeLack == nil, !settings.roster.contains(host), unlisted[host] == nil else {
      return
    }
    guard unlisted.count < Self.unlistedMax else {
      if !isOverfull {
        ServiceLog.error(
          "\(host) is not asked: there are \(Self.unlistedMax) hosts that Roster= does not have")
      }
      isOverfull = true
      return
    }
    let all: [(HostDelegate.Role, [String])] = [
      (.configured, asked), (.scoped, GatewayName.clusterPatterns),
    ]
    let places = all.filter { !$0.1.isEmpty }.map { role, patterns in
      Place(delegate: other(host, role), label: label(host), patterns: patterns, onFailure: .abstain)
    }
    let one = Unlisted(places)
    unlisted[host] = one
    Task { await include(host, one, on: bus) }
  }

  private func include(_ host: String, _ one: Unlisted, on bus: Connection) async {
    do throws(TribuneError) {
      for place in one.places { one.attachments.append(try await attach(place, to: bus)) }
      ServiceLog.info("\(host), which Roster= does not have, is asked as well")
      if one.isGone { await end(one) }
    } catch {
      await end(one)
      if unlisted[host] === one { unlisted[host] = nil }
    }
  }

  func forget(unless isPresent: (String) -> Bool) {
    if unlisted.count < Self.unlistedMax / 2 { isOverfull = false }
    for (host, one) in unlisted where !isPresent(host) {
      one.isGone = true
      unlisted[host] = nil
      Task { await end(one) }
    }
  }

  private func end(_ one: Unlisted) async {
    do throws(TribuneError) {
      for attachment in one.attachments { try await attachment.detach() }
    } catch {
      return
    }
  }
}
