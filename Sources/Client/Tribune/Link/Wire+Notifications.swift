// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension PostOptions {
  var fields: Post {
    var options = TribuneWire.PostOptions.none
    if isImmediate { options.insert(.immediately) }
    if isRetained { options.insert(.retain) }
    if isBound { options.insert(.bound) }
    if coalescing.contains(.name) { options.insert(.coalesceByName) }
    if coalescing.contains(.object) { options.insert(.coalesceByObject) }
    return Post(options: options, style: style.wire)
  }
}

extension PostOptions.Style {
  fileprivate var wire: PostingStyle {
    switch self {
    case .now: .now
    case .asap: .asSoonAsPossible
    case .idle: .whenIdle
    }
  }
}

extension SuspensionBehavior {
  init(_ behavior: TribuneWire.SuspensionBehavior) {
    self =
      switch behavior {
      case .coalesce: .coalesce
      case .drop: .drop
      case .hold: .hold
      case .deliverImmediately: .deliverImmediately
      }
  }

  var wire: TribuneWire.SuspensionBehavior {
    switch self {
    case .coalesce: .coalesce
    case .drop: .drop
    case .hold: .hold
    case .deliverImmediately: .deliverImmediately
    }
  }
}

extension AwaitedReply {
  init(_ awaited: Awaited) {
    self.init(acknowledged: Int(awaited.acknowledged), missing: awaited.missing.map(Missing.init))
  }
}

extension AwaitedReply.Missing {
  init(_ missing: MissingObserver) {
    let peer = missing.peer
    self.init(
      connection: missing.connection.description, pid: Int32(clamping: peer.pid), uid: peer.uid,
      process: peer.process, units: Units(peer.units), kind: Kind(missing.failure), reason: missing.reason,
      elapsed: .microseconds(Int64(clamping: missing.elapsed)))
  }
}

extension AwaitedReply.Missing.Kind {
  init(_ failure: ObserverFailure) {
    self =
      switch failure {
      case .timedOut: .timedOut
      case .gone: .gone
      case .failed: .failed
      }
  }
}
