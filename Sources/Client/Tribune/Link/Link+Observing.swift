// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Link {
  /// Returns when the bus has confirmed the observation.
  ///
  /// If observations have equal keys, the link registers only the first at the bus, and gives each
  /// notification to the streams of all these observations. An observation with retained notifications has
  /// exactly one stream.
  func observe(
    _ key: LinkState.ObservationKey, _ pattern: Pattern?, into stream: DeliveryStream<Delivery>
  ) async throws(TribuneError) {
    try await Reply<Void>.wait { reply throws(TribuneError) in
      let (isLive, duty) = try state.withLock { state throws(TribuneError) -> (Bool, Outbox.Duty) in
        if Task.isCancelled { throw .taskCancelled }
        return try state.observe(key, pattern, into: stream, reply)
      }
      perform(duty)
      guard isLive else { return nil }
      routesVersion.add(1, ordering: .releasing)
      return ()
    } onCancel: {
      perform(state.withLock { $0.stopWaiting(for: key, stream) })
    }.get()
  }

  func endObserving(_ stream: DeliveryStream<Delivery>) {
    let duties = state.withLock { $0.endObserving(stream) }
    routesVersion.add(1, ordering: .releasing)
    for duty in duties { perform(duty) }
  }

  /// Cancelling the task does not stop the call, because bus and client must agree about the suspension.
  func suspend(_ isSuspended: Bool) async throws(TribuneError) {
    _ = try await Reply<Response>.wait { reply throws(TribuneError) in
      let duty = try state.withLock { state throws(TribuneError) -> Outbox.Duty in
        try state.enqueue(
          .suspension(isSuspended), reply, Suspend(isSuspended: isSuspended), Message(),
          serial: state.nextSerial(), at: .now)
      }
      perform(duty)
      return nil
    }.get()
  }

  func endMonitoring(_ stream: DeliveryStream<TrafficDelivery>) {
    for duty in state.withLock({ $0.endMonitoring(stream) }) { perform(duty) }
  }
}

extension LinkState {
  struct ObservationKey: Hashable {
    /// Empty for any name.
    var pattern: String
    /// Empty for any object.
    var object: ExactText
    var suspension: TribuneWire.SuspensionBehavior
    var isAwaited: Bool
    /// The stream that wants retained notifications; nil without such a stream. The bus sends each retained
    /// notification once for each registered observation. As a part of the key, this property keeps two such
    /// streams from sharing a registration, so each of them gets a copy.
    var snapshotStream: ObjectIdentifier?
  }

  struct Observation {
    let serial: Serial
    let matcher: ObservationMatcher
    var isLive = false
    var streams: [DeliveryStream<Delivery>] = []
    var waiting: [(stream: DeliveryStream<Delivery>, reply: Reply<Void>)] = []
  }

  struct ObservationMatcher {
    let pattern: Pattern?
    let object: ExactText

    func matches(name: String, object: String) -> Bool {
      (self.object.text.isEmpty || self.object == ExactText(object))
        && (pattern ?? .any).observes(name.utf8Bytes)
    }
  }

  /// If `isLive` in the result is true, the bus had already confirmed an observation with this key, and the
  /// caller must resume `reply`.
  mutating func observe(
    _ key: ObservationKey, _ pattern: Pattern?, into stream: DeliveryStream<Delivery>, _ reply: Reply<Void>
  ) throws(TribuneError) -> (isLive: Bool, duty: Outbox.Duty) {
    try requireOpen()
    if observations[key] != nil {
      flow.add(stream)
      observations[key]?.streams.append(stream)
      if observations[key]?.isLive == true { return (true, .none) }
      observations[key]?.waiting.append((stream, reply))
      return (false, .none)
    }
    let serial = nextSerial()
    observations[key] = Observation(
      serial: serial, matcher: ObservationMatcher(pattern: pattern, object: key.object), streams: [stream],
      waiting: [(stream, reply)])
    var fields = Observe(suspension: key.suspension)
    if key.isAwaited { fields.options.insert(.awaited) }
    if key.snapshotStream != nil { fields.options.insert(.retained) }
    let message = Link.Message(name: key.pattern, object: key.object.text)
    entries[serial] = LinkEntry(
      subject: .registration(.observation(key)), stage: .requested(nil),
      frame: renewal(of: fields, serial, message))
    stageRoom(for: stream)
    return (false, outbox.append(fields, message, serial: serial))
  }

