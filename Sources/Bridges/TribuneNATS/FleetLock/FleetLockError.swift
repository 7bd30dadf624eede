// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP
import TribuneJSON

/// Why a client does not get what it has asked for. Clients log the message, and count the kinds, of which there are few.
nonisolated package struct FleetLockError: Error, Equatable, Sendable {
  package enum Kind: String, CaseIterable, Sendable {
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
    /// Others have all slots.
    case busy
    case vetoed
    /// Others have the lease with another number of slots.
    case otherSlots = "other_slots"
    /// The configuration of the group has an error.
    case misconfigured
    /// The bus, or who decides on it, cannot be asked.
    case noVerdict = "no_verdict"
    case unreachable
    /// Nothing was changed.
    case failed
    /// It may have been done.
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

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) { (self.kind, self.message) = (kind, message) }

  package var response: HTTPResponse {
    let body = JSONValue.object([("kind", .string(kind.rawValue)), ("value", .string(message))])
    return HTTPResponse(kind.status, type: "application/json", body.compactBytes, fields: kind.fields)
  }
}
