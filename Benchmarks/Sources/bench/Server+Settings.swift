// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Server {
  /// A server's address, and settings for its best performance: it keeps nothing on disk, logs nothing, and no queue is
  /// cut short.
  struct Settings {
    let address: String
    let arguments: [String]

    /// Writes the server's configuration into `folder`.
    init(_ kind: Kind, in folder: URL) throws {
      let socket = folder.appending(path: "\(kind.rawValue).socket").path
      func file(_ name: String, _ text: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file.path
      }
      switch kind {
      case .relay, .zeroMQ:
        address = socket
        arguments = [socket]
      case .tribune, .crowded, .starred, .idle, .growing, .resting:
        // The defaults, whatever /etc has, with exceptions. On a busy machine, a receiver may not run for 100 ms, and then it
        // would lose posts through no fault of the bus. And one user has all observations, and all that waits for a
        // thousand observers, which is more than its share.
        let configuration = folder.appending(path: "\(kind).config")
        try FileManager.default.createDirectory(at: configuration, withIntermediateDirectories: false)
        _ = try file(
          "\(kind).config/tribuned.conf",
          "[Bus]\nRegistrationsMax=262144\n[Queue]\nMemoryMax=16G\nPaceMaxSec=10s\n")
        address = socket
        arguments = ["--listen=\(socket)", "--config=\(configuration.path)"]
      case .governed:
        let configuration = folder.appending(path: kind.rawValue)
        let policies = configuration.appending(path: "policy.d")
        try FileManager.default.createDirectory(at: policies, withIntermediateDirectories: true)
        _ = try file("\(kind)/tribuned.conf", "[Queue]\nPaceMaxSec=10s\n")
        _ = try file("\(kind)/policy.d/many.policy", Self.policy)
        address = configuration.appending(path: "bus").path
        arguments = ["--listen=\(address)", "--config=\(configuration.path)"]
      case .redis:
        address = socket
        arguments = [
          "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder.path,
          "--client-output-buffer-limit", "pubsub 0 0 0", "--maxclients", "20000", "--loglevel", "warning",
        ]
      case .nats:
        address = String(try Self.freePort())
        arguments = ["--config", try file("nats.conf", Self.nats(port: address))]
      case .mosquitto:
        address = socket
        arguments = ["-c", try file("mosquitto.conf", Self.mosquitto(socket: socket))]
      case .dbusDaemon:
        address = socket
        let configuration = try file("dbus.conf", Self.dbus(socket: socket))
        arguments = ["--config-file=\(configuration)", "--nofork", "--nopidfile", "--nosyslog"]
      case .dbusBroker:
        address = socket
        arguments = [socket, try file("dbus-broker.conf", Self.dbus(socket: socket))]
      }
    }

    /// 1,000 lines, of which three decide about what is measured.
    private static let policy: String = {
      let own = [
        "allow list,observe,ask host.** unit.** user:*", "allow * ** user:root", "deny post x.secret user:*",
      ]
      let others = (0..<997).map { number in
        switch number % 4 {
        case 0: "allow * user.\(number).** user:\(number + 1)"
        case 1: "deny post,hold x\(number).** user:*"
        case 2: "allow ask,delegate host.n\(number).** unit:u\(number).service"
        default: "deny override host.** unit:ci-\(number).service"
        }
      }
      return (own + others).joined(separator: "\n") + "\n"
    }()

    /// NATS has no Unix sockets. The longest payload is the most that it allows. The queues hold as much as the driver
    /// can be ahead.
    private static func nats(port: String) -> String {
      """
      listen: "127.0.0.1:\(port)"
      max_payload: 64MB
      max_pending: 16GB
      max_connections: 20000
      write_deadline: "60s"
      ping_interval: "10m"

      """
    }

    /// If root starts Mosquitto, it becomes another user, who has no access to the folder.
    private static func mosquitto(socket: String) -> String {
      """
      user \(NSUserName())
      listener 0 \(socket)
      allow_anonymous true
      persistence false
      max_queued_messages 0
      max_queued_bytes 0
      max_inflight_messages 0
      set_tcp_nodelay true
      log_dest stderr
      log_type error

      """
    }

    /// Everything is allowed, and the limits exceed what the workloads need.
    static func dbus(socket: String) -> String {
      """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <listen>unix:path=\(socket)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow user="*"/>
          <allow own="*"/>
          <allow send_destination="*"/>
          <allow receive_sender="*"/>
        </policy>
        <limit name="max_incoming_bytes">2000000000</limit>
        <limit name="max_outgoing_bytes">16000000000</limit>
        <limit name="max_message_size">134217728</limit>
        <limit name="max_connections_per_user">20000</limit>
        <limit name="max_completed_connections">20000</limit>
        <limit name="max_match_rules_per_connection">100000</limit>
        <limit name="max_replies_per_connection">100000</limit>
      </busconfig>

      """
    }

    /// A free TCP port on 127.0.0.1, of the kernel's choice.
    private static func freePort() throws -> UInt16 {
      let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
      guard descriptor != -1 else { throw Failure(description: "no TCP socket can be made") }
      defer { close(descriptor) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let found = unsafe withUnsafeMutablePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { any in
          unsafe bind(descriptor, any, length) == 0 && getsockname(descriptor, any, &length) == 0
        }
      }
      guard found else { throw Failure(description: "there is no free TCP port on 127.0.0.1") }
      return UInt16(bigEndian: address.sin_port)
    }
  }
}
