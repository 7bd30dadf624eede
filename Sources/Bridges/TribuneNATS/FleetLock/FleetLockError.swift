// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
import TribuneJSON
import TribuneSystem
import TribuneWire

/// The error of a failed call. Clients log the message, and count errors by kind, so the kinds are few.
nonisolated struct FleetLockError: Error, Equatable, Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case noFleetLock = "no_fleet_lock"
    case invalidBody = "invalid_body"
    case unknownGroup = "unknown_group"
    case unauthorized
    case crossSite = "cross_site"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case lengthRequired = "length_required"
    case bodyTooLong = "body_too_long"
    case wrongHost = "wrong_host"
    case busy
    case vetoed
    /// The lease has owners, and its number of slots differs from `Slots=` of this gateway.
    case otherSlots = "other_slots"
    case misconfigured
    /// The gateway got no verdict from the bus.
    case noVerdict = "no_verdict"
    case unreachable
    case failed
    /// It is not known whether the lease has changed.
    case unknown

    var status: UInt32 {
      switch self {
      case .noFleetLock, .invalidBody, .unknownGroup: 400
      case .unauthorized: 401
      case .crossSite: 403
      case .notFound: 404
      case .methodNotAllowed: 405
      case .busy, .vetoed, .otherSlots: 409
      case .lengthRequired: 411
      case .bodyTooLong: 413
      case .wrongHost: 421
      case .misconfigured, .noVerdict, .unreachable, .failed, .unknown: 503
      }
    }

    var fields: [String: String] {
      switch self {
      case .unauthorized: ["WWW-Authenticate": "Basic realm=\"tribune\", charset=\"UTF-8\""]
      case .methodNotAllowed: ["Allow": "POST"]
      default: [:]
      }
    }
  }

  var kind: Kind
  var message: String

  init(_ kind: Kind, _ message: String) { (self.kind, self.message) = (kind, message) }

  var response: HTTPResponse {
    let body = JSONValue.object([("kind", .string(kind.rawValue)), ("value", .string(message))])
    return HTTPResponse(kind.status, type: "application/json", body.compactBytes, fields: kind.fields)
  }
}

nonisolated extension FleetLockError {
  /// Nil if the attempt changed the lease.
  init?(_ conclusion: LeaseAttempt.Conclusion, _ lease: String) {
    switch conclusion {
    case .made: return nil
    case .busy(let record):
      let owners = record.owners.map(\.summary).joined(separator: "; ")
      self.init(.busy, "others have \(lease): \(owners)")
    case .absent: self.init(.failed, "the client does not have \(lease)")
    case .refused(let why): self.init(.otherSlots, "\(lease): \(why)")
    case .failed(let why): self.init(.failed, "\(why); nothing was changed")
    case .undone: self.init(.failed, "nobody waits for it any more; nothing was changed")
    case .unknown(let why): self.init(.unknown, "\(why); it is not known whether that was done")
    }
  }
}

nonisolated extension LeaseOwner {
  /// Such as `db1 since 2026-11-27 10:02:11, for backup`.
  fileprivate var summary: String {
    let (microseconds, overflow) = UInt64(clamping: since).multipliedReportingOverflow(by: 1_000_000)
    let time = overflow ? nil : LocalTime(microsecondsSince1970: microseconds)
    let begin = time.map { " since \($0.date) \($0.timeOfDay)" } ?? ""
    return host + begin + (label.isEmpty ? "" : ", for \(label)")
  }
}
