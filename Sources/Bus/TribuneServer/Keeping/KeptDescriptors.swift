// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem

/// The descriptors that the keeper has. The keeper neither reads from them nor writes to them.
///
/// Their number is limited. Further ones are refused. The sender learns that from the count of those that were taken.
final class KeptDescriptors {
  private let capacity: Int
  private let hasThreads: Bool
  private var descriptors: [KeptItem: CInt] = [:]
  /// Closing a connection with unread data may take as long as its sender likes, so threads do it.
  private let closing = ClosingThreads()
  private let accounts = Accounts()

  init(capacity: Int, hasThreads: Bool) { (self.capacity, self.hasThreads) = (capacity, hasThreads) }

  isolated deinit { clear() }

  var count: Int { descriptors.count }
  /// All items, the write-ahead log first.
  var items: [KeptItem] { descriptors.keys.sorted() }

  func has(_ item: KeptItem) -> Bool { descriptors[item] != nil }
  func descriptor(of item: KeptItem) -> CInt? { descriptors[item] }

  /// Takes over descriptors: the first one is for the first item, and so on.
  ///
  /// - Returns: how many were taken, from the first one on.
  func take(_ items: [KeptItem], _ passed: consuming PassedDescriptors) -> Int {
    var taken = 0
    var passed = passed
    for item in items {
      guard descriptors.count + closing.count < capacity || has(item),
        case .descriptor(let descriptor)? = passed.popFirst()
      else { break }
      if let old = descriptors.updateValue(descriptor.release(), forKey: item) { close(old) }
      taken += 1
    }
    return taken
  }

  func forget(_ items: [KeptItem]) {
    for item in items {
      if let descriptor = descriptors.removeValue(forKey: item) { close(descriptor) }
    }
  }

  func clear() {
    for descriptor in descriptors.values { close(descriptor) }
    descriptors = [:]
  }

  private func close(_ descriptor: CInt) {
    let owned = FileDescriptor(owning: descriptor)
    guard hasThreads, let user = Self.userWithUnread(owned) else { return }
    closing.close(owned, of: accounts.account(of: user).descriptors)
  }

  /// The user whose connections may have unread data: the peer's for a connection that has some, and this process's for
  /// a listening socket, which may have connections that were not accepted. Nil for all other descriptors.
  private static func userWithUnread(_ descriptor: borrowing FileDescriptor) -> UInt32? {
    switch UnixSocket.role(of: descriptor) {
    case .listening: return ThisProcess.effectiveUser
    case .connected:
      do throws(Errno) {
        return try UnixSocket.hasUnread(descriptor) ? try UnixSocket.peer(of: descriptor).uid : nil
      } catch {
        return nil
      }
    case nil: return nil
    }
  }
}