  mutating func stopWaiting(for key: ObservationKey, _ stream: DeliveryStream<Delivery>) -> Action {
    guard let place = observations[key]?.waiting.firstIndex(where: { $0.stream === stream }),
      let reply = observations[key]?.waiting.remove(at: place).reply
    else { return .none }
    return .resumeAll([reply], .failure(.taskCancelled))
  }

  mutating func endObserving(_ stream: DeliveryStream<Delivery>) -> [Outbox.Duty] {
    var duties: [Outbox.Duty] = []
    for (key, observation) in observations where observation.streams.contains(where: { $0 === stream }) {
      observations[key]?.streams.removeAll { $0 === stream }
      guard observations[key]?.streams.isEmpty == true else { continue }
      observations[key] = nil
      entries[observation.serial] = nil
      guard key.isAwaited else {
        duties.append(appendCancel(observation.serial))
        continue
      }
      let serial = nextSerial()
      entries[serial] = LinkEntry(subject: .retirement, stage: .requested(nil))
      retirements[serial] = observation.matcher
      duties.append(outbox.append(Cancel(target: observation.serial), serial: serial))
    }
    flow.remove(stream)
    duties.append(raiseRoom())
    return duties
  }

  mutating func endMonitoring(_ stream: DeliveryStream<TrafficDelivery>) -> [Outbox.Duty] {
    var duties: [Outbox.Duty] = []
    for (serial, entry) in entries {
      guard case .monitor(let other)? = entry.confirmed, other === stream else { continue }
      removeRegistration(serial)
      duties.append(appendCancel(serial))
    }
    trafficStreams.removeAll { $0 === stream }
    flow.remove(stream)
    duties.append(raiseRoom())
    return duties
  }

  struct Observers {
    var streams: [DeliveryStream<Delivery>] = []
    /// A stream is never in both arrays: either all its observations are awaited, or none.
    var awaitedStreams: [DeliveryStream<Delivery>] = []
    /// True if the program has taken a matching awaited observation back, but the bus has not confirmed this
    /// yet. The bus can still wait for this client's acknowledgement.
    var isRetiring = false

    var isEmpty: Bool { streams.isEmpty && awaitedStreams.isEmpty && !isRetiring }
  }

  func observers(name: String, object: String) -> Observers {
    var found = Observers()
    for (key, observation) in observations where observation.isLive {
      guard observation.matcher.matches(name: name, object: object) else { continue }
      for stream in observation.streams {
        if key.isAwaited { found.awaitedStreams.appendOnce(stream) } else { found.streams.appendOnce(stream) }
      }
    }
    found.isRetiring = retirements.values.contains { $0.matches(name: name, object: object) }
    return found
  }

  /// Finds the stream for a retained notification that the bus sent for the observation `serial`.
  /// `isElsewhere` is true if the caller must not deliver the notification. In this case, an earlier
  /// observation of the same stream also matches, and delivers the notification as a retained or a new one.
  func snapshotStream(
    _ serial: Serial, name: String, object: String
  ) -> (stream: DeliveryStream<Delivery>, isElsewhere: Bool)? {
    guard case .registration(.observation(let key))? = entries[serial]?.subject, key.snapshotStream != nil,
      let stream = observations[key]?.streams.first
    else { return nil }
    let isElsewhere = observations.contains { other in
      other.key.snapshotStream == key.snapshotStream && other.value.serial < serial && other.value.isLive
        && other.value.matcher.matches(name: name, object: object)
    }
    return (stream, isElsewhere)
  }

  var liveStreams: [DeliveryStream<Delivery>] { streams { $0.isLive } }

  /// The streams of observations that the link renews.
  var renewedStreams: [DeliveryStream<Delivery>] { streams { $0.serial <= (interruption?.lastSerial ?? 0) } }

  func streams(where isWanted: (Observation) -> Bool) -> [DeliveryStream<Delivery>] {
    var found: [DeliveryStream<Delivery>] = []
    for observation in observations.values where isWanted(observation) {
      for stream in observation.streams { found.appendOnce(stream) }
    }
    return found
  }
}

extension Array where Element: AnyObject {
  mutating func appendOnce(_ new: Element) {
    if !contains(where: { $0 === new }) { append(new) }
  }
}
