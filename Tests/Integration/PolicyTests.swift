// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

@Suite("The policy of a bus", .timeLimit(.minutes(15)))
struct PolicyTests {
  private static let usual = """
    allow * ** user:root
    allow * user.%U.** user:*  # %U: the uid
    allow list,observe,ask host.** unit.** user:*
    allow observe tribune.hold.* tribune.delegate.* tribune.bus.didReload user:*

    """
  private static let ann: UInt32 = 65_533
  private static let bob: UInt32 = 65_534

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func write(_ lines: String, to file: String = "10.policy") throws {
    try folder.write(lines, to: "etc/policy.d/\(file)")
  }

  private func user(_ id: UInt32, on bus: TestBus, groups: [UInt32] = []) throws -> OtherUser {
    try OtherUser(id, on: bus.address, in: folder, groups: groups)
  }

  @Test(
    "Each verb and the log report what the policy does not allow",
    arguments: [
      (["post", "user.65533.a"], "post user.65533.a"), (["observe", "**"], "observe **"),
      (["ask", "user.65533.shouldA"], "ask user.65533.shouldA"),
      (["ask", "host.shouldReboot", "--override=I say so"], "override host.shouldReboot"),
      (["delegate", "--set", "--approve", "**"], "delegate **"),
      (["hold", "--why=x", "host.shouldReboot"], "hold host.shouldReboot"),
      (["declare", "host", "Evil"], "declare ** for \"host\""), (["capture"], "monitor **"),
      (["explain", "user.65533.shouldA"], "list user.65533.shouldA"),
    ])
  func denied(arguments: [String], what: String) throws {
    try write(Self.usual)
    let bus = try TestBus(folder: folder)
    let refused = try FinishedProgram(try user(Self.bob, on: bus).command(arguments))
    #expect(refused.status != 0 && refused.output.isEmpty)
    #expect(
      refused.errors == "tribunectl: user 65534 may not \(what): no line of the policy allows it\n",
      "\(refused)")
    #expect(try bus.log().contains("may not \(what): no line of the policy allows it"))
    #expect(try bus.tribunectl("status", "-j").object()["denied"] as? Int == 1)
  }

  @Test("Refusals are logged with their line, up to a few a second for each user; all are counted")
  func denialLog() throws {
    try write("allow * ** user:*\ndeny post a.** user:65534\ndeny post a.** user:65533\n")
    let bus = try TestBus(folder: folder)
    let count = 500
    for (user, count) in [(Self.bob, count), (Self.ann, 1)] {
      let client = try RawClient.greeted(bus, as: user)
      for _ in 0..<count { try client.send(Post(), serial: 1, name: "a.b") }
      try client.settle()
    }
    #expect(try RawClient.greeted(bus).busEntry().denied == UInt64(count + 1))
    #expect(bus.stop() == 0)
    let log = try bus.log().split(separator: "\n")
    func lines(_ user: UInt32, _ line: Int) -> Int {
      let file = "\(folder.path)/etc/policy.d/10.policy"
      return log.count {
        $0.contains("did not allow ") && $0.contains(" (connection :")
          && $0.hasSuffix(": user \(user) may not post a.b: denied by \(file):\(line)")
      }
    }
    #expect(lines(Self.ann, 3) == 1)
    let logged = lines(Self.bob, 2)
    let omitted = log.filter { $0.contains("user 65534: ") && $0.hasSuffix(" about refusals omitted") }
      .reduce(0) { $0 + ($1.split(separator: " ").lazy.compactMap { Int($0) }.first ?? 0) }
    #expect(logged > 0 && omitted > 0 && logged + omitted == count, "\(logged) \(omitted)")
  }

  private func busOfAnn() throws -> (bus: RunningProgram, address: String) {
    try folder.write("", to: "etc/tribuned.conf")
    try folder.write("", to: "run/placeholder")
    _ = unsafe chown("\(folder.path)/run", Self.ann, Self.ann)
    let program = "\(folder.path)/tribuned"
    try FileManager.default.copyItem(atPath: try Programs.path(of: "tribuned"), toPath: program)
    let path = "\(folder.path)/run/bus"
    let bus = try RunningProgram([
      "/usr/bin/setpriv", "--reuid=\(Self.ann)", "--regid=\(Self.ann)", "--clear-groups", program,
      "--listen=\(path)", "--config=\(folder.path)/etc",
    ])
    while let line = try bus.errors.line(), !line.contains("listening on") {}
    return (bus, "unix:\(path)")
  }

  @Test("The user of a bus may do everything on it, even with a policy; root may do what the policy allows")
  func unprivileged() throws {
    try write("allow post root.** user:root\n")
    let (bus, address) = try busOfAnn()
    let ann = try OtherUser(Self.ann, on: address, in: folder)
    try ann.tribunectl("post", "a.b").expect(0)
    try ann.tribunectl("ask", "a.shouldB", "--override=mine").expect(0)
    let asRoot = "--address=\(address)"
    try TestBus.tribunectl([asRoot, "post", "root.a"], address: address).expect(0)
    try TestBus.tribunectl([asRoot, "post", "a.b"], address: address).expect(
      1, errors: "tribunectl: user 0 may not post a.b: no line of the policy allows it\n")
    withExtendedLifetime(bus) {}
  }

  @Test("Root does not take another user's bus from the environment, and not for a missing one")
  func inheritedAddress() throws {
    let (bus, address) = try busOfAnn()
    for verb in [["ask", "a.shouldB"], ["guard", "a.b"]] {
      let refused = try TestBus.tribunectl(
        verb + ["--if-unreachable=allow"] + (verb[0] == "guard" ? ["--", "echo", "ran"] : []),
        address: address)
      refused.expect(
        255, output: "",
        errors: "tribunectl: the bus at \(address) is served by another user (uid \(Self.ann)), "
          + "and cannot be trusted\n")
    }
    withExtendedLifetime(bus) {}
  }

  @Test("Without a policy, root may do everything on another user's bus, and others nothing")
  func rootWithoutPolicy() throws {
    let (bus, address) = try busOfAnn()
    let bob = try OtherUser(Self.bob, on: address, in: folder)
    let actions = [
      ["post", "a.b"], ["post", "a.b", "1", "--retain"], ["observe", "**", "--retained", "-N", "1"],
      ["ask", "a.shouldB"], ["ask", "a.shouldB", "--override=why"], ["explain", "a.shouldB"],
      ["hold", "--why=x", "**", "--", "true"], ["tree"],
    ]
    for arguments in actions {
      try TestBus.tribunectl(["--address=\(address)"] + arguments, address: address).expect(0)
      let refused = try FinishedProgram(bob.command(arguments))
      #expect(refused.status != 0, "\(arguments)")
      #expect(
        refused.errors.hasPrefix("tribunectl: user 65534 may not ")
          && refused.errors.contains(": the policy has no lines\n"), "\(arguments) \(refused)")
    }
    withExtendedLifetime(bus) {}
  }

  @Test("A line with an object does not allow a question without one, which is about every object")
  func everyObject() throws {
    try write("allow ask a.** object:mine/* user:*\n")
    let bus = try TestBus(folder: folder)
    let bob = try user(Self.bob, on: bus)
    try bob.tribunectl("ask", "a.shouldB", "--object=mine/1").expect(0)
    try bob.tribunectl("ask", "a.shouldB").expect(
      255, output: "",
      errors: "tribunectl: user 65534 may not ask a.shouldB: no line of the policy allows it\n")
  }

  @Test("All groups count, including supplementary ones")
  func groups() throws {
    try write("allow hold a.** group:4242,user:65534\nallow ask,list ** user:*\n")
    let bus = try TestBus(folder: folder)
    try user(Self.bob, on: bus).tribunectl("hold", "--why=x", "a.shouldB", "--", "true").expect(255)
    let member = try user(Self.bob, on: bus, groups: [100, 4242])
    try member.tribunectl("hold", "--why=x", "a.shouldB", "--", "true").expect(0)
    try user(Self.ann, on: bus, groups: [4242]).tribunectl("hold", "--why=x", "a.shouldB", "--", "true")
      .expect(255)
  }

  @Test("In a process with many groups, only groups in the policy count, and the bus stores no others")
  func manyGroups() throws {
    try write("allow hold a.** group:4242\nallow * b.** group:4243\n")
    let bus = try TestBus(folder: folder)
    let member = try user(Self.bob, on: bus, groups: Array(10_000..<20_000) + [4242])
    try member.tribunectl("hold", "--why=x", "a.shouldB", "--", "true").expect(0)
    try member.tribunectl("hold", "--why=x", "b.shouldB", "--", "true").expect(255)
    let decision = try member.tribunectl("policy", "explain", "hold", "a.shouldB", "-j").object()
    #expect(decision["groups"] as? [Int] == [4242, Int(Self.bob)])
  }

  @Test("A guard that may ask but not post runs nothing, which a dry run does not notice")
  func guardWithoutPost() throws {
    try write("allow ask host.** user:*\n")
    let bus = try TestBus(folder: folder)
    let bob = try user(Self.bob, on: bus)
    try bob.tribunectl("guard", "host.reboot", "--dry-run", "--", "echo", "ran").expect(
      0, output: "allowed: host.shouldReboot (dry run) (no delegate answered)\n")
    for names in [[], ["host.willReboot"], ["host.willReboot", "host.didReboot"]] {
      try write("allow ask host.** user:*\nallow post \((["a"] + names).joined(separator: " ")) user:*\n")
      try bus.reload("")
      let missing = ["host.willReboot", "host.didReboot", "host.didFailToReboot"][names.count]
      try bob.tribunectl("guard", "host.reboot", "--", "echo", "ran").expect(
        255, output: "",
        errors: "tribunectl: user 65534 may not post \(missing): no line of the policy allows it\n")
    }
    #expect(try bus.tribunectl("-j", "status").object()["asked"] as? Int == 0)
    try bob.tribunectl("guard", "unit.start", "--", "echo", "ran").expect(
      255, output: "",
      errors: "tribunectl: user 65534 may not ask unit.shouldStart: no line of the policy allows it\n")
  }

  @Test(
    "A reload ends registrations that are no longer allowed, and tells the client the line",
    arguments: [false, true])
  func reload(_ isDenied: Bool) throws {
    try write("allow * ** user:*\n")
    let bus = try TestBus(folder: folder)
    let bob = try user(Self.bob, on: bus)
    let hold = try bob.staying("hold", "--why=x", "host.shouldReboot")
    let observer = try bob.staying("observe", "host.**")
    try write("allow observe host.** user:*\n" + (isDenied ? "deny hold ** user:65534\n" : ""))
    try bus.reload("")
    let why =
      isDenied ? "denied by \(folder.path)/etc/policy.d/10.policy:2" : "no line of the policy allows it"
    #expect(
      try hold.errors.line() == "tribunectl: user 65534 may not hold host.shouldReboot: \(why)")
    #expect(hold.status() != 0)
    try bus.tribunectl("ask", "host.shouldReboot").expect(0)
    try bus.tribunectl("post", "host.didResume").expect(0)
    #expect(try observer.output.line()?.contains("host.didResume") == true)
  }

  @Test(
    "A policy with a mistake is not used: a bus does not start with it, and a running one keeps its own",
    arguments: [
      ("alow post c user:65534", 1, "\"alow\" is neither allow nor deny"),
      ("deny ask a.** user:nobody-here", 15, ""),
    ])
  func mistakes(line: String, column: Int, message: String) throws {
    try write("allow post a.** user:65534\n")
    let bus = try TestBus(folder: folder)
    try write("allow post b.** user:65534\n\(line)\n")
    let place = "\(folder.path)/etc/policy.d/10.policy:2:\(column): "
    let mistake = "\(place)error: \(message)"
    try bus.reload("")
    #expect(try bus.log().contains(mistake))
    let bob = try user(Self.bob, on: bus)
    try bob.tribunectl("post", "a.b").expect(0)
    try bob.tribunectl("post", "b.b").expect(1)
    let tribuned = try Programs.path(of: "tribuned")
    let options = ["--config=\(folder.path)/etc", "--listen=\(folder.path)/other"]
    let refused = try FinishedProgram([tribuned] + options)
    #expect(refused.status == 1 && refused.errors.contains(mistake))
    let checked = try FinishedProgram([tribuned, "--check-config"] + options)
    #expect(checked.status == 1 && checked.errors.contains(mistake))
    let verified = try bus.tribunectl("verify", "\(folder.path)/etc/policy.d/10.policy")
    #expect(verified.status == 1 && verified.errors.contains("\(place)\(message)"))
  }

  @Test("Expectations in .test files are checked with the configuration, and by verify")
  func expectations() throws {
    try write("allow hold host.** group:0\n")
    try write("expect deny hold host.** user:65534\nexpect deny hold host.** group:0\n", to: "10.test")
    let checked = try FinishedProgram([
      try Programs.path(of: "tribuned"), "--check-config", "--config=\(folder.path)/etc",
    ])
    let failure =
      "expected deny hold host.** for group:0: allowed by \(folder.path)/etc/policy.d/10.policy:1\n"
    checked.expect(1, errors: "\(folder.path)/etc/policy.d/10.test:2: mistake: \(failure)")
    let files = ["10.policy", "10.test"].map { "\(folder.path)/etc/policy.d/\($0)" }
    let verified = try FinishedProgram([try Programs.path(of: "tribunectl"), "verify"] + files)
    verified.expect(1, output: "", errors: "\(files[1]):2:1: \(failure)")
  }

  @Test("--check-config --live lists what a reload would end, and ends nothing")
  func live() throws {
    try write("allow * ** user:*\n")
    let bus = try TestBus(folder: folder)
    let bob = try user(Self.bob, on: bus)
    let hold = try bob.staying("hold", "--why=x", "host.shouldReboot")
    let command = [
      try Programs.path(of: "tribuned"), "--check-config", "--live", "--listen=\(bus.path)",
      "--config=\(folder.path)/etc",
    ]
    try write("allow * ** user:root\nallow hold ** user:bin,user:65534\nallow observe,ask ** user:65534\n")
    let asked = try FinishedProgram(command)
    let warning = """
      \(folder.path)/etc/policy.d/10.policy:2:24: warning: a process has one user, so the line matches nobody; \
      for a choice between several, write several lines

      """
    asked.expect(0, errors: warning)
    #expect(
      asked.output == ":1 of tribunectl[\(hold.pid)]: user 65534 may not hold host.shouldReboot: no line of "
        + "the policy allows it\n")
    try bus.tribunectl("ask", "host.shouldReboot").expect(1)
    try bus.reload("")
    try bus.tribunectl("ask", "host.shouldReboot").expect(0)
    try FinishedProgram(command).expect(0, output: "Nothing would end.\n", errors: warning)
    try FinishedProgram(["sh", "-c", "exec \"$@\" >/dev/full", "sh"] + command).expect(
      1, errors: warning + "tribuned: cannot write to standard output: No space left on device\n")
    try folder.write("expect allow hold host.shouldReboot user:bin\n", to: "etc/policy.d/10.test")
    let failing = try FinishedProgram(command)
    #expect(failing.status == 1 && failing.output == "Nothing would end.\n")
    #expect(failing.errors.contains("10.test:1"))
    bus.stop()
    let alone = try FinishedProgram(command)
    #expect(alone.status == 1 && alone.errors.contains("the bus at \(bus.path) does not say what would end"))
  }

  @Test("policy explain names the decision, the line, the identity, and near misses")
  func explain() throws {
    try write("# who may reboot\nallow hold host.** group:4242\nallow ask host.** user:*\n")
    let bus = try TestBus(folder: folder)
    let bob = try user(Self.bob, on: bus, groups: [7])
    let file = "\(folder.path)/etc/policy.d/10.policy"
    try bob.tribunectl("policy", "explain", "hold", "host.shouldReboot").expect(
      1,
      output: """
        hold host.shouldReboot: refused
          No line of the policy allows it.
          For user 65534, groups 7 65534, no system unit (of this connection, as the kernel recorded them).
        Near miss: \(file):2 needs group:4242
          allow hold host.** group:4242
        Near miss: \(file):3 does not allow hold
          allow ask host.** user:*

        """)
    try bob.tribunectl("policy", "explain", "ask", "host.shouldReboot").expect(
      0,
      output: """
        ask host.shouldReboot: allowed
          \(file):3: allow ask host.** user:*
          For user 65534, groups 7 65534, no system unit (of this connection, as the kernel recorded them).

        """)
    try bob.tribunectl("policy", "explain", "override", "host.shouldHalt", "--as=4000000").expect(
      1,
      output: """
        override host.shouldHalt: refused
          No line of the policy allows it.
          To override, one must be allowed to ask, too.
          For user 4000000, no system unit (of the id alone: the user database does not have it).
        Near miss: \(file):3 does not allow override
          allow ask host.** user:*

        """)
    let hold = try user(Self.ann, on: bus, groups: [4242]).staying("hold", "--why=x", "host.shouldReboot")
    let decision = try bus.tribunectl("policy", "explain", "hold", "host.*", "--pid=\(hold.pid)", "-j")
      .object()
    #expect(decision["allowed"] as? Bool == true && decision["groups"] as? [Int] == [4242, 65_533])
    #expect((decision["by"] as? [String: Any])?["line"] as? Int == 2)
    let list = try bus.tribunectl("list", "--json=short").lines.map { try jsonObject($0) }
    let id = try #require(list.first { $0["uid"] as? Int == 65_533 }?["connection"] as? String)
    try bus.tribunectl("policy", "explain", "hold", "host.*", "--connection=\(id)").expect(0)
    try bob.tribunectl("policy", "explain", "hold", "host.*", "--connection=\(id)").expect(
      1, errors: "tribunectl: there is no connection \(id)\n")
    hold.signal(SIGTERM)
    _ = hold.status()
    // The bus sees the end of that connection before it sees the next one.
    let gone = try bus.tribunectl("status", id, "-j").object()
    #expect(gone["uid"] as? Int == 65_533 && gone["goneFor"] is NSNumber)
    try bob.tribunectl("status", id).expect(1, errors: "tribunectl: there is no connection \(id)\n")
    try bus.tribunectl("policy", "explain", "hold", "host.*", "--as=nobody").expect(1)
    try bus.tribunectl("policy", "explain", "fly", "host.*").expect(
      2,
      errors:
        "tribunectl: there is no action \"fly\"; there are post, retain, observe, ask, delegate, set, hold, "
        + "override, claim, declare, monitor, list\n")
  }
}

