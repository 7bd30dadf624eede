// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem
import TribuneWire

enum ReceivedFile {
  case file(MemoryFile)
  /// The kernel dropped the descriptor, because this process was at its limit of descriptors.
  case lost
}

/// The handler of the bus's frames, on the link's thread.
///
/// Invalid bytes end the connection, because the bytes after them cannot be trusted. A reply to a cancelled
/// request is valid, because the bus may have sent the reply before it read the `cancel`.
struct FrameReceiver {
  private let link: Link
  /// The number of notifications and traffic frames that came over this socket or were reported as lost.
  private(set) var received: UInt64 = 0
  private let epoch: Int
  private var route: NotificationRoute
  private var posters = KnownPosters()

  init(_ link: Link) {
    self.link = link
    epoch = link.state.withLock { $0.epoch }
    route = NotificationRoute(link, epoch: epoch)
  }

  func receiveFirst(_ frame: FrameView, acceptsFiles: Bool) throws(WireError) -> Bool {
    if frame.header.kind == .error {
      try refuse(frame)
      return false
    }
    guard frame.header.kind == .welcome else {
      throw WireError(
        .malformedFrame, "the bus's first frame is of kind \(frame.header.rawKind), not a welcome")
    }
    let welcome = try frame.decode(Welcome.self)
    link.perform(link.state.withLock { $0.receive(welcome, acceptsFiles: acceptsFiles) })
    return true
  }

  mutating func receive(_ frame: FrameView, _ file: ReceivedFile?) throws(WireError) {
    let serial = frame.header.serial
    switch frame.header.kind {
    case .post:
      received &+= 1
      try route.deliver(frame, file, posters)
    case .poster:
      posters.learn(try frame.decode(PosterFacts.self))
      route.forgetSender()
    case .lost:
      receiveLost(try frame.decode(Lost.self).count)
    case .ok:
      let okay = try frame.decode(Okay.self)
      let action = link.state.withLock { $0.receive(.okay(okay), to: serial) }
      // If the `ok` has confirmed an observation or an attachment, the cached route lacks it.
      link.routesVersion.add(1, ordering: .releasing)
      link.perform(action)
    case .error:
      try refuse(frame)
    case .verdict:
      let verdict = Verdict(try frame.decode(TribuneWire.Verdict.self))
      link.perform(link.state.withLock { $0.receive(.verdict(verdict), to: serial) })
    case .progress:
      let progress = try frame.decode(TribuneWire.Progress.self)
      link.state.withLock { $0.progress(of: serial) }?(
        Progress(progress, status: String(repairing: frame.payload)))
    case .question:
      try receiveQuestion(frame)
    case .concluded:
      let concluded = try frame.decode(Concluded.self)
      link.perform(link.state.withLock { $0.conclude(concluded) })
    case .entry:
      let entry = try frame.decode(Entry.self)
      link.state.withLock { $0.collect(entry, for: serial) }
    case .traffic:
      received &+= 1
      let item = TrafficDelivery.item(try TrafficItem(frame))
      // The frame does not name a monitor: the bus sends one copy for all monitors of a connection.
      for stream in link.state.withLock({ $0.trafficStreams }) { stream.deliver(item) }
    case .retained:
      received &+= 1
      try receiveRetained(frame, file)
    case .room:
      _ = try frame.decode(Room.self)
      link.perform(link.state.withLock { $0.confirmRoom() })
    case .awaited:
      let awaited = AwaitedReply(try frame.decode(Awaited.self))
      link.perform(link.state.withLock { $0.receive(.awaited(awaited), to: serial) })
    case .ended:
      let ended = try frame.decode(Ended.self)
      let actions = link.state.withLock { $0.ended(serial, ended) }
      link.routesVersion.add(1, ordering: .releasing)
      link.perform(actions)
    case .late:
      let count = try frame.decode(Late.self).actions
      link.perform(link.state.withLock { $0.late(serial, Int(count)) })
    case .welcome, .observe, .attach, .ask, .answer, .defer, .cancel, .list, .monitor, .hold, .amend,
      .declare, .suspend, .done, .succeed, .pace, .begin:
      throw WireError(
        .malformedFrame, "the bus sent a frame of kind \(frame.header.rawKind), which it never sends")
    case nil:
      guard !frame.header.flags.contains(.critical) else {
        throw WireError(
          .unknownCriticalKind,
          "the bus sent a critical frame of kind \(frame.header.rawKind), which this side does not know")
      }
    }
  }

