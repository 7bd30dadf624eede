// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneSystem

@testable import TribuneCommands

@Suite("Places in the chain", .timeLimit(.minutes(15)))
struct ChainPlacesTests {
  private static func orders(_ places: ChainPlaces<Int>, _ keys: [Int]) -> [Int32] {
    keys.compactMap { places.order(of: $0) }
  }

  @Test("a new end is far from its neighbour, and a key between two others gets the middle")
  func insertion() {
    var places = ChainPlaces<Int>()
    #expect(places.insert(50) == 0)
    #expect(places.insert(60) == 65_536)
    #expect(places.insert(40) == -65_536)
    #expect(places.insert(55) == 32_768)
    #expect(places.insert(52) == 16_384)
    #expect(places.insert(45) == -32_768)
    #expect(places.keys == [40, 45, 50, 52, 55, 60])
    places.remove(52)
    places.remove(7)
    #expect(places.order(of: 52) == nil)
    #expect(places.insert(51) == 16_384)
  }

  @Test("a full gap changes nothing, and a new spread makes space")
  func full() {
    var places = ChainPlaces([0, 1_000_000])
    var next = 1
    while places.insert(next) != nil { next += 1 }
    #expect(next == 17)
    #expect(places.keys == Array(0..<17) + [1_000_000])
    #expect(places.order(of: next) == nil)
    places = ChainPlaces(places.keys)
    #expect(places.insert(next) != nil)
  }

  @Test("a spread is in order, with zero in the middle", arguments: [0, 1, 2, 3, 100, 2_000, 33_000])
  func spread(count: Int) {
    let keys = Array(0..<count)
    let orders = Self.orders(ChainPlaces(keys.shuffled()), keys)
    #expect(orders.count == count)
    #expect(zip(orders, orders.dropFirst()).allSatisfy { $0 < $1 })
    #expect(count == 0 || orders[count / 2] == 0)
  }

  @Test("no key gets a place beyond the ends of the range")
  func ends() {
    var places = ChainPlaces<Int>()
    var next = 0
    while places.insert(next) != nil { next += 1 }
    #expect(next == 32_768)
  }
}

@Suite("Files as delegates", .timeLimit(.minutes(15)))
struct DelegateFileTests {
  @Test(
    "hidden files, backups and unfinished files are ignored",
    arguments: [
      ("a", false), ("10-backup", false), ("a.sh", false), ("a.rpmx.sh", false), ("dpkg-a", false),
      (".a", true), (".", true), ("a~", true), ("~", true), ("a.dpkg-new", true), ("a.dpkg-old", true),
      ("a.sh.dpkg-dist", true), ("a.rpmnew", true), ("a.rpmsave", true), ("a.concluded", true),
      ("concluded", false), ("a.dpkg", false), ("a~b", false),
    ])
  func names(name: String, isIgnored: Bool) { #expect(DelegateFile.isIgnored(Array(name.utf8)) == isIgnored) }

  @Test("files are in the order of their names' bytes, across folders")
  func order() {
    let files = [("b", "10"), ("a", "9"), ("b", "9"), ("a", "A"), ("a", "a"), ("a", "ä"), ("z", "1")].map {
      DelegateFile(pattern: $0, name: Array($1.utf8))
    }
    #expect(
      files.shuffled().sorted().map { "\($0.pattern)/\($0.label)" }
        == ["z/1", "b/10", "a/9", "b/9", "a/A", "a/a", "a/ä"])
  }

  @Test("a read finds the programs of the folder, and the problems in it")
  func contents() throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("tribune-\(UUID())")
    defer { do { try FileManager.default.removeItem(at: root) } catch { Issue.record(error) } }
    func file(_ name: String, mode: Int = 0o755) throws {
      let url = root.appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("#!/bin/sh\n".utf8).write(to: url)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    }
    let absent = DelegateFolderContents.read(
      Array(root.path.utf8), watch: { folder throws(Errno) in throw .noSuchFile }, follow: { _ in })
    #expect(absent.files.isEmpty)
    #expect(absent.problems == ["\(root.path) does not exist: No such file or directory"])
    let noFolder = DelegateFolderContents.read(
      Array("/etc/passwd".utf8), watch: { folder throws(Errno) in throw Errno(rawValue: ENOTDIR) },
      follow: { _ in })
    #expect(noFolder.files.isEmpty)
    #expect(noFolder.problems == ["/etc/passwd is not a folder"])

