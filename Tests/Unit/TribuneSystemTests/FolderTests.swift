// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem

@Suite("Folders, and the sockets in them", .timeLimit(.minutes(15)))
final class FolderTests {
  private let path = "/tmp/tribune-\(UUID().uuidString.prefix(13))"

  init() throws { try Folder.make(path, mode: 0o700) }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      print("cannot remove \(path): \(error)")
    }
  }

  private func permissions(of path: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  @Test("a folder is created inside an existing one, unless it exists already")
  func making() throws {
    #expect(try permissions(of: path) == 0o700)
    try Folder.make(path, mode: 0o755)
    #expect(try permissions(of: path) == 0o700)
    #expect(throws: Errno.noSuchFile) { try Folder.make("\(self.path)/a/b", mode: 0o700) }
  }

  @Test("a folder's names do not include itself and its parent")
  func names() throws {
    let long = String(repeating: "x", count: 255)
    for name in ["a", ".hidden", long] { try Folder.make("\(path)/\(name)", mode: 0o700) }
    let names = try Folder.names(in: Array(path.utf8)).map { String(decoding: $0, as: UTF8.self) }
    #expect(names.sorted() == [".hidden", "a", long])
    #expect(throws: Errno.noSuchFile) { try Folder.names(in: Array("\(self.path)/b".utf8)) }
  }

  @Test("a folder's lock has one owner at a time")
  func locking() throws {
    let other = unsafe FileDescriptor(owning: open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    let number = other.rawValue
    let isLocked = try Folder.withLock(path) { flock(number, LOCK_EX | LOCK_NB) == -1 }
    #expect(isLocked)
    #expect(flock(number, LOCK_EX | LOCK_NB) == 0)
    // A holder delays others only until the limit.
    #expect(try Folder.withLock(path, within: .zero) { true })
    other.close()
    #expect(throws: Errno.noSuchFile) { try Folder.withLock("\(self.path)/b") {} }
  }

  @Test("a socket's file has its mode from the start, and differs from other files")
  func sockets() throws {
    let (socketPath, linkPath) = ("\(path)/bus", "\(path)/link")
    let socket = try UnixSocket.make(nonblocking: true)
    try UnixSocket.bind(socket, to: socketPath, mode: 0o640)
    #expect(try permissions(of: socketPath) == 0o640)
    try SocketFile.setMode(0o600, at: socketPath)
    #expect(try permissions(of: socketPath) == 0o600)
    #expect(UnixSocket.path(of: socket) == socketPath)

    try FileManager.default.createSymbolicLink(atPath: linkPath, withDestinationPath: socketPath)
    #expect(SocketFile.isSocket(at: socketPath) == true)
    #expect(SocketFile.isSocket(at: path) == false)
    #expect(SocketFile.isSocket(at: linkPath) == false)
    #expect(SocketFile(at: socketPath) == SocketFile(at: socketPath))
    #expect(SocketFile(at: socketPath) != SocketFile(at: linkPath))
    #expect(throws: (any Error).self) { try SocketFile.setMode(0o666, at: linkPath) }
    #expect(try permissions(of: socketPath) == 0o600)

    try SocketFile.remove(at: socketPath)
    #expect(SocketFile.isSocket(at: socketPath) == nil)
    #expect(SocketFile(at: socketPath) == nil)
    #expect(throws: Errno.noSuchFile) { try SocketFile.remove(at: socketPath) }
  }
}
