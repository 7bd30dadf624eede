// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneHTTP
import TribuneService
import TribuneTestSupport
import TribuneWeb

@Suite("Settings of tribune-web", .timeLimit(.minutes(15)))
struct WebSettingsTests {
  private func read(_ text: String) -> (WebSettings, [String]) {
    var reader = WebSettingsReader()
    reader.read(Array(text.utf8), file: "f")
    let (settings, diagnostics) = reader.finish()
    return (settings, diagnostics.map(\.description))
  }

  @Test("A missing setting has its default, as has an empty value")
  func defaults() {
    #expect(read("") == (WebSettings(), []))
    let keys = [
      "Hosts", "TokenFile", "AllowNetwork", "Monitor", "ShowUserInfo", "ConnectionsMax", "PagesMax",
      "MetricNamesMax",
    ]
    #expect(read("[Web]\nHosts=a\nPagesMax=1\n" + keys.map { "\($0)=\n" }.joined()) == (WebSettings(), []))
  }

  @Test("Each setting can be set")
  func all() {
    let (settings, diagnostics) = read(
      """
      [Web]
      Hosts=Bus.Example.ORG 192.0.2.1 [2001:db8::1]
      Monitor=host.** unit.*
      ShowUserInfo=yes
      ConnectionsMax=64
      PagesMax=2
      MetricNamesMax=0
      """)
    #expect(diagnostics == [])
    #expect(settings.access.hosts == ["bus.example.org", "192.0.2.1", "[2001:db8::1]"])
    #expect(settings.patterns == ["host.**", "unit.*"] && settings.showsUserInfo)
    #expect((settings.connectionsMax, settings.pagesMax, settings.metricNamesMax) == (64, 2, 0))
    #expect(read("[Web]\nMonitor=no\n").0.patterns == [])
  }

  @Test(
    "A mistake is reported with its line",
    arguments: [
      ("[Web]\nHosts=a b/c", "f:2: error: Hosts=: \"b/c\" is not a host name or address"),
      ("[Web]\nHosts=a:80", "f:2: error: Hosts=: \"a:80\" is not a host name or address"),
      ("[Web]\nTokenFile=token", "f:2: error: TokenFile=: \"token\" is not an absolute path"),
      (
        "[Web]\nAllowNetwork=yes",
        "f:2: error: AllowNetwork= needs TokenFile=: other hosts would need no token"
      ),
      ("[Web]\nAllowNetwork=1", "f:2: error: AllowNetwork=: \"1\" is neither yes nor no"),
      ("[Web]\nPagesMax=0", "f:2: error: PagesMax=: \"0\" is out of range (1 to 1024)"),
      ("[Web]\nMetricNamesMax=1001", "f:2: error: MetricNamesMax=: \"1001\" is out of range (0 to 1000)"),
      ("[Web]\nPagesMax=many", "f:2: error: PagesMax=: \"many\" is not a number"),
      (
        "[Web]\nTokenFil=/t",
        "f:2: error: there is no TokenFil= in [Web]; nothing is served (did you mean TokenFile=?)"
      ),
      ("[Wep]\nPagesMax=x", "f:1: error: there is no section [Wep] (did you mean [Web]?)"),
      ("PagesMax=1", "f:1: error: PagesMax= stands before any section"),
      ("[Web", "f:1: error: the line is not a valid [Section] or [Section \"Subject\"]"),
      ("[Web]\nTokenFile /t", "f:2: error: the line is neither a [Section] nor a Key=Value"),
    ])
  func mistakes(text: String, diagnostic: String) { #expect(read(text).1 == [diagnostic]) }

  @Test("The configuration as installed is the default, and its examples are valid")
  func installed() throws {
    #expect(read(try repositoryText("config/web.conf")) == (WebSettings(), []))
    #expect(read(try shownSettings("web.conf")) == (WebSettings(), []))
  }
}
