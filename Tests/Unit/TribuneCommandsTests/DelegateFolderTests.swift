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
    let absent = DelegateFolderContents.read(Array(root.path.utf8), isFirst: true) { folder throws(Errno) in
      throw .noSuchFile
    }
    #expect(absent.files.isEmpty)
    #expect(absent.problems == ["\(root.path) does not exist: No such file or directory"])
    let noFolder = DelegateFolderContents.read(Array("/etc/passwd".utf8), isFirst: true) {
      folder throws(Errno) in
      throw Errno(rawValue: ENOTDIR)
    }
    #expect(noFolder.files.isEmpty)
    #expect(noFolder.problems == ["/etc/passwd is not a folder"])

    for name in ["host.*/10-a", "host.*/b~", "a.b/c", "no name/x", ".hidden/x", "a.b/sub/deep", "top"] {
      try file(name)
    }
    try file("a.b/plain", mode: 0o644)
    try file("a.b/c.concluded", mode: 0o644)
    try FileManager.default.createSymbolicLink(
      atPath: root.path + "/a.b/link", withDestinationPath: "/bin/true")
    try FileManager.default.createSymbolicLink(
      atPath: root.path + "/a.b/masked", withDestinationPath: "/dev/null")
    try FileManager.default.createSymbolicLink(
      atPath: root.path + "/a.b/dangling", withDestinationPath: "missing")
    var watched: Set<String> = []
    let contents = DelegateFolderContents.read(Array(root.path.utf8), isFirst: true) {
      watched.insert(String(decoding: $0, as: UTF8.self))
    }
    #expect(
      contents.files.sorted().map { "\($0.pattern)/\($0.label)" }
        == ["host.*/10-a", "a.b/c", "a.b/dangling", "a.b/link"])
    #expect(contents.problems.count == 5)
    #expect(contents.problems.contains("\(root.path)/a.b/c.concluded is ignored: it cannot be executed"))
    #expect(contents.problems.contains("\(root.path)/a.b/plain is ignored: it cannot be executed"))
    #expect(contents.problems.contains { $0.hasPrefix("\(root.path)/top is ignored: programs belong into ") })
    #expect(contents.problems.contains("\(root.path)/a.b/dangling fails: it is a link to a missing file"))
    #expect(contents.problems.contains { $0.hasPrefix("\(root.path)/no name is ignored: ") })
    let later = DelegateFolderContents.read(Array(root.path.utf8), isFirst: false) { _ in }
    #expect(later.files == contents.files && later.problems.count == 3)
    #expect(watched == [root.path, "\(root.path)/host.*", "\(root.path)/a.b"])
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