    for name in ["host.*/10-a", "host.*/b~", "a.b/c", "no name/x", ".hidden/x", "a.b/sub/deep", "top"] {
      try file(name)
    }
    try file("a.b/plain", mode: 0o644)
    try file("a.b/c.concluded", mode: 0o644)
    try file("a.b/d.concluded")
    for (name, target) in [("loop", "loop"), ("a.shouldB", "a.shouldB"), ("a.shouldC", "missing")] {
      let path = name == "loop" ? "a.b/loop" : name
      try FileManager.default.createSymbolicLink(
        atPath: "\(root.path)/\(path)", withDestinationPath: target)
    }
    try FileManager.default.createSymbolicLink(
      atPath: root.path + "/a.b/link", withDestinationPath: "/bin/true")
    try FileManager.default.createSymbolicLink(
      atPath: root.path + "/a.b/masked", withDestinationPath: "/dev/null")
    try FileManager.default.createSymbolicLink(
      atPath: root.path + "/a.b/dangling", withDestinationPath: "missing")
    var (watched, followed): (Set<String>, Set<String>) = ([], [])
    let contents = DelegateFolderContents.read(
      Array(root.path.utf8), watch: { watched.insert(String(decoding: $0, as: UTF8.self)) },
      follow: { followed.insert(String(decoding: $0, as: UTF8.self).replacing(root.path, with: "")) })
    #expect(
      contents.files.sorted().map(\.description) == [
        "a.shouldB/", "a.shouldC/", "host.*/10-a", "a.b/c", "a.b/dangling", "a.b/link", "a.b/loop",
      ])
    #expect(
      contents.problems.map { $0.replacing(root.path, with: "") }.sorted() == [
        "/a.b/dangling fails: it is a link to a missing file", "/a.b/loop cannot be looked at",
        "/a.b/sub is ignored: it is a folder", "/a.shouldB cannot be looked at",
        "/a.shouldC fails: it is a link to a missing folder",
        "/no name is ignored: \"no name\" is not a valid name pattern: in a pattern, * matches one token, a last ** one or more",
        "/top is ignored: programs belong into folders, as in a.shouldRun/check",
      ])
    #expect(
      contents.unfinished.values.map { $0.replacing(root.path, with: "") }.sorted() == [
        "/a.b/c.concluded is ignored: it cannot be executed", "/a.b/d.concluded is ignored: there is no d",
        "/a.b/plain is ignored: it cannot be executed",
      ])
    #expect(
      followed == ["", "/a.b/link", "/a.b/masked", "/a.b/dangling", "/a.b/loop", "/a.shouldB", "/a.shouldC"])
    #expect(watched == [root.path, "\(root.path)/host.*", "\(root.path)/a.b"])
  }
}

@Suite("Steps to a path", .timeLimit(.minutes(15)))
struct FolderStepTests {
  @Test("they go through each link, and end at a loop")
  func links() throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("tribune-\(UUID())").path
    try FileManager.default.createDirectory(atPath: "\(root)/r1/a", withIntermediateDirectories: true)
    defer { do { try FileManager.default.removeItem(atPath: root) } catch { Issue.record(error) } }
    for (name, target) in [("cur", "r1"), ("d", "./cur/../cur/a"), ("abs", "\(root)/r1"), ("loop", "loop")] {
      try FileManager.default.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
    }
    func steps(_ path: String) -> [String] {
      var steps: [String] = []
      Folder.forEachStep(to: Array("\(root)/\(path)".utf8)) {
        let step = "\(String(decoding: $0, as: UTF8.self)) \(String(decoding: $1, as: UTF8.self))"
        if step.hasPrefix(root) { steps.append(String(step.dropFirst(root.count))) }
      }
      return steps
    }
    #expect(
      steps("d/x") == [
        " d", " .", "/. cur", "/. r1", "/./r1 ..", "/./r1/.. cur", "/./r1/.. r1", "/./r1/../r1 a",
        "/./r1/../r1/a x",
      ])
    #expect(steps("abs/none/x") == [" abs", " r1", "/r1 none", "/r1/none x"])
    #expect(steps("loop/x").count == 41)
  }
}

@Suite("Watching folders", .timeLimit(.minutes(15)))
struct FolderWatchTests {
  @Test("each change is reported with its name, until the end of the watch")
  func changes() async throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("tribune-\(UUID())")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: false)
    let file = root.appendingPathComponent("file").path
    let watch = try FolderWatch()
    let token = try watch.watch(Array(root.path.utf8))
    #expect(try watch.watch(Array((root.path + "/.").utf8)) == token)
    var news = watch.news.makeAsyncIterator()
    func next() async -> Set<String> {
      guard case .changes(let changes) = await news.next() else { return ["?"] }
      #expect(changes.allSatisfy { $0.watch == token })
      return Set(changes.map { String(decoding: $0.name, as: UTF8.self) })
    }
    #expect(FileManager.default.createFile(atPath: file, contents: nil, attributes: nil))
    while await !next().contains("file") {}
    #expect(throws: Errno.noSuchFile) { try watch.watch(Array("/nonexistent".utf8)) }
    #expect(throws: Errno(rawValue: ENOTDIR)) { try watch.watch(Array(file.utf8)) }
    try FileManager.default.removeItem(at: root)
    while await !next().contains("") {}
    watch.unwatch(token)
  }
}
