// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Packages under systemd", .timeLimit(.minutes(15)))
struct SystemdAptTests {
  private let machine: Container

  private static let enable = "/usr/share/doc/tribune/examples/apt/enable"

  init() throws {
    machine = try Container(
      programs: [
        // NAME VERSION [FIELD] [COMMAND]: a package without files, in the current folder.
        "/usr/local/bin/make-package": """
        #!/bin/sh -e
        folder=$(mktemp -d)
        trap 'rm -r "$folder"' EXIT
        chmod 0755 "$folder"
        mkdir "$folder/DEBIAN"
        printf 'Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: Test\\nDescription: test\\n%s' \\
          "$1" "$2" "${3:+$3\n}" >"$folder/DEBIAN/control"
        printf '#!/bin/sh\\n%s\\n' "${4-}" >"$folder/DEBIAN/postinst"
        chmod 0755 "$folder/DEBIAN/postinst"
        dpkg-deb -Znone --root-owner-group --build "$folder" "$1_$2.deb" >/dev/null

        """
      ])
    try machine.does(Self.enable)
  }

  private func make(_ package: String, _ version: String, field: String = "", command: String = "") throws {
    try machine.does(
      "sh", "-c", "cd /root && make-package \"$@\"", "sh", package, version, field, command)
  }

  private func run(_ command: String...) throws -> (status: Int32, output: String) {
    let ended = try machine.run("sh", "-c", command.joined(separator: " "))
    return (ended.status, ended.output + ended.errors)
  }

  private func apt(_ arguments: String...) throws -> (status: Int32, output: String) {
    try run("cd /root && apt-get --yes", arguments.joined(separator: " "))
  }

  private func version(of package: String) throws -> String? {
    let shown = try machine.run(
      "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package)
    let words = shown.output.split(separator: " ")
    return words.first == "installed" ? String(words[1]) : nil
  }

  private func hold(_ name: String = "packages.shouldChange", _ options: String...) throws -> RunningProgram {
    let hold = try machine.start("tribunectl", ["hold", name, "--why=a backup is running"] + options)
    try #require(try hold.errors.line()?.hasPrefix("holding ") == true)
    return hold
  }

  private func end(_ hold: RunningProgram) throws {
    hold.signal(SIGKILL)
    _ = try hold.output.rest()
  }

  private func approve(_ name: String = "packages.shouldChange") throws -> RunningProgram {
    try machine.staying(
      "delegate", name, "--exec", "sh", "-c",
      "echo \"${TRIBUNE_OBJECT:--} ${TRIBUNE_DRY_RUN:-0} $(cat)\" >>/root/asked")
  }

  private func asked() throws -> [String] {
    let lines = try machine.does("sh", "-c", "touch /root/asked; cat /root/asked; rm /root/asked")
    return lines.split(separator: "\n").map { String($0) }
  }

  private func told(_ observer: RunningProgram) throws -> [String] {
    let notification = try observer.output.object()
    let userInfo = try #require(notification["userInfo"] as? [String: Any])
    let packages = try #require(userInfo["packages"] as? [[String: String]])
    return ["\(notification["name"] ?? "")"]
      + packages.map { [$0["name"], $0["action"], $0["state"]].compactMap { $0 }.joined(separator: " ") }
  }

  @Test("a veto ends apt with its reason before any change; without a veto, apt continues and announces")
  func vetoed() throws {
    try make("x", "1")
    let observer = try machine.staying("observe", "packages.*", "-j")
    let delegate = try approve()
    let hold = try hold()
    let refused = try apt("install ./x_1.deb")
    #expect(refused.status == 100)
    #expect(refused.output.contains("a backup is running"))
    #expect(refused.output.contains("apt -o Tribune::Override="))
    #expect(
      try run("cd /root && PATH=/sbin:/usr/sbin /usr/bin/apt-get --yes install ./x_1.deb").status == 100)
    #expect(try version(of: "x") == nil)
    try end(hold)
    #expect(try apt("install ./x_1.deb").status == 0)
    #expect(try version(of: "x") == "1")
    let question =
      #"- 0 {"packages":[{"name":"x","architecture":"all","action":"install","newVersion":"1"}],"packagesOmitted":0}"#
    #expect(try asked() == [question, question, question])
    #expect(try told(observer) == ["packages.didChange", "x install"])
    withExtendedLifetime(delegate) {}
  }

