// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Tribune
import TribuneService
import TribuneWire

/// Exchanges durable notifications with other hosts through JetStream, at least once and in order.
final class DurableExchange {
  /// The time between checks of the stream, because an administrator can remove the stream.
  private static let lookPause = Duration.seconds(10)

  private let subjects: Subjects
  private let settings: NATSSettings
  private let stream: DurableStream
  private let publisher: Publisher
  private let posts: PostExchange
  private let changed: () -> Void
  private let queue = DispatchQueue(label: "tribune-nats.durable")

  let incoming: DurableImport
  private(set) lazy var outgoing = DurableExport(
    subjects, settings, stream, publisher: publisher, posts: posts
  ) { [weak self] in self?.lackMayHaveChanged() }

  private var isOpening = false
  private var lookedAt: ContinuousClock.Instant?
  private var hasFailed = false
  private var warned: Set<String> = []
  private var openingLack: String?
  private var slowest: String?
  private var loggedLack: String?

  init(
    _ subjects: Subjects, _ settings: NATSSettings, publisher: Publisher, posts: PostExchange,
    changed: @escaping () -> Void
  ) {
    (self.subjects, self.settings, self.publisher, self.posts) = (subjects, settings, publisher, posts)
    self.changed = changed
    stream = DurableStream(settings, subjects)
    incoming = DurableImport(subjects, settings, stream, publisher: publisher, posts: posts)
  }

  /// Why durable notifications wait; nil if they do not, or if the only reason is a lost link to NATS.
  var lack: String? {
    openingLack
      ?? outgoing.refusal.map { why in slowest.map { "\(why); \($0) has read least of the stream" } ?? why }
  }

  private func warn(_ what: String) {
    if warned.insert(what).inserted { ServiceLog.warning("\(stream.name) \(what)") }
  }

  private func lackMayHaveChanged() {
    if outgoing.refusal == nil { slowest = nil }
    guard lack != loggedLack else { return }
    loggedLack = lack
    if let lack {
      ServiceLog.warning("durable notifications wait: \(lack)")
    } else {
      ServiceLog.info("durable notifications wait no longer")
    }
    changed()
  }

  func linkChanged(isUp: Bool) {
    outgoing.close()
    if isUp { open() }
  }

  private func open() {
    guard !isOpening, let client = publisher.client else { return }
    guard settings.hasDurableExports || settings.hasDurableImports else { return lookForConsumer(client) }
    isOpening = true
    Task {
      let result = await result(of: client)
      isOpening = false
      lookedAt = .now
      guard client === publisher.client else { return }
      switch result {
      case .success(let opening):
        hasFailed = false
        use(opening)
      case .failure(let failure):
        // A single failed check of an open stream is not reported, because the next check may succeed.
        if hasFailed || !outgoing.isOpen { openingLack = failure.description }
        hasFailed = true
        lackMayHaveChanged()
      }
    }
  }

  private func result(of client: NATSClient) async -> Result<DurableStore.Opening, NATSError> {
    let account = incoming.knownAccount
    let needsSpace = outgoing.refusal != nil
    return await queue.result {
      [stream, needsConsumer = settings.hasDurableImports] () throws(NATSError) in
      try DurableStore(client, stream)
        .open(needsConsumer: needsConsumer, after: account, needsSpace: needsSpace)
    }
  }

  /// Warns if this host has a consumer but needs none. The stream keeps messages for such a consumer.
  private func lookForConsumer(_ client: NATSClient) {
    guard incoming.hasAccount else { return }
    queue.async { [stream] in
      do throws(NATSError) {
        guard try DurableStore(client, stream).hasConsumer() else { return }
        ServiceLog.warning("\(stream.name) \(stream.unneededConsumer)")
      } catch {
        ServiceLog.warning(error.description)
      }
    }
  }

  private func use(_ opening: DurableStore.Opening) {
    (openingLack, slowest) = (nil, opening.slowest)
    lackMayHaveChanged()
    for warning in opening.warnings { warn(warning) }
    if let consumer = opening.consumer { incoming.use(consumer, of: opening.created) }
    outgoing.open()
  }

  func tick() {
    incoming.keepWaiting()
    guard let lookedAt else { return }
    let now = ContinuousClock.now
    let isWell = outgoing.isOpen && lack == nil && !hasFailed
    if now - lookedAt > (isWell ? Self.lookPause : DurableExport.refusalPause) { open() }
    outgoing.publishAgain(at: now)
  }
}
