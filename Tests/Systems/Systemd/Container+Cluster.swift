// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Container {
  static let gatewayUnit = "tribune-nats.service"
  private static let other = "unix:/run/other-bus"

  /// Boots a machine as `db1` of a cluster, with a NATS server and another host, `db2`.
  ///
  /// The server demands a certificate, whose key the gateway reads by its group. Without the gateway, the bus
  /// vetoes the cluster's questions.
  static func withCluster() throws -> Container {
    func settings(of host: String) -> String {
      """
      [Cluster]
      Name=shop
      Host=\(host)
      Servers=tls://127.0.0.1:4222
      Roster=db1 db2
      AuthorityFile=/etc/nats/shop.pem
      CertificateFile=/etc/nats/shop.pem
      KeyFile=/etc/nats/shop.key
      [Query "cluster.**"]
      Scope=cluster
      [Export "backup.**"]
      Durable=yes
      [Import "backup.**"]
      Durable=yes
      [FleetLock "default"]
      Ask=cluster.fleetlock.shouldReboot

      """
    }
    let machine = try Container(
      .ofGateway,
      files: [
        "/etc/tribune/nats.conf.d/test.conf": settings(of: "db1"),
        "/etc/tribune/tribuned.conf.d/test.conf": """
        [Query "cluster.**"]
        RequireDelegate=unit:\(gatewayUnit)

        """,
        "/etc/tribune/policy.d/80-test.policy": """
        allow  observe  backup.**   unit:\(gatewayUnit)
        allow  post     backup.**   unit:\(gatewayUnit)

        """,
        "/etc/other/nats.conf": settings(of: "db2"),
        "/etc/nats/server.conf": """
        host: 127.0.0.1
        jetstream { store_dir: /run/nats }
        tls { cert_file: /etc/nats/shop.pem, key_file: /etc/nats/shop.key, ca_file: /etc/nats/shop.pem, verify: true }

        """,
      ])
    try machine.does(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-subj", "/CN=shop", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "/etc/nats/shop.key", "-out",
      "/etc/nats/shop.pem")
    try machine.does("chgrp", "tribune-nats", "/etc/nats/shop.key")
    try machine.does("chmod", "0640", "/etc/nats/shop.key")
    try machine.does("systemd-run", "--unit=nats", "nats-server", "--config=/etc/nats/server.conf")
    try machine.waitForMessage("Server is ready", of: "nats.service")
    try machine.does(
      "systemd-run", "--unit=other-bus", "--property=Type=notify", "tribuned", "--listen=/run/other-bus",
      "--config=/etc/other")
    try machine.does(
      "systemd-run", "--unit=other-gateway", "--property=Type=notify", "--setenv=TRIBUNE_ADDRESS=\(other)",
      "tribune-nats", "--config=/etc/other")
    return machine
  }

  @discardableResult
  func onOtherHost(_ arguments: [String]) throws -> String {
    try does(["env", "TRIBUNE_ADDRESS=\(Self.other)", "tribunectl"] + arguments)
  }
}
