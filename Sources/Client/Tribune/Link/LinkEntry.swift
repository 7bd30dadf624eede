// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// A request or registration, which the link remembers under its frame's serial: a request until the bus has
/// responded, a registration until its end.
struct LinkEntry {
  var subject: Subject
  var stage: Stage
  var deadline: Deadline?
  /// The frame that renews a registration on the next connection; nil for a request, and if the link does not
  /// reconnect.
  var frame: [UInt8]?

  enum Subject {
    /// A request without consequences in this process, such as an acknowledged post.
    case plain
    case awaitedPost
    /// A query. If `beginning` is not nil, an allowing verdict begins the action with this key.
    case query(progress: (@Sendable (Progress) -> Void)?, beginning: ActionKey?)
    /// A list, with the entries that have arrived.
    case list([Entry])
    case suspension(Bool)
    /// A new reason for the hold with this serial.
    case amendment(of: Serial, why: [UInt8])
    /// The taking back of a registration. If the connection is lost before the response, the link does not
    /// renew the registration, so the request succeeds.
    case takingBack
    /// The taking back of an awaited observation. The bus can send awaited notifications before it reads the
    /// `cancel`. To report a failure for these, the link keeps the observation's matcher until the bus
    /// responds (`LinkState.retirements`).
    case retirement
    /// The question how many notifications a lost connection missed (`succeed`).
    case succession
    case registration(Registration)
  }

  enum Registration {
    case observation(LinkState.ObservationKey)
    case attachment(AttachedDelegate)
    case hold(HoldTerm)
    case action
    case declaration
    case monitor(DeliveryStream<TrafficDelivery>)

    func store(_ okay: Okay) {
      switch self {
      case .attachment(let attached): attached.id.store(okay.delegate, ordering: .relaxed)
      case .hold(let term): term.begin(id: okay.delegate, late: Int(okay.late), expiry: okay.expiry)
      case .observation, .action, .declaration, .monitor: break
      }
    }
  }

  /// A request ends with its response. A registration is requested, registered, and, on each next connection,
  /// renewed and registered again.
  enum Stage {
    /// The bus has not responded yet. The reply is nil if the response resumes no call. The calls that wait
    /// for an observation have their replies in `LinkState.Observation`.
    case requested(Reply<Response>?)
    case registered
    /// The link has sent the registration again, and the bus has not responded yet.
    case renewing
  }

  struct Deadline {
    /// The moment from which the frame's deadline counts.
    var start: ContinuousClock.Instant
    /// The deadline of a request that waits for the next connection; nil while the bus enforces the deadline.
    var end: ContinuousClock.Instant?
  }

  var isRequested: Bool { if case .requested = stage { true } else { false } }

  /// The registration, if the bus has confirmed it, on this connection or an earlier one.
  var confirmed: Registration? {
    if case .registration(let registration) = subject, !isRequested { registration } else { nil }
  }

  /// The delegate of a confirmed attachment. Copies no other registration, because the link searches all
  /// entries for delegates, and copies would take time.
  var attached: AttachedDelegate? {
    if case .registration(.attachment(let attached)) = subject, !isRequested { attached } else { nil }
  }

  /// Sets `Deadline.end` for a request that waits for the next connection. `deadline` is in milliseconds.
  mutating func setEnd(after deadline: UInt32) {
    guard let start = self.deadline?.start else { return }
    self.deadline?.end = start.advanced(by: .milliseconds(Int(deadline)))
  }

  func resume(_ result: Result<Response, TribuneError>) -> LinkState.Action {
    if case .requested(let reply?) = stage { .resume(reply, result) } else { .none }
  }
}

/// The bus's response to a request that it has accepted.
enum Response: Sendable {
  case okay(Okay)
  case verdict(Verdict)
  case awaited(AwaitedReply)
  case list([Entry])
}
