// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem

/// The keeper's descriptors, up to a capacity.
final class KeptDescriptors {
  private let capacity: Int
  private let hasThreads: Bool
  private var descriptors: [KeptItem: CInt] = [:]
  /// Its threads close sockets that can have unread data. The data can contain descriptors, and a sender can
  /// choose descriptors that are slow to close.
  private let closing = ClosingThreads()
  private let accounts = Accounts()

  init(capacity: Int, hasThreads: Bool) { (self.capacity, self.hasThreads) = (capacity, hasThreads) }

  isolated deinit { clear() }

  var count: Int { descriptors.count }
  /// Sorted: the write-ahead log is first.
  var items: [KeptItem] { descriptors.keys.sorted() }

  func has(_ item: KeptItem) -> Bool { descriptors[item] != nil }
  func descriptor(of item: KeptItem) -> CInt? { descriptors[item] }

  /// - Returns: the number of taken items, which are the first of `items`.
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

  /// Returns the user to charge, or nil if closing is fast. A connection with unread data is charged to its
  /// peer's user. A listening socket, whose backlog can have unread data, is charged to this process's user.
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
