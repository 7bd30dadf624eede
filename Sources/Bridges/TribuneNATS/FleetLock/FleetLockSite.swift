// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP

/// Routes the requests of FleetLock clients.
nonisolated struct FleetLockSite: Sendable {
  enum Call: Equatable, Sendable {
    case preReboot, steadyState
  }

  private let hosts: HostRule
  private let token: AccessToken?

  init(_ access: HTTPAccess) { (hosts, token) = (HostRule(access.hosts), access.token) }

  /// Needs only the request's header, so the caller need not wait for the body.
  func call(for request: HTTPRequest) throws(FleetLockError) -> Call {
    guard let host = request.only("host"), hosts.accepts(host) else {
      throw FleetLockError(
        .wrongHost, "this is not served under that name: Hosts= in nats.conf has those that are")
    }
    guard !request.isCrossSite else {
      throw FleetLockError(.crossSite, "this is not for the pages of others")
    }
    if let token, !(request.only("authorization").map(token.isPresented) ?? false) {
      throw FleetLockError(.unauthorized, "a token is needed: as Bearer, or as password of any user")
    }
    let call: Call
    switch request.path {
    case "/v1/pre-reboot": call = .preReboot
    case "/v1/steady-state": call = .steadyState
    default: throw FleetLockError(.notFound, "there is nothing here")
    }
    guard request.method == "POST" else {
      throw FleetLockError(.methodNotAllowed, "this is asked by POST")
    }
    // Requests of other programs, such as browsers, lack this header.
    guard request.only("fleet-lock-protocol") == "true" else {
      throw FleetLockError(.noFleetLock, "the header \"fleet-lock-protocol: true\" is missing")
    }
    guard let length = request.bodyLength else {
      throw FleetLockError(.lengthRequired, "the header does not say how long the body is")
    }
    guard length <= HTTPListener.bodyMax else {
      throw FleetLockError(.bodyTooLong, "the body has more than \(HTTPListener.bodyMax) bytes")
    }
    return call
  }
}
