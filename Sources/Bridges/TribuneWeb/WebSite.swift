// SPDX-License-Identifier: Apache-2.0

package import TribuneHTTP

/// The resources that the program serves, all read-only.
nonisolated package struct WebSite: Sendable {
  package enum Resource: Equatable, Sendable {
    case file(HTTPResponse)
    case health
    case metrics(MetricsText.Format)
    case events
  }

  private let files: PageFiles
  private let hosts: HostRule
  private let token: AccessToken?

  package init(_ files: PageFiles, _ settings: WebSettings) {
    self.files = files
    hosts = HostRule(settings.access.hosts)
    token = settings.access.token
  }

  package func resource(for request: HTTPRequest) -> Result<Resource, HTTPResponse> {
    guard request.method == "GET" || request.method == "HEAD" else {
      return .failure(HTTPResponse(405, "nothing here can be changed", fields: ["Allow": "GET, HEAD"]))
    }
    guard !request.hasBody else { return .failure(HTTPResponse(413, "a request has no body here")) }
    guard let host = request.only("host"), hosts.accepts(host) else {
      return .failure(
        HTTPResponse(421, "this is not served under that name: Hosts= in web.conf has those that are"))
    }
    guard !request.isCrossSite else {
      return .failure(HTTPResponse(403, "this is not for the pages of others"))
    }
    // This path needs no token, because its reply shows only whether the bus answers, and if not, why.
    if request.path == "/healthz" { return .success(.health) }
    if let token, !(request.only("authorization").map(token.isPresented) ?? false) {
      return .failure(
        HTTPResponse(
          401, "a token is needed: as Bearer, or as password of any user",
          fields: ["WWW-Authenticate": "Basic realm=\"tribune\", charset=\"UTF-8\""]))
    }
    switch request.path {
    case "/metrics": return .success(.metrics(MetricsText.Format(accept: request.only("accept") ?? "")))
    case "/events" where request.method == "HEAD":
      return .success(.file(HTTPResponse(type: "text/event-stream", [])))
    case "/events": return .success(.events)
    default:
      guard let file = files.response(at: request.path) else {
        return .failure(HTTPResponse(404, "there is nothing here"))
      }
      return .success(.file(file))
    }
  }
}