  @Test("apt asks once for any number of calls of dpkg, even if it only removes packages")
  func once() throws {
    try make("x", "1")
    try make("x", "2")
    try make("y", "1", field: "Pre-Depends: x (= 2)")
    try #require(try apt("install ./x_1.deb").status == 0)
    let delegate = try approve()
    let observer = try machine.staying("observe", "packages.*", "-j")
    #expect(try apt("install ./y_1.deb ./x_2.deb").status == 0)
    #expect(try asked().count == 1)
    #expect(try Set(told(observer)) == ["packages.didChange", "x upgrade", "y install"])
    #expect(try apt("purge y").status == 0)
    #expect(try asked().count == 1)
    #expect(try told(observer) == ["packages.didChange", "y remove"])
    #expect(try apt("--simulate remove x").status == 0)
    #expect(try asked() == [])

    let hold = try hold()
    #expect(try apt("remove x").status == 100)
    #expect(try version(of: "x") == "2")
    #expect(try machine.run("dpkg-reconfigure", "--frontend=noninteractive", "debconf").status == 0)
    withExtendedLifetime((delegate, hold)) {}
  }

  @Test("apt announces packages that dpkg failed to configure as failed")
  func failed() throws {
    try make("x", "1")
    try make("bad", "1", command: "exit 1")
    let observer = try machine.staying("observe", "packages.*", "-j")
    #expect(try apt("install ./x_1.deb ./bad_1.deb").status == 100)
    #expect(try told(observer) == ["packages.didChange", "x install"])
    #expect(try told(observer) == ["packages.didFailToChange", "bad install half-configured"])
  }

  @Test("apt overrides a veto for a reason, which is logged")
  func override() throws {
    try make("x", "1")
    let hold = try hold()
    let observer = try machine.staying("observe", "tribune.query.didOverride", "-j")
    let ran = try apt("install ./x_1.deb -o Tribune::Override='a 100 % \"urgent\" fix'")
    #expect(ran.status == 0)
    #expect(ran.output.contains("allowed: packages.shouldChange (overridden)"))
    #expect(try version(of: "x") == "1")
    let userInfo = try #require(try observer.output.object()["userInfo"] as? [String: Any])
    #expect(userInfo["reason"] as? String == "a 100 % \"urgent\" fix")
    withExtendedLifetime(hold) {}
  }

  @Test(
    "apt and dpkg work after the programs of their hooks were removed",
    arguments: ["/usr/bin/tribunectl", "/usr/local/lib/tribune/packages"])
  func removed(program: String) throws {
    try make("x", "1")
    let hold = try hold()
    try machine.does("rm", program)
    #expect(try apt("install ./x_1.deb").status == 0)
    #expect(try version(of: "x") == "1")
    #expect(try run("dpkg --remove x").status == 0)
    #expect(try version(of: "x") == nil)
    withExtendedLifetime(hold) {}
  }

  @Test("a dpkg that apt did not start also asks")
  func dpkg() throws {
    try make("x", "1")
    let delegate = try approve()
    let hold = try hold()
    let refused = try run("dpkg --install /root/x_1.deb")
    #expect(refused.status == 2)
    #expect(refused.output.contains("a backup is running"))
    #expect(try version(of: "x") == nil)
    #expect(try asked() == [#"- 0 {"action":"install"}"#])
    #expect(try run("TRIBUNE_OVERRIDE=why dpkg --install /root/x_1.deb").status == 0)
    #expect(try version(of: "x") == "1")
    withExtendedLifetime((delegate, hold)) {}
  }

  private func prepareUpgrade() throws {
    let script = """
      cd /root
      for package in x y; do make-package $package 1; make-package $package 2; done
      apt-get --yes install ./x_1.deb ./y_1.deb
      mkdir archive
      mv x_2.deb y_2.deb archive
      cd archive
      for file in *.deb; do
        dpkg-deb --field $file
        echo "Filename: ./$file\nSize: $(stat --format=%s $file)\nSHA256: $(sha256sum $file | cut -c -64)\n"
      done >Packages
      echo "Origin: Test\nSuite: test\nDate: $(date --utc --rfc-email)
      SHA256:\n $(sha256sum Packages | cut -c -64) $(stat --format=%s Packages) Packages" >Release
      echo 'deb [trusted=yes] file:/root/archive ./' >/etc/apt/sources.list
      echo 'Unattended-Upgrade::Origins-Pattern { "origin=Test"; };' >/etc/apt/apt.conf.d/99test
      apt-get update
      """
    try machine.does("sh", "-e", "-c", script)
  }

