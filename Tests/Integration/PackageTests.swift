// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("make deb", .serialized) struct PackageTests {
  private struct Package {
    let folder = Script.repository.appending(path: ".build/deb-tests").path
    let file: String

    init() async throws {
      try await TestFolder().make("deb", ["DEB=\(folder)"], environment: ["DPKG_DEB_COMPRESSOR_LEVEL": "0"])
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      let name = try #require(files.first { $0.hasPrefix("tribune_") && $0.hasSuffix(".deb") })
      file = "\(folder)/\(name)"
      try Self.run("dpkg-deb", "--extract", file, "\(folder)/contents")
      try Self.run("dpkg-deb", "--control", file, "\(folder)/control")
    }

    @discardableResult
    static func run(_ command: String...) throws -> String {
      let ended = try FinishedProgram(command, environment: ["LC_ALL": "C.UTF-8"])
      #expect(ended.status == 0, "\(command): \(ended.output)\(ended.errors)")
      return ended.output
    }

    func field(_ name: String) throws -> String {
      try Self.run("dpkg-deb", "--field", file, name).trimmingCharacters(in: .newlines)
    }

    func other(_ name: String) throws -> String {
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      let file = try #require(files.first { $0.hasPrefix("\(name)_") && $0.hasSuffix(".deb") })
      return "\(folder)/\(file)"
    }

    func contains(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(folder)/\(path)") }

    func read(_ path: String) throws -> String {
      try String(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)"), encoding: .utf8)
    }
  }

  private static let built = Task { try await Package() }

  @Test("is named tribune, and has the version of the programs") func identity() async throws {
    let package = try await Self.built.value
    #expect(try package.field("Package") == "tribune")
    let version = try FinishedProgram.tribuned(["--version"]).output
    #expect(version == "tribuned \(try package.field("Version"))\n")
  }

  @Test("depends on the libraries that the programs load, but on none of Swift's") func dependencies()
    async throws
  {
    let depends = try await Self.built.value.field("Depends")
    for library in [
      "libc6", "libsystemd0", "libinih1", "libjansson4", "libmicrohttpd12", "libncursesw6",
    ] {
      #expect(depends.contains(library))
    }
    #expect(!depends.contains("swift") && !depends.contains("nats"))
  }

  @Test(
    "puts each file where Debian expects it",
    arguments: [
      "usr/bin/tribuned", "usr/bin/tribunectl", "usr/bin/tribune-logind", "usr/bin/tribune-web",
      "usr/share/tribune/web/index.html", "usr/share/man/man8/tribune-web.8.gz",
      "usr/share/man/man8/tribune-logind.8.gz",
      "usr/lib/systemd/user/tribuned.service",
      "usr/lib/systemd/user/tribuned.socket", "usr/lib/sysusers.d/tribune.conf",
      "usr/lib/systemd/catalog/tribune.catalog", "etc/tribune/tribuned.conf", "etc/tribune/tribuned.conf.d",
      "etc/tribune/delegates.d", "etc/tribune/protocols.d", "usr/share/man/man1/tribunectl.1.gz",
      "etc/tribune/policy.d/50-default.policy",
      "usr/share/man/man5/tribune-policy.5.gz", "usr/share/man/man7/tribune-varlink.7.gz",
      "usr/lib/systemd/user/tribuned-varlink.socket",
      "usr/share/man/man8/tribuned.8.gz", "usr/share/man/man5/tribuned.conf.5.gz",
      "usr/share/bash-completion/completions/tribunectl", "usr/share/zsh/vendor-completions/_tribunectl",
      "usr/share/fish/vendor_completions.d/tribunectl.fish", "usr/share/tribune/tribune.lua",
      "usr/share/tribune/tribune-frames.lua",
      "usr/share/doc/tribune/copyright", "usr/share/doc/tribune/examples/molly-guard/40-tribune",
      "usr/share/doc/tribune/examples/apt/packages",
    ])
  func contents(_ path: String) async throws {
    #expect(try await Self.built.value.contains("contents/\(path)"))
  }

  @Test(
    "has the units of the system",
    arguments: [
      "tribuned.service", "tribuned.socket", "tribune-delegates.service", "tribune-logind.service",
      "tribune-web.service", "tribune-web.socket",
    ])
  func units(_ unit: String) async throws {
    let package = try await Self.built.value
    // The folder depends on the distribution's version.
    let paths = ["lib/systemd/system", "usr/lib/systemd/system"].filter {
      package.contains("contents/\($0)/\(unit)")
    }
    #expect(paths.count == 1)
    for path in paths { #expect(try !package.read("contents/\(path)/\(unit)").contains("dir@")) }
  }

  @Test("has its configuration as conffiles, and no policy that allows everything")
  func conffiles() async throws {
    let files = try await Self.built.value.read("control/conffiles").split(separator: "\n").sorted()
    #expect(
      files == [
        "/etc/tribune/logind.conf", "/etc/tribune/policy.d/50-default.policy",
        "/etc/tribune/policy.d/60-web.policy", "/etc/tribune/signals.conf", "/etc/tribune/tribuned.conf",
        "/etc/tribune/web.conf",
      ])
  }

  @Test("has the gateway in a separate package, which depends on libnats")
  func gatewayPackage() async throws {
    let file = try await Self.built.value.other("tribune-nats")
    let depends = try Package.run("dpkg-deb", "--field", file, "Depends")
    #expect(depends.contains("libnats") && depends.contains("tribune (= "))
    let contents = try Package.run("dpkg-deb", "--contents", file)
    for path in [
      "usr/bin/tribune-nats", "systemd/system/tribune-nats.service",
      "systemd/system/tribune-fleetlock.socket",
      "etc/tribune/nats.conf", "etc/tribune/nats.conf.d/", "etc/tribune/policy.d/70-nats.policy",
      "usr/share/man/man8/tribune-nats.8.gz",
    ] { #expect(contents.contains("/\(path)\n")) }
  }

  @Test("has the Python client in a separate package") func pythonPackage() async throws {
    let contents = try await Package.run("dpkg-deb", "--contents", Self.built.value.other("python3-tribune"))
    for file in ["__init__.py", "_wire.py", "py.typed"] {
      #expect(contents.contains("./usr/lib/python3/dist-packages/tribune/\(file)"))
    }
  }

  @Test("has the C library in separate packages") func cPackages() async throws {
    let package = try await Self.built.value
    let root = "\(package.folder)/c"
    let program = "\(package.folder)/program"
    try Package.run("mkdir", "--parents", root)
    try Package.run("dpkg-deb", "--extract", package.other("libtribune0"), "\(root)/run")
    try Package.run("dpkg-deb", "--extract", package.other("libtribune-dev"), root)
    try Package.run("cp", "--archive", "\(root)/run/usr/lib", "\(root)/usr/")
    let source = Script.repository.appending(path: "Clients/C/man/tribune_open.c").path
    let build = """
      folder=$(echo '\(root)'/usr/lib/*/pkgconfig)
      export PKG_CONFIG_LIBDIR="$folder" PKG_CONFIG_SYSROOT_DIR='\(root)'
      cc -Wall -Wextra -Werror -o '\(program)' '\(source)' $(pkg-config --cflags --libs tribune)
      """
    try Package.run("bash", "-ec", build)
    let ran = try FinishedProgram(
      ["bash", "-c", "LD_LIBRARY_PATH=$(echo '\(root)'/run/usr/lib/*) exec '\(program)'"],
      environment: ["TRIBUNE_ADDRESS": "unix:\(root)/bus"])
    #expect(ran.output == "no bus at unix:/nowhere/bus: No such file or directory\n")
    #expect(ran.errors == "no bus at unix:\(root)/bus: No such file or directory\n")
    let contents = try Package.run("dpkg-deb", "--contents", package.other("libtribune-dev"))
    for page in ["tribune.3.gz", "tribune_ask_async.3.gz"] {
      #expect(contents.contains("./usr/share/man/man3/\(page)"))
    }
    try Package.run("dpkg-deb", "--control", package.other("libtribune0"), "\(package.folder)/c-control")
    #expect(try package.read("c-control/symbols").contains(" tribune_ask@LIBTRIBUNE_0 0.9.0"))
  }

  @Test(
    "passes lintian",
    arguments: ["tribune", "tribune-nats", "libtribune0", "libtribune-dev"])
  func lintian(_ name: String) async throws {
    let package = try await Self.built.value
    let checked = try FinishedProgram(
      ["lintian", "--allow-root", "--pedantic", "--fail-on=error,warning,pedantic", package.other(name)],
      environment: ["LC_ALL": "C.UTF-8"])
    #expect(checked.status == 0)
    #expect(checked.output == "", "\(checked.errors)")
  }

  @Test("fails lintian if it has a mistake") func lintianObjects() async throws {
    let package = try await Self.built.value
    let broken = "\(package.folder)/broken"
    try Package.run("mkdir", "--parents", "\(broken)/DEBIAN")
    try Package.run("cp", "\(package.folder)/control/control", "\(broken)/DEBIAN")
    try Package.run("dpkg-deb", "-z0", "--root-owner-group", "--build", broken, "\(broken).deb")
    let checked = try FinishedProgram(
      ["lintian", "--allow-root", "\(broken).deb"], environment: ["LC_ALL": "C.UTF-8"])
    #expect(checked.output.contains("no-copyright-file"))
  }
}
