// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The gateway under systemd", .timeLimit(.minutes(15)))
struct SystemdGatewayTests {
  private static let unit = Container.gatewayUnit

  @Test("without a cluster, it runs, and vetoes questions to the cluster")
  func unconfigured() throws {
    let lack = "cluster unreachable: Name= is missing in [Cluster]"
    let machine = try Container(.ofGateway, enabled: ["tribuned.socket", Self.unit])
    #expect(try machine.property("ActiveState", of: Self.unit) == "active")
    #expect(try machine.property("StatusText", of: Self.unit) == lack)
    let verdict = try machine.run("tribunectl", "ask", "--scope=cluster", "host.shouldReboot")
    #expect(verdict.status == 1 && verdict.output.contains(lack), "\(verdict)")
    let lease = try machine.run("tribunectl", "lease", "reboot", "--", "echo", "rebooting")
    #expect(lease.status == 255 && lease.output == "" && lease.errors.contains(lack), "\(lease)")
    try machine.does("tribunectl", "ask", "--scope=host", "host.shouldReboot")
  }

  @Test("in a cluster, it works as installed, even after it was killed")
  func cluster() throws {
    let machine = try Container.withCluster()
    let absence = try machine.run("tribunectl", "ask", "cluster.shouldReboot")
    #expect(absence.status == 1 && absence.output.contains(Self.unit), "\(absence)")
    try machine.does("systemctl", "start", "tribune-fleetlock.socket", Self.unit)
    let observer = try machine.staying("observe", "backup.**", "-j")
    try expectService(of: machine, observer)
    try machine.restart(Self.unit, by: "KILL")
    try expectService(of: machine, observer)

    #expect(try jsonObject(machine.does("tribunectl", "-j", "status"))["denied"] as? Int == 0)
    let complaints = try machine.does(
      "journalctl", "--quiet", "--priority=warning", "--output=cat", "_SYSTEMD_UNIT=\(Self.unit)")
    #expect(
      complaints.split(separator: "\n").allSatisfy { $0.hasPrefix("NATS lets this host speak for ") },
      "\(complaints)")
  }

  @Test("a pattern that the policy refuses does not affect other patterns, and works once allowed")
  func refusedPattern() throws {
    let machine = try Container.withCluster()
    let file = "/etc/tribune/nats.conf.d/other.conf"
    try machine.does("sh", "-c", "printf '[Query \"svc.**\"]\\nScope=cluster\\n' > \(file)")
    try machine.does("systemctl", "start", Self.unit)
    let text = try machine.property("StatusText", of: Self.unit)
    #expect(text.contains("not asked of the cluster, by the policy: svc.**"), "\(text)")
    let verdict = try outcomes(machine.does("tribunectl", "-j", "ask", "cluster.shouldReboot"))
    #expect(verdict == ["host:db2": "abstained"])
    let policy = "allow delegate svc.** unit:\(Self.unit)"
    try machine.does("sh", "-c", "echo '\(policy)' > /etc/tribune/policy.d/90-test.policy")
    let observer = try machine.staying("observe", "tribune.delegate.didAttach", "-j")
    try machine.does("systemctl", "reload", "tribuned.service")
    var attached = ""
    while !attached.contains("host:db2") { attached = try "\(observer.output.object())" }
    let asked = try machine.run("tribunectl", "-j", "ask", "svc.shouldStop")
    #expect(try outcomes(asked.output)["host:db2"] == "failed")
  }

  private func expectService(of machine: Container, _ observer: RunningProgram) throws {
    let abstained = ["host:db1": "abstained", "host:db2": "abstained"]
    let question = ["-j", "ask", "--scope=cluster", "cluster.shouldReboot"]
    #expect(try outcomes(machine.does(["tribunectl"] + question)) == abstained)
    #expect(try machine.property("StatusText", of: Self.unit) == "all hosts are there")
    #expect(try outcomes(machine.onOtherHost(question)) == abstained)
    try machine.does("tribunectl", "ask", "cluster.shouldReboot")
    #expect(try machine.does("tribunectl", "holds", "--scope=cluster") == "0 holds of 2 hosts listed.")

    let owners = try self.owners(
      machine.does("tribunectl", "lease", "reboot", "--", "tribunectl", "-j", "leases"))
    #expect(owners.map { $0["host"] as? String } == ["db1"])
    #expect(owners.map { $0["running"] as? Bool } == [true])
    try machine.does("python3", "-c", Self.fleetLock)
    #expect(try self.owners(machine.does("tribunectl", "-j", "leases")).isEmpty)

    for host in ["here", "there"] {
      let post = ["post", "backup.didEnd", "--object=\(host)", "--wait"]
      _ = try host == "here" ? machine.does(["tribunectl"] + post) : machine.onOtherHost(post)
      #expect(try observer.output.object()["object"] as? String == host)
    }
    let file = try machine.does("stat", "--format=%U %a", "/var/lib/tribune-nats/durable-shop")
    #expect(file == "tribune-nats 600")
  }

  private func outcomes(_ verdict: String) throws -> [String: String] {
    let outcomes = try #require(try jsonObject(verdict)["outcomes"] as? [[String: Any]])
    return outcomes.reduce(into: [:]) { $0[$1["label"] as? String ?? ""] = $1["outcome"] as? String }
  }

  private func owners(_ leases: String) throws -> [[String: Any]] {
    try leases.split(separator: "\n").flatMap { lease in
      try #require(try jsonObject(lease)["owners"] as? [[String: Any]])
    }
  }

  /// Takes and releases a lease as a machine with Zincati does. Raises on an error.
  private static let fleetLock = """
    from urllib.request import Request, urlopen
    for call in ["pre-reboot", "steady-state"]:
        urlopen(Request(
            f"http://127.0.0.1:9791/v1/{call}", b'{"client_params": {"id": "m1", "group": "default"}}',
            {"fleet-lock-protocol": "true"}))
    """
}
