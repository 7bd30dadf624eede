// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("varlinkctl of a newer systemd", .timeLimit(.minutes(15)))
struct SystemdVarlinkctlTests {
  private let bus: TestBus
  private let varlinkctl: [String]

  init() throws {
    bus = try TestBus.withVarlink()
    guard let tree = ProcessInfo.processInfo.environment["TRIBUNE_NEWER_TREE"], !tree.isEmpty else {
      throw Programs.Missing(
        description: "there is no newer systemd (TRIBUNE_NEWER_TREE); \"make test-systemd\" sees to one")
    }
    // With the libraries of its release.
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(tree)/usr/lib")
    let libraries = "\(tree)/usr/lib/\(try #require(folders.first { $0.hasSuffix("-linux-gnu") }))"
    let files = try FileManager.default.contentsOfDirectory(atPath: libraries)
    let loader = try #require(files.first { $0.hasPrefix("ld-linux") })
    varlinkctl = [
      "\(libraries)/\(loader)", "--library-path", "\(libraries):\(libraries)/systemd",
      "\(tree)/usr/bin/varlinkctl",
    ]
  }

  private func run(_ arguments: String...) throws -> FinishedProgram {
    try FinishedProgram(varlinkctl + arguments)
  }

  private func call(_ method: String, _ parameters: String) throws -> FinishedProgram {
    try run("call", "--json=short", "unix:\(bus.varlinkPath)", "io.tribune.Bus.\(method)", parameters)
  }

  private func start(_ method: String, _ parameters: String) throws -> RunningProgram {
    try RunningProgram(
      varlinkctl + [
        "call", "--more", "--json=short", "unix:\(bus.varlinkPath)", "io.tribune.Bus.\(method)", parameters,
      ])
  }

  /// Each of several replies begins with a record separator (RFC 7464).
  private func next(of call: RunningProgram) throws -> [String: Any] {
    try jsonObject(call.nextLine().drop { $0 == "\u{1E}" })
  }

  @Test("describes the service and its interface")
  func introspection() throws {
    let info = try run("info", "unix:\(bus.varlinkPath)")
    #expect(info.status == 0 && info.output.contains("tribuned") && info.output.contains("io.tribune.Bus"))
    let interface = try run("introspect", "unix:\(bus.varlinkPath)", "io.tribune.Bus")
    #expect(interface.status == 0 && interface.output.contains("method Ask"), "\(interface.errors)")
  }

  @Test("observes, holds and asks")
  func calls() throws {
    let observer = try start("Observe", #"{"patterns":["a.*"]}"#)
    #expect(try next(of: observer)["kind"] as? String == "ready")
    #expect(try call("Tell", #"{"name":"a.b","userInfo":{"x":1}}"#).status == 0)
    let notification = try next(of: observer)
    #expect(notification["name"] as? String == "a.b")
    #expect(notification["userInfo"] as? [String: Int] == ["x": 1])

    let hold = try start("Hold", #"{"name":"host.shouldReboot","why":"a restore is running"}"#)
    #expect(try next(of: hold)["hold"] != nil)
    let vetoed = try call("Ask", #"{"name":"host.shouldReboot"}"#).object()
    #expect(vetoed["verdict"] as? String == "vetoed")
    hold.end(SIGKILL)
    try bus.wait {
      try call("Ask", #"{"name":"host.shouldReboot"}"#).object()["verdict"] as? String == "allowed"
    }
  }

  @Test("prints the bus's error")
  func errors() throws {
    let refused = try call("Tell", #"{"name":"..","object":null}"#)
    #expect(refused.status != 0 && refused.errors.contains("io.tribune.Bus.Refused"), "\(refused.errors)")
  }
}