@Suite("The policy of a restarted bus", .timeLimit(.minutes(15)))
struct RestartedPolicyTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try folder.write("allow * ** user:*\ndeny set ** user:65534\n", to: "etc/policy.d/10.policy")
  }

  @Test("A delegate that was not replaced stays attached", arguments: RestartedBus.Way.allCases)
  func setting(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus(folder: folder)
    let (ann, bob) = (
      try OtherUser(65_533, on: "unix:\(bus.path)", in: folder),
      try OtherUser(65_534, on: "unix:\(bus.path)", in: folder)
    )
    let delegates = [
      try ann.staying("delegate", "--veto=no", "x.shouldA"),
      try bob.staying("delegate", "--approve", "--label=first", "x.shouldA"),
      try bob.staying("delegate", "--approve", "--label=second", "--set", "x.shouldA"),
    ]
    #expect(delegates[1].status() != 0)
    for _ in 0..<2 {
      try bus.restart(way)
      let verdict = try bus.bus.tribunectl("ask", "x.shouldA", "-j", "--mode=all")
      #expect(verdict.status == 1)
      #expect(try verdict.outcomes().count == 2)
    }
    withExtendedLifetime(delegates) {}
  }

  @Test("Registrations that a reload ended stay ended, even if a later policy allows them")
  func ended() throws {
    let bus = try RestartedBus(folder: folder)
    let bob = try OtherUser(65_534, on: "unix:\(bus.path)", in: folder)
    let hold = try bob.staying("hold", "--why=x", "host.shouldReboot")
    try hold.freeze()
    try folder.write("allow ask ** user:*\n", to: "etc/policy.d/10.policy")
    try bus.bus.reload("")
    try folder.write("allow * ** user:*\n", to: "etc/policy.d/10.policy")
    try bus.bus.reload("")
    for way in RestartedBus.Way.allCases {
      try bus.restart(way)
      try bus.bus.tribunectl("ask", "host.shouldReboot").expect(0)
    }
    hold.signal(SIGCONT)
    #expect(hold.status() != 0)
  }

  @Test(
    "A newly named group that denies applies to all processes with many groups until they connect again"
  )
  func manyGroups() throws {
    let asking = "allow ask host.enforcement user:*\n"
    try folder.write(
      "allow hold ** group:4242\ndeny hold ** group:9\n\(asking)", to: "etc/policy.d/10.policy")
    let bus = try RestartedBus(folder: folder)
    let bob = try OtherUser(
      65_534, on: "unix:\(bus.path)", in: folder, groups: Array(10_000..<20_000) + [4242])
    let hold = try bob.staying("hold", "--why=x", "host.shouldReboot")
    for way in RestartedBus.Way.allCases {
      try bus.restart(way)
      #expect(try bus.bus.tribunectl("ask", "host.shouldReboot").status == 1)
    }
    let file = "etc/policy.d/10.policy"
    try folder.write("allow hold ** group:4242\ndeny hold ** group:10\n\(asking)", to: file)
    try bus.restart(.crash)
    #expect(
      try hold.errors.line() == "tribunectl: user 65534, in more than 128 groups, may not hold "
        + "host.shouldReboot: denied by \(folder.path)/\(file):2")
    #expect(hold.status() != 0)
    try bob.tribunectl("hold", "--why=x", "a.shouldB", "--", "true").expect(0)
  }

  @Test("A policy that changed while there was no bus ends registrations that it does not allow")
  func changed() throws {
    let bus = try RestartedBus(folder: folder)
    let bob = try OtherUser(65_534, on: "unix:\(bus.path)", in: folder)
    let hold = try bob.staying("hold", "--why=x", "host.shouldReboot")
    try folder.write("allow ask ** user:*\n", to: "etc/policy.d/10.policy")
    try bus.restart(.crash)
    try bus.bus.tribunectl("ask", "host.shouldReboot").expect(0)
    #expect(
      try hold.errors.line()
        == "tribunectl: user 65534 may not hold host.shouldReboot: no line of the policy allows it")
    #expect(hold.status() != 0)
  }
}
