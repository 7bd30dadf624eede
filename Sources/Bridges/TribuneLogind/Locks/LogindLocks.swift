// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// This program's own locks of logind: those that block while there are objections on the bus, and those that delay what
/// is about to happen.
///
/// The service manager has a copy of each, so a lock outlives this process if that is killed. The next process takes its
/// own locks before it drops those.
final class LogindLocks {
  /// What a lock is for.
  private struct Kind: Hashable {
    var lock: HostQuestion.Lock
    var mode: String

    var name: String { "\(mode)-\(lock.rawValue)" }

    static func block(_ lock: HostQuestion.Lock) -> Kind { Kind(lock: lock, mode: "block") }
    static func delay(_ lock: HostQuestion.Lock) -> Kind { Kind(lock: lock, mode: "delay") }
  }

  private struct Held {
    var descriptor: DBusDescriptor
    /// Its name in the store.
    var name: String
    var text: LockText
    var isWeak: Bool
    var isExpired = false
  }

  private static let delayText = LockText([
    Objection(who: "Tribune", why: "Observers of the bus get ready")
  ])

  private let store: DescriptorStore
  private var held: [Kind: Held] = [:]
  private var lastNumber = 0
  /// The processes that took the locks which were inherited. logind lists such a lock for a moment after it was dropped.
  private var formerProcesses: Set<UInt32>

  init(store: DescriptorStore) {
    self.store = store
    formerProcesses = Set(store.inheritedNames.compactMap { Self.process(inName: $0) })
  }

  /// The names of locks say which process has taken them, because logind lists them under that: `block-shutdown.PID.N`.
  private static func process(inName name: String) -> UInt32? {
    let parts = name.split(separator: ".")
    return parts.count == 3 ? UInt32(parts[1]) : nil
  }

  /// The lock that blocks; nil if there is none.
  func blocking(_ lock: HostQuestion.Lock) -> LockText? { held[.block(lock)]?.text }

  /// Blocks with this text. There is no moment in between at which nothing blocks.
  ///
  /// - Parameter isWeak: whether it does not bind root.
  /// - Returns: whether that is a change.
  func block(
    _ lock: HostQuestion.Lock, _ text: LockText, isWeak: Bool, at logind: LogindProxy
  ) async throws(DBusError) -> Bool {
    if let held = held[.block(lock)], held.text == text, held.isWeak == isWeak, !held.isExpired {
      return false
    }
    try await take(.block(lock), text, isWeak: isWeak, at: logind)
    return true
  }

  /// Delays what is about to happen, from the next time on.
  func delay(_ lock: HostQuestion.Lock, at logind: LogindProxy) async throws(DBusError) {
    if let held = held[.delay(lock)], !held.isExpired { return }
    try await take(.delay(lock), Self.delayText, at: logind)
    dropFormer(.delay(lock))
  }

  /// Lets it happen.
  func endDelay(_ lock: HostQuestion.Lock) {
    release(.delay(lock))
    dropFormer(.delay(lock))
  }

  /// Has every lock taken anew when it is asked for next, for a logind that may not know the old ones.
  func expire() {
    for kind in held.keys { held[kind]?.isExpired = true }
  }

  /// Does not block any more.
  ///
  /// - Returns: whether that is a change.
  func release(_ lock: HostQuestion.Lock) -> Bool {
    defer { release(.block(lock)) }
    return held[.block(lock)] != nil
  }

  /// Drops the locks by which an earlier process blocked, once this one has locks of its own.
  func dropFormer() { for lock in HostQuestion.Lock.allCases { dropFormer(.block(lock)) } }

  private func dropFormer(_ kind: Kind) {
    for name in store.inheritedNames where name.hasPrefix("\(kind.name).") { store.drop(name) }
  }

  /// The processes whose locks are this program's.
  func processes(among inhibitors: [Inhibitor]) -> Set<UInt32> {
    formerProcesses.formIntersection(inhibitors.map(\.pid))
    return formerProcesses.union([ThisProcess.id])
  }

  /// Whether logind still lists a lock by which this program blocks.
  func isListed(_ lock: HostQuestion.Lock, among inhibitors: [Inhibitor]) -> Bool {
    let own = processes(among: inhibitors)
    return inhibitors.contains {
      $0.uid == 0 && own.contains($0.pid) && $0.questions.contains { $0.lock == lock }
    }
  }

  private func take(
    _ kind: Kind, _ text: LockText, isWeak: Bool = false, at logind: LogindProxy
  ) async throws(DBusError) {
    let descriptor = try await logind.inhibit(kind.lock, mode: kind.mode + (isWeak ? "-weak" : ""), text)
    lastNumber += 1
    let name = "\(kind.name).\(ThisProcess.id).\(lastNumber)"
    store.store(descriptor.descriptor, as: name)
    release(kind)
    held[kind] = Held(descriptor: descriptor, name: name, text: text, isWeak: isWeak)
  }

  private func release(_ kind: Kind) {
    // The last reference, so that this closes the descriptor.
    if let lock = held.removeValue(forKey: kind) { store.drop(lock.name) }
  }
}