  /// Handles a refusal. A refusal with serial 0 ends the connection. The link ends with the connection,
  /// unless the link can look for the next bus.
  private func refuse(_ frame: FrameView) throws(WireError) {
    let code = try frame.decode(Refusal.self).rawCode
    let error = TribuneError(code: code, message: String(repairing: frame.payload))
    let serial = frame.header.serial
    if serial == 0 {
      let isFinal = link.state.withLock { $0.handleClosingError(error, ErrorCode(rawValue: code)) }
      return isFinal ? link.end(error) : UnixSocket.shutdown(link.socket)
    }
    let now = SystemClock.monotonicNanoseconds
    let actions = link.state.withLock { $0.receiveRefusal(of: serial, error, now: now) }
    link.routesVersion.add(1, ordering: .releasing)
    link.perform(actions)
  }

  /// Reports the loss to all streams and delegates. The bus reports a loss for the connection as a whole, so
  /// each stream or delegate may have missed notifications.
  private mutating func receiveLost(_ count: UInt64) {
    guard count > 0 else { return }
    received = received.saturatingAdding(count)
    // During an interruption, the link reports the loss later, at the position that each stream and delegate
    // has reserved (`reservePosition`).
    if link.state.withLock({ $0.deferLoss(of: count) }) { return }
    link.deliverLost(Int(clamping: count))
  }

  private func receiveRetained(_ frame: FrameView, _ file: ReceivedFile?) throws(WireError) {
    _ = try frame.decode(Retained.self)
    try frame.requireNameAndObject()
    let name = String(repairing: frame.name)
    let object = String(repairing: frame.object)
    let found = link.state.withLock { $0.snapshotStream(frame.header.serial, name: name, object: object) }
    guard let (stream, isElsewhere) = found else { return }
    guard !isElsewhere else { return stream.addRetained(-1) }
    guard let userInfo = UserInfo(of: frame, file) else {
      stream.deliver(.lost(1))
      return
    }
    let sender = frame.header.sender
    let notification = Notification(
      name, object: object, sender: sender == .bus ? nil : sender.description, poster: posters[sender],
      userInfo: userInfo, isRetained: true)
    stream.deliverRetained(.notification(notification))
  }

  private func receiveQuestion(_ frame: FrameView) throws(WireError) {
    let fields = try frame.decode(TribuneWire.Question.self)
    guard NameSyntax.isName(frame.name), NameSyntax.isObject(frame.object) else {
      throw WireError(.invalidName, "the bus sent a question without a valid name or object")
    }
    var question = Question(
      String(repairing: frame.name), object: String(repairing: frame.object),
      userInfo: UserInfo([UInt8](frame.payload)), query: fields.query.rawValue,
      timeout: .milliseconds(Int(fields.timeout)),
      asker: Asker(fields.asker, connection: frame.header.sender), isDryRun: fields.isDryRun,
      wantsValue: fields.wantsValue, delegate: fields.delegate.rawValue)
    question.link = link
    question.epoch = epoch
    let serial = frame.header.serial
    let (action, delegate) = link.state.withLock { $0.receive(question, attachment: serial) }
    link.perform(action)
    withExtendedLifetime(delegate) {}
  }
}

/// The receivers of a notification, cached for consecutive notifications with the same name and object.
private struct NotificationRoute {
  private let link: Link
  private let epoch: Int
  private var version = -1
  private var key: [UInt8] = []
  private var head = NotificationHead(name: "", object: "", sender: nil, poster: nil)
  private var nameLength = 0
  private var observers = LinkState.Observers()
  private var delegates: [AttachedDelegate] = []
  /// Nil if `head` has no valid sender.
  private var sender: ConnectionID?

  init(_ link: Link, epoch: Int) {
    self.link = link
    self.epoch = epoch
  }

