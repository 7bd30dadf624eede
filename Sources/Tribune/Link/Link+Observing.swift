// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

extension Link {
  typealias ObservationKey = LinkState.ObservationKey

  /// Has what matches `key` go to `stream`, too. Returns when the bus has confirmed it.
  ///
  /// Equal observations of one connection are one to the bus, whose copy all their streams share.
  func observe(
    _ key: ObservationKey, _ pattern: Pattern?, into stream: DeliveryStream<Delivery>
  ) async throws(TribuneError) {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (reply: Reply<Void>) in
        do throws(TribuneError) {
          let (isLive, duty) = try state.withLock { state throws(TribuneError) -> (Bool, Outbox.Duty) in
            try state.requireOpen()
            if Task.isCancelled { throw .taskCancelled }
            return state.observe(key, pattern, into: stream, reply)
          }
          perform(duty)
          if isLive {
            routesVersion.add(1, ordering: .releasing)
            reply.resume(returning: .success(()))
          }
        } catch {
          reply.resume(returning: .failure(error))
        }
      }
    } onCancel: {
      let reply = state.withLock { $0.stopWaiting(for: key, stream) }
      reply?.resume(returning: .failure(.taskCancelled))
    }
    try result.get()
  }

  /// Takes back all that goes to `stream`.
  func endObserving(_ stream: DeliveryStream<Delivery>) {
    let duties = state.withLock { $0.endObserving(stream) }
    routesVersion.add(1, ordering: .releasing)
    for duty in duties { perform(duty) }
  }

  func monitor(
    _ pattern: String, into stream: DeliveryStream<TrafficDelivery>
  ) async throws(TribuneError) {
    try await request(Monitor(), Message(name: pattern), isTakenBack: true) { .monitor($0, stream) }
  }

  func endMonitoring(_ stream: DeliveryStream<TrafficDelivery>) {
    let duties = state.withLock { state -> [Outbox.Duty] in
      let serials = state.monitors.filter { $0.value === stream }.map(\.key)
      return serials.map { serial in
        state.monitors[serial] = nil
        return state.appendCancel(serial)
      }
    }
    for duty in duties { perform(duty) }
  }
}

extension LinkState {
  /// - Returns: whether the bus had confirmed it before, and `reply` is the caller's to answer.
  mutating func observe(
    _ key: ObservationKey, _ pattern: Pattern?, into stream: DeliveryStream<Delivery>, _ reply: Reply<Void>
  ) -> (isLive: Bool, duty: Outbox.Duty) {
    if observations[key] != nil {
      observations[key]?.streams.append(stream)
      if observations[key]?.isLive == true { return (true, .none) }
      observations[key]?.waiting.append((stream, reply))
      return (false, .none)
    }
    let serial = nextSerial()
    observations[key] = Observation(
      serial: serial, pattern: pattern, streams: [stream], waiting: [(stream, reply)])
    requests[serial] = .observation(key)
    return (false, outbox.append(Observe(), serial: serial, name: key.pattern, object: key.object))
  }

  mutating func stopWaiting(for key: ObservationKey, _ stream: DeliveryStream<Delivery>) -> Reply<Void>? {
    guard let place = observations[key]?.waiting.firstIndex(where: { $0.stream === stream }) else {
      return nil
    }
    return observations[key]?.waiting.remove(at: place).reply
  }

  mutating func endObserving(_ stream: DeliveryStream<Delivery>) -> [Outbox.Duty] {
    var duties: [Outbox.Duty] = []
    for (key, observation) in observations where observation.streams.contains(where: { $0 === stream }) {
      observations[key]?.streams.removeAll { $0 === stream }
      guard observations[key]?.streams.isEmpty == true else { continue }
      observations[key] = nil
      requests[observation.serial] = nil
      duties.append(appendCancel(observation.serial))
    }
    return duties
  }

  /// The streams that receive a notification, each once.
  func streams(name: String, object: String) -> [DeliveryStream<Delivery>] {
    var found: [DeliveryStream<Delivery>] = []
    for (key, observation) in observations where observation.isLive {
      guard key.object.isEmpty || key.object == object else { continue }
      guard (observation.pattern ?? .any).observes(name.utf8Bytes) else { continue }
      for stream in observation.streams where !found.contains(where: { $0 === stream }) {
        found.append(stream)
      }
    }
    return found
  }

  /// All streams of notifications, each once.
  var liveStreams: [DeliveryStream<Delivery>] {
    var found: [DeliveryStream<Delivery>] = []
    for observation in observations.values where observation.isLive {
      for stream in observation.streams where !found.contains(where: { $0 === stream }) {
        found.append(stream)
      }
    }
    return found
  }
}
