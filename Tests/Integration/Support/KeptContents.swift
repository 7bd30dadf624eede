// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneServer
import TribuneSystem
import TribuneWire

/// Inspects and changes a keeper's contents between two daemons.
final class KeptContents {
  private let peer: KeeperPeer
  private var descriptors: [KeptItem: CInt]

  init(ofKeeperAt path: String) throws {
    peer = try KeeperPeer(connectingTo: path)
    try peer.send(.attach(.resume(log: 0)))
    descriptors = try peer.receiveAll()
  }

  deinit { for descriptor in descriptors.values { close(descriptor) } }

  var count: Int { descriptors.count }

  func has(_ item: KeptItem) -> Bool { descriptors[item] != nil }

  func count(_ kind: KeptItem.Kind) -> Int { descriptors.keys.count { $0.kind == kind } }

  func descriptor(_ kind: KeptItem.Kind) throws -> CInt {
    let found = descriptors.filter { $0.key.kind == kind }
    guard found.count == 1, let descriptor = found.first?.value else {
      throw Programs.Missing(description: "the keeper has \(found.count) items of the kind \(kind)")
    }
    return descriptor
  }

  func remove(_ kind: KeptItem.Kind) throws {
    let items = descriptors.keys.filter { $0.kind == kind }
    for item in items { descriptors.removeValue(forKey: item).map { _ = close($0) } }
    try peer.send(.forget(items))
    try peer.expect(.acknowledged(count: 0))
  }

  func add(_ item: KeptItem, _ descriptor: consuming FileDescriptor) throws {
    let descriptor = descriptor.release()
    descriptors[item] = descriptor
    try peer.send(.batch([item]), passing: [descriptor])
    try peer.expect(.acknowledged(count: 1))
  }

  @discardableResult
  func replace(_ kind: KeptItem.Kind, by file: consuming FileDescriptor) throws -> UInt64 {
    try remove(kind)
    let inode = file.inode ?? 0
    try add(KeptItem(kind, inode), file)
    return inode
  }

  /// Accepts the next connection at the bus's socket, and gives it to the keeper. Returns its cookie.
  func accept() throws -> UInt64 {
    let listener = try FileDescriptor.duplicate(of: descriptor(.listener))
    guard let accepted = try UnixSocket.accept(listener) else { throw Errno.again }
    let cookie = try UnixSocket.cookie(of: accepted)
    try add(.connection(cookie), accepted)
    return cookie
  }
}