  mutating func deliver(
    _ frame: FrameView, _ file: ReceivedFile?, _ posters: borrowing KnownPosters
  ) throws(WireError) {
    let header = frame.header
    let version = link.routesVersion.load(ordering: .acquiring)
    let key = frame.bytes.extracting(header.nameStart..<header.payloadStart)
    if version != self.version || nameLength != header.nameLength
      || !key.isEqual(to: self.key.rawBytes)
    {
      try frame.requireNameAndObject()
      self.key = [UInt8](key)
      self.version = version
      nameLength = header.nameLength
      sender = nil
      let (name, object) = (String(repairing: frame.name), String(repairing: frame.object))
      head = NotificationHead(name: name, object: object, sender: nil, poster: nil)
      (observers, delegates) = link.state.withLock {
        ($0.observers(name: name, object: object), $0.receivers(name: name, object: object))
      }
    }
    guard !observers.isEmpty || !delegates.isEmpty else { return }
    if header.sender != sender {
      sender = header.sender
      head = NotificationHead(
        name: head.name, object: head.object,
        sender: header.sender == .bus ? nil : header.sender.description, poster: posters[header.sender])
    }
    guard let userInfo = UserInfo(of: frame, file) else {
      // A notification without its userInfo would mean something else, so the receivers get a `lost` instead.
      for stream in observers.streams + observers.awaitedStreams { stream.deliver(.lost(1)) }
      if !delegates.isEmpty { link.deliver(.lost(1), to: delegates) }
      if frame.isAwaitedPost, !observers.awaitedStreams.isEmpty || observers.isRetiring {
        acknowledge(header, "its userInfo could not be received")
      }
      return
    }
    let delivery = Delivery.notification(Notification(head, userInfo))
    for stream in observers.streams { stream.deliver(delivery) }
    if frame.isAwaitedPost, case .notification(let notification) = delivery {
      deliverAwaited(notification, header)
    } else {
      for stream in observers.awaitedStreams { stream.deliver(delivery) }
    }
    if !delegates.isEmpty { link.deliver(delivery, to: delegates) }
  }

  mutating func forgetSender() { sender = nil }

  private func acknowledge(_ header: FrameHeader, _ failure: String) {
    link.acknowledge(poster: header.sender, post: header.serial, failure, in: epoch)
  }

  private func deliverAwaited(_ notification: Notification, _ header: FrameHeader) {
    let streams = observers.awaitedStreams
    if streams.isEmpty {
      // If `isRetiring`, the bus sent the notification before it read the `cancel` of the observation.
      if observers.isRetiring { acknowledge(header, "the observation was taken back") }
      return
    }
    let awaited = AwaitedNotification(
      poster: header.sender, post: header.serial, streams: streams.count, link: link, epoch: epoch)
    for stream in streams {
      var copy = notification
      copy.acknowledgement = Acknowledgement(of: awaited)
      stream.deliver(.notification(copy))
    }
  }
}

extension FrameView {
  fileprivate func requireNameAndObject() throws(WireError) {
    guard NameSyntax.isName(name) else {
      throw WireError(.invalidName, "the bus delivered a notification without a valid name")
    }
    guard NameSyntax.isObject(object) else {
      throw WireError(.invalidObject, "the bus delivered a notification without a valid object")
    }
  }
}

extension UserInfo {
  /// Nil if userInfo is in a file, and this process cannot receive or map the file.
  init?(of frame: FrameView, _ file: ReceivedFile?) {
    switch file {
    case nil:
      self = frame.header.payloadLength == 0 ? .none : UserInfo([UInt8](frame.payload))
    case .lost?:
      return nil
    case .file(let file)?:
      do throws(Errno) {
        self.init(mapped: try MappedBytes(file))
      } catch {
        return nil
      }
    }
  }
}

/// The posters whose process, user and units the bus has sent. The bus assigns each poster to one or more
/// numbered slots. A slot has one poster at a time: a new poster replaces the one before it.
struct KnownPosters {
  /// A correct bus uses only lower slot numbers. The limit bounds the memory that a faulty bus can fill.
  static let slotsMax: UInt32 = 1 << 20

  /// A poster stays known while at least one slot has it.
  private var byID: [ConnectionID: (slotCount: Int, poster: Poster)] = [:]
  private var idBySlot: [UInt32: ConnectionID] = [:]

  var count: Int { byID.count }

  subscript(id: ConnectionID) -> Poster? { byID[id]?.poster }

  mutating func learn(_ facts: PosterFacts) {
    guard facts.slot < Self.slotsMax else { return }
    let before = idBySlot.updateValue(facts.connection, forKey: facts.slot)
    let slotCount = (byID[facts.connection]?.slotCount ?? 0) + (before == facts.connection ? 0 : 1)
    byID[facts.connection] = (slotCount, Poster(facts.peer))
    guard let before, before != facts.connection, let known = byID[before] else { return }
    byID[before] = known.slotCount == 1 ? nil : (known.slotCount - 1, known.poster)
  }
}
