// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneService
import TribuneWire

/// Exports and imports notifications that are neither durable nor under `[Retain]`.
final class PostExchange {
  private static let lossName = "cluster.link.didInterrupt"
  private static let namesMax = 1_024
  private static let permissionSpan = Duration.seconds(10)

  private struct Permission: Hashable {
    var name: String
    var object: String
  }

  private let subjects: Subjects
  private let settings: NATSSettings
  private let publisher: Publisher
  /// After a loss of notifications of unknown names, a new counter replaces this one.
  private var counter = ExportCounter()
  private var account = ImportAccount()
  private var losses = Losses()
  private(set) var posters = RemotePosters()
  private var announcing: Task<Void, Never>?
  private var announcement: Task<Bool, Never>?
  /// Names and objects whose posts the bus accepted. They expire, because policy and protocols can change.
  private var permitted: Set<Permission> = []
  private var permittedSince = ContinuousClock.now
  private var complained: Set<String> = []
  var bus: Connection? {
    didSet {
      if bus !== oldValue { (permitted, complained) = ([], []) }
      if bus != nil, !losses.isEmpty { announceSoon() }
    }
  }

  init(_ subjects: Subjects, _ settings: NATSSettings, publisher: Publisher) {
    (self.subjects, self.settings, self.publisher) = (subjects, settings, publisher)
  }

  // MARK: Out

  func export(_ delivery: Delivery) {
    switch delivery {
    case .notification(let notification): export(notification)
    case .lost(let count): loseUnseen(UInt64(clamping: count))
    case .interrupted: loseUnseen(nil)
    }
  }

  private func loseUnseen(_ count: UInt64?) {
    lose(count, from: settings.host)
    counter = ExportCounter()
  }

  private func export(_ notification: Notification) {
    guard !settings.isShared(notification.name), !settings.isExportedDurably(notification.name) else {
      return
    }
    guard LoopRule.isKnown(notification.poster) else {
      complain(notification.name, LoopRule.unknownPoster)
      return lose(1, from: settings.host)
    }
    guard LoopRule.allows(poster: notification.poster) else { return }
    let envelope = PostEnvelope(
      instance: counter.instance, number: counter.next(notification.name), object: notification.object,
      peer: RemotePeer(notification.poster))
    let message = ClusterMessage(
      subjects.post(notification.name), headers: envelope.headers, payload: notification.userInfo.bytes)
    if publisher.isUp, message.weight > publisher.payloadMax {
      complain(
        notification.name,
        "is too long for NATS, which takes \(publisher.payloadMax) bytes with headers, and was not sent")
      lose(1, from: settings.host)
    } else if !publisher.publish(message) {
      lose(1, from: settings.host)
    }
  }

  // MARK: In

  func receive(_ message: ClusterMessage, from host: String, name: String) async throws(EnvelopeError) {
    let envelope = try PostEnvelope(message)
    guard !settings.isShared(name) else { return }
    if !settings.imports(name, from: host, durably: false) {
      guard settings.imports(name, from: host, durably: true) else { return }
      complain(name, "of \(host) is not durable: that host exports it without Durable=yes")
    }
    switch account.record(envelope.number, of: name, from: host, envelope.instance) {
    case .stale: return
    case .late(let lost): return lose(lost, from: host)
    case .new(let lost): if lost > 0 { lose(lost, from: host) }
    case .newAfterGap: lose(nil, from: host)
    }
    record(envelope.peer, of: name, from: host)
    guard let bus else { return lose(1, from: host) }
    do throws(TribuneError) {
      let userInfo = UserInfo(message.payload)
      let permission = Permission(name: name, object: envelope.object)
      if isPermitted(permission) {
        try await bus.post(name, object: envelope.object, userInfo: userInfo)
      } else {
        try await bus.postAcknowledged(name, object: envelope.object, userInfo: userInfo)
        if permitted.count >= Self.namesMax { permitted = [] }
        permitted.insert(permission)
      }
    } catch {
      complain(name, "of \(host) was not posted: \(error)")
      lose(1, from: host)
    }
  }

  /// True if the bus accepted such a post recently. If false, the caller must use `postAcknowledged`: the bus
  /// drops a forbidden `post` without an error, so the loss would not be counted.
  private func isPermitted(_ permission: Permission) -> Bool {
    if .now - permittedSince > Self.permissionSpan { (permitted, permittedSince) = ([], .now) }
    return permitted.contains(permission)
  }

  func record(_ peer: RemotePeer, of name: String, from host: String) {
    posters.record(peer, of: name, from: host, at: .now)
  }

  // MARK: Losses

  /// `count` is nil if unknown. `host` is nil if notifications of any host may be lost.
  func lose(_ count: UInt64?, from host: String?) {
    losses.add(count, from: host)
    announceSoon()
  }

  private func announceSoon() {
    guard announcing == nil else { return }
    announcing = Task {
      await rest(for: .seconds(1))
      announcing = nil
      _ = await announce()
    }
  }

  /// Announces all losses, one after the other. Returns false if losses remain because the bus is away.
  func announce() async -> Bool {
    let task = Task { [earlier = announcement] in
      _ = await earlier?.value
      return await announceAll()
    }
    announcement = task
    return await task.value
  }

  private func announceAll() async -> Bool {
    guard let bus else { return losses.isEmpty }
    var isDone = true
    for loss in losses.take() {
      var members: [(name: String, value: JSONValue)] = []
      if let host = loss.host { members.append(("host", .string(host))) }
      if let count = loss.count { members.append(("lost", .integer(Int(clamping: count)))) }
      let failure = await Self.post(
        Self.lossName, settings.cluster, UserInfo(JSONValue.object(members).compactBytes), on: bus)
      if let failure, PostRetries.isPassing(failure.code) {
        isDone = false
        lose(loss.count, from: loss.host)
      } else {
        let what = loss.count.map { "\($0) notifications" } ?? "an unknown number of notifications"
        let whose = loss.host.map { " of \($0)" } ?? ""
        ServiceLog.warning("lost \(what)\(whose)")
      }
    }
    return isDone
  }

  @discardableResult
  static func post(
    _ name: String, _ object: String, _ userInfo: UserInfo = .none, on bus: Connection
  ) async -> TribuneError? {
    do throws(TribuneError) {
      try await bus.postAcknowledged(name, object: object, userInfo: userInfo)
      return nil
    } catch {
      ServiceLog.warning("\(name) was not posted: \(error)")
      return error
    }
  }

  func complain(_ name: String, _ what: String) {
    if complained.count >= Self.namesMax { complained = [] }
    if complained.insert(name).inserted { ServiceLog.warning("\(name) \(what)") }
  }
}
