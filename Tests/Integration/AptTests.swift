// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// SystemdAptTests has the real apt and dpkg.
@Suite("The program for apt and dpkg") struct AptTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static let file = "Examples/apt/packages"

  private static let step = "x - - none < 1 all none /root/x_1_all.deb"

  private func run(
    _ mode: String = "ask", _ steps: [String] = [step], settings: [String] = [],
    version: String = "VERSION 3",
    environment: [String: String] = [:]
  ) throws -> (status: Int32, output: String) {
    try bus.folder.write(
      Script.text(of: Self.file).replacing("'/run/tribune-packages'", with: "'\(note)'"), to: "packages",
      mode: 0o755)
    try bus.folder.write(
      ([version] + settings + [""] + steps).map { "\($0)\n" }.joined(), to: "input")
    let ended = try FinishedProgram(
      ["sh", "-c", "'\(bus.folder.path)/packages' \(mode) <'\(bus.folder.path)/input'"],
      environment: ["PATH": "\(try Programs.folder()):/usr/bin:/bin", "TRIBUNE_ADDRESS": bus.address]
        .merging(environment) { $1 })
    return (ended.status, ended.output + ended.errors)
  }

  private var note: String { "\(bus.folder.path)/note" }

  private func approve() throws {
    try bus.staying(
      "delegate", "packages.shouldChange", "--exec", "sh", "-c", "cat >'\(bus.folder.path)/asked'")
  }

  private func asked() throws -> [String: Any] { try jsonObject(bus.folder.read("asked")) }

  private static let plans: [(steps: [String], package: [String])] = [
    (
      [
        "x - - none < 1:1.0~rc1+b1-2 amd64 same /x_1.deb",
        "x - - none < 1:1.0~rc1+b1-2 amd64 same **CONFIGURE**",
      ],
      ["amd64", "install", "-", "1:1.0~rc1+b1-2"]
    ),
    (
      ["x 1 all none < 2 all none /a \"b\" \\c_2.deb", "x 1 all none < 2 all none **CONFIGURE**"],
      ["all", "upgrade", "1", "2"]
    ),
    (["x 2 all foreign > 1 all foreign /x_1.deb"], ["all", "downgrade", "2", "1"]),
    (["x 1 all none = 1 all none /x_1.deb"], ["all", "reinstall", "1", "1"]),
    (["x 1 i386 same > - - none **REMOVE**"], ["i386", "remove", "1", "-"]),
    (["x 1 all none = 1 all none **CONFIGURE**"], ["all", "configure", "1", "1"]),
    // Removed only to be unpacked again.
    (
      ["x 1 all none < 2 all none **REMOVE**", "x 1 all none < 2 all none /x_2.deb"],
      ["all", "upgrade", "1", "2"]
    ),
  ]

  @Test("asks with the changes that apt is about to make to a package", arguments: plans)
  func plan(steps: [String], package: [String]) throws {
    try approve()
    let ran = try run("ask", steps)
    #expect(ran.status == 0 && ran.output == "")
    let keys = ["architecture", "action", "oldVersion", "newVersion"]
    var expected = Dictionary(uniqueKeysWithValues: zip(keys, package)).filter { $0.value != "-" }
    expected["name"] = "x"
    #expect(try asked()["packages"] as? [[String: String]] == [expected])
    #expect(try asked()["packagesOmitted"] as? Int == 0)
  }

  @Test("tells packages of several architectures apart, in apt's order") func architectures() throws {
    try approve()
    #expect(
      try run(
        "ask", ["g++ - - none < 2 i386 no /g", "a0 - - none < 1 all no /a", "g++ 1 amd64 no < 2 amd64 no /g"]
      )
      .status == 0)
    let packages = try #require(try asked()["packages"] as? [[String: String]])
    #expect(
      packages.map { "\($0["name"] ?? "") \($0["architecture"] ?? "")" } == [
        "g++ i386", "a0 all", "g++ amd64",
      ])
  }

  @Test("counts the packages that the userInfo omits") func long() throws {
    try approve()
    let count = 2_000
    #expect(try run("ask", (1...count).map { "package\($0) - - none < 1 all none /p.deb" }).status == 0)
    #expect(try bus.folder.read("asked").utf8.count <= 66_000)
    let packages = try #require(try asked()["packages"] as? [[String: String]])
    #expect(packages.count > 500)
    #expect(packages.map { $0["name"] } == (1...packages.count).map { "package\($0)" })
    #expect(try asked()["packagesOmitted"] as? Int == count - packages.count)
  }

  @Test(
    "refuses impossible package names, and lines that it does not understand",
    arguments: [
      "x\" - - none < 1 all none /x.deb", "x - - none < 1\\ all none /x.deb", "x - - none < 1 ä none /x.deb",
      "x - - none < 1 all none **UNPACK**", "x - < 1 /x.deb",
    ])
  func refused(step: String) throws {
    try approve()
    let ran = try run("ask", [Self.step, step])
    #expect(ran.status == 1)
    #expect(ran.output.contains("no package was changed\n") && ran.output.contains(step))
    #expect(!bus.folder.contains("asked"))
  }

  @Test("apt and dpkg continue without the program, but not if it cannot be loaded") func hooks() throws {
    let place = "\(bus.folder.path)/packages"
    for (file, mode) in [("60tribune", "ask"), ("dpkg.cfg", "dpkg")] {
      let text = try Script.text(of: "Examples/apt/\(file)")
      let line = try #require(
        text.split(separator: "\n").first { $0.contains("/packages \(mode) ") && !$0.hasPrefix("//") })
      let start = try #require(line.firstRange(of: "/usr/local"))
      let hook = String(line[start.lowerBound...]).replacing("\";", with: "")
        .replacing("/usr/local/lib/tribune/packages", with: place)
      #expect(try FinishedProgram(["sh", "-c", hook]).status == 0)
      try bus.folder.write("#!/bin/sh\nexit 127\n", to: "packages", mode: 0o755)
      #expect(try FinishedProgram(["sh", "-c", hook]).status != 0)
      try FileManager.default.removeItem(atPath: place)
    }
  }

  @Test("refuses another version of apt's protocol") func otherVersion() throws {
    #expect(try run(version: "VERSION 2").status == 1)
    #expect(try run(version: "/root/x_1_all.deb").status == 1)
  }

  @Test("prints each reason of a veto, and how to override it") func vetoed() throws {
    try bus.staying("hold", "packages.shouldChange", "--why=a backup is running")
    try bus.staying("delegate", "packages.shouldChange", "--veto=it is noon")
    let ran = try run()
    #expect(ran.status == 1)
    for text in [
      "a backup is running", "it is noon", "apt -o Tribune::Override=", "rm /etc/apt/apt.conf.d/60tribune",
    ] {
      #expect(ran.output.contains(text))
    }
    #expect(!bus.folder.contains("note"))
  }

  @Test(
    "overrides a veto with the reason that apt was given",
    arguments: ["Tribune::Override", "tribune::override"])
  func override(setting: String) throws {
    let observer = try bus.staying("observe", "tribune.query.didOverride", "-j")
    try bus.staying("hold", "packages.shouldChange", "--why=a backup is running")
    // apt escapes spaces, percent signs and unprintable characters.
    let ran = try run(settings: ["\(setting)=100%25%20\"urgent\"%20%c3%bc%2520"])
    #expect(ran.status == 0)
    #expect(ran.output.contains("allowed: packages.shouldChange (overridden)"))
    let userInfo = try #require(try observer.output.object()["userInfo"] as? [String: Any])
    #expect(userInfo["reason"] as? String == "100% \"urgent\" ü%20")
  }

  @Test("asks with a dry run if apt simulates, and announces nothing") func rehearsal()
    throws
  {
    try bus.staying(
      "delegate", "packages.shouldChange", "--exec", "sh", "-c",
      "echo \"${TRIBUNE_DRY_RUN-no}\" >>'\(bus.folder.path)/dry'")
    #expect(try run(settings: ["Debug::pkgDPkgPM=1"]).status == 0)
    #expect(!bus.folder.contains("note"))
    #expect(try run().status == 0)
    #expect(bus.folder.contains("note"))
    #expect(try bus.folder.read("dry") == "1\nno\n")
  }

  @Test("refuses if a running bus gives no verdict") func noVerdict() throws {
    try bus.folder.write(
      "#!/bin/sh\necho 'tribunectl: the bus gives no verdict' >&2\nexit 255\n", to: "bin/tribunectl",
      mode: 0o755)
    let ran = try run(environment: ["PATH": "\(bus.folder.path)/bin:/usr/bin:/bin"])
    #expect(ran.status == 1)
    #expect(ran.output.contains("the bus gives no verdict"))
  }

  @Test(
    "allows without a bus, with one line, and announces nothing",
    arguments: [("ask", [:]), ("dpkg", ["DPKG_HOOK_ACTION": "remove"])])
  func noBus(hook: String, environment: [String: String]) throws {
    if hook == "ask" { try bus.folder.write("an older one", to: "note") }
    let ran = try run(hook, environment: ["TRIBUNE_ADDRESS": "unix:/nowhere"].merging(environment) { $1 })
    #expect(ran.status == 0)
    #expect(
      ran.output.hasPrefix("tribunectl: no bus at unix:/nowhere")
        && ran.output.split(separator: "\n").count == 1)
    #expect(!bus.folder.contains("note"))
  }

  @Test("asks the system's bus even if the user has one") func ownBus() throws {
    try bus.staying("hold", "packages.shouldChange", "--why=a backup is running")
    let ran = try run(environment: bus.asOwnOfItsUser())
    #expect(!ran.output.contains("a backup is running"))
  }

  @Test("allows without tribunectl, with one line") func noProgram() throws {
    let ran = try run(environment: ["PATH": "/usr/bin:/bin"])
    #expect(ran.status == 0)
    #expect(ran.output == "tribune: there is no tribunectl, so nobody is asked\n")
    try bus.folder.write("", to: "bin/tribunectl")
    #expect(try run(environment: ["PATH": "\(bus.folder.path)/bin:/usr/bin:/bin"]).status == 1)
  }

  @Test(
    "does not ask about packages of another root",
    arguments: [
      ("Dir=/mnt/", 0), ("RootDir=/mnt", 0), ("Dir=/", 1), ("Dir=/.", 1), ("Dir::State=var/lib/apt", 1),
    ])
  func otherRoot(setting: String, status: Int32) throws {
    try bus.staying("hold", "packages.shouldChange", "--why=a backup is running")
    #expect(try run(settings: [setting]).status == status)
  }

  @Test("asks about the changes that dpkg is about to make") func dpkg() throws {
    try approve()
    #expect(try run("dpkg", environment: ["DPKG_HOOK_ACTION": "triggers-only"]).status == 0)
    #expect(try asked() as? [String: String] == ["action": "triggers-only"])
    try bus.staying("hold", "packages.shouldChange", "--why=a backup is running")
    let ran = try run("dpkg", environment: ["DPKG_HOOK_ACTION": "remove", "DPKG_ROOT": "/."])
    #expect(ran.status == 1)
    #expect(
      ran.output.contains("a backup is running") && ran.output.contains("rm /etc/dpkg/dpkg.cfg.d/tribune"))
    #expect(
      try run("dpkg", environment: ["DPKG_HOOK_ACTION": "remove", "TRIBUNE_OVERRIDE": "why"]).status == 0)
  }

  @Test(
    "does not ask for a dpkg of a front end, of another root, or without changes to packages",
    arguments: [
      ["DPKG_FRONTEND_LOCKED": "true"], ["DPKG_ROOT": "/mnt"], ["DPKG_HOOK_ACTION": "add-architecture"],
    ])
  func notAsked(environment: [String: String]) throws {
    try bus.staying("hold", "packages.shouldChange", "--why=a backup is running")
    let ran = try run("dpkg", environment: ["DPKG_HOOK_ACTION": "install"].merging(environment) { $1 })
    #expect(ran.status == 0 && ran.output == "")
  }
}