  @Test("a veto skips the daily upgrade, without a failure; else each set of packages is asked about once")
  func daily() throws {
    try prepareUpgrade()
    let delegate = try approve()
    let hold = try hold()
    try machine.does("systemctl", "start", "apt-daily-upgrade.service")
    try machine.waitForEntry("UNIT=apt-daily-upgrade.service") {
      $0["UNIT_RESULT"] as? String == "exec-condition"
    }
    try machine.waitForMessage("a backup is running", of: "apt-daily-upgrade.service")
    #expect(try machine.property("ActiveState", of: "apt-daily-upgrade.service") == "inactive")
    #expect(try version(of: "x") == "1")
    #expect(try asked() == ["- 0 "])
    try end(hold)

    let observer = try machine.staying("observe", "packages.*", "-j")
    try machine.does("systemctl", "start", "apt-daily-upgrade.service")
    #expect(try [version(of: "x"), version(of: "y")] == ["2", "2"])
    let questions = try asked()
    #expect(questions.count == 3 && questions[0] == "- 0 ")
    #expect(
      questions.dropFirst().allSatisfy {
        $0.contains(#""action":"upgrade","oldVersion":"1","newVersion":"2"}]"#)
      })
    #expect(
      try Set([told(observer), told(observer)])
        == [["packages.didChange", "x upgrade"], ["packages.didChange", "y upgrade"]])
    withExtendedLifetime(delegate) {}
  }

  @Test("without tribunectl, the daily upgrade is not skipped")
  func dailyWithout() throws {
    try prepareUpgrade()
    try machine.does("rm", "/usr/bin/tribunectl")
    try machine.does("systemctl", "start", "apt-daily-upgrade.service")
    #expect(try version(of: "x") == "2")
  }

  @Test(
    "a veto ends an unattended-upgrade that was started otherwise, and its rehearsal asks with dry runs"
  )
  func unattended() throws {
    try prepareUpgrade()
    let delegate = try approve()
    #expect(try machine.run("unattended-upgrade", "--dry-run").status == 0)
    #expect(try asked().allSatisfy { $0.hasPrefix("- 1 ") })
    let hold = try hold()
    #expect(try machine.run("unattended-upgrade").status == 1)
    #expect(try asked().count == 1)
    #expect(
      try machine.read("/var/log/unattended-upgrades/unattended-upgrades-dpkg.log").contains(
        "a backup is running"))
    #expect(try version(of: "x") == "1")
    withExtendedLifetime((delegate, hold)) {}
  }

  @Test(
    "molly-guard asks about an unattended-upgrade's reboot, immediate or scheduled",
    arguments: ["now", "02:00"])
  func reboot(time: String) throws {
    try prepareUpgrade()
    try machine.copy("Examples/molly-guard/40-tribune", to: "/etc/molly-guard/run.d/40-tribune", mode: 0o755)
    try machine.write(
      "Unattended-Upgrade::Automatic-Reboot \"true\";\nUnattended-Upgrade::Automatic-Reboot-Time \"\(time)\";\n",
      to: "/etc/apt/apt.conf.d/99reboot")
    try machine.write("", to: "/run/reboot-required")
    let hold = try hold("host.shouldReboot")
    #expect(try machine.run("unattended-upgrade").status == 0)
    #expect(try version(of: "x") == "2")
    #expect(try machine.does("tribunectl", "log", "host.shouldReboot").contains("a backup is running"))
    #expect(
      try machine.read("/var/log/unattended-upgrades/unattended-upgrades.log").contains(
        "Failed to issue shutdown"))
    #expect(try machine.run("test", "-e", "/run/systemd/shutdown/scheduled").status == 1)
    #expect(try machine.property("ActiveState", of: "multi-user.target") == "active")
    withExtendedLifetime(hold) {}
  }

  private func makeOutdated(_ units: String...) throws {
    for unit in units {
      try machine.write(unit: "\(unit).service", "[Service]\nExecStart=/usr/local/bin/waiter infinity\n")
    }
    try machine.does("cp", "/usr/bin/sleep", "/usr/local/bin/waiter")
    try machine.does(["systemctl", "start"] + units)
    try machine.does("cp", "/usr/bin/sleep", "/usr/local/bin/new")
    try machine.does("mv", "/usr/local/bin/new", "/usr/local/bin/waiter")
  }

  @Test("needrestart omits a vetoed restart, prints who vetoed and why, and restarts the others")
  func needrestart() throws {
    try makeOutdated("first", "second", "third")
    // needrestart only lists deferred units.
    try machine.write("$nrconf{override_rc}{qr(^third)} = 0;\n", to: "/etc/needrestart/conf.d/test.conf")
    let pids = try ["first", "second"].map { try machine.property("MainPID", of: "\($0).service") }
    let delegate = try approve("unit.shouldRestart")
    let hold = try hold("unit.shouldRestart", "--object=unit/first.service")
    #expect(try machine.does("needrestart", "-r", "l").contains("systemctl restart first.service"))
    #expect(try asked() == [])
    try machine.does("sh", "-c", "mkdir -p /root/own/tribune; touch /root/own/tribune/bus")
    let ran = try machine.run("env", "XDG_RUNTIME_DIR=/root/own", "needrestart", "-r", "a")
    #expect(ran.status == 0 && ran.output.contains("systemctl restart third.service"))
    #expect(
      ran.errors.contains("a backup is running") && ran.errors.contains("first.service is not restarted"))
    #expect(try machine.property("MainPID", of: "first.service") == pids[0])
    #expect(try machine.property("MainPID", of: "second.service") != pids[1])
    #expect(try asked() == ["unit/first.service 0 ", "unit/second.service 0 "])

    try machine.does("rm", "/usr/bin/tribunectl")
    #expect(try machine.run("needrestart", "-r", "a").status == 0)
    #expect(try machine.property("MainPID", of: "first.service") != pids[0])
    withExtendedLifetime((delegate, hold)) {}
  }

  @Test("changes nothing when enabled twice, and leaves nothing when disabled")
  func disable() throws {
    let machine = try Container()
    func files() throws -> Set<Substring> {
      try Set(
        machine.does("find", "/etc", "/usr/local", "!", "-type", "d", "-printf", "%p %m %T@\n").split(
          separator: "\n"))
    }
    let before = try files()
    let enabling = try machine.does(Self.enable)
    let enabled = try files()
    #expect(enabling.split(separator: "\n").allSatisfy { $0.hasPrefix("wrote /") })
    #expect(enabled.subtracting(before).count == 5)
    #expect(
      try machine.does(Self.enable).split(separator: "\n").allSatisfy { $0.hasSuffix(" is there already") })
    #expect(try files() == enabled)
    #expect(
      try machine.does(Self.enable, "--disable").split(separator: "\n").allSatisfy {
        $0.hasPrefix("removed /")
      })
    #expect(try files() == before)
    for folder in ["/usr/local/lib/tribune", "/etc/systemd/system/apt-daily-upgrade.service.d"] {
      #expect(try machine.run("stat", folder).status == 1)
    }
    #expect(try machine.does(Self.enable, "--disable") == "")
  }

  @Test("does not change the administrator's files")
  func others() throws {
    let copy = "/etc/needrestart/conf.d/tribune.conf"
    try machine.does(Self.enable, "--disable")
    try machine.write("1;\n", to: copy)
    let refused = try machine.run(Self.enable)
    #expect(refused.status == 1)
    #expect(refused.errors.contains(copy))
    #expect(try machine.run("stat", "/etc/apt/apt.conf.d/60tribune").status == 1)
    #expect(try machine.does(Self.enable, "--disable").contains("left \(copy)"))
    #expect(try machine.read(copy) == "1;\n")
  }

  @Test("skips needrestart if that is not installed")
  func withoutNeedrestart() throws {
    try machine.does("rm", "-r", "/etc/needrestart")
    try machine.does(Self.enable, "--disable")
    #expect(try machine.does(Self.enable).contains("needrestart is not installed"))
    #expect(try machine.run("stat", "/etc/needrestart").status == 1)
  }
}
