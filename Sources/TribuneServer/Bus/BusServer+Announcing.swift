// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneJSON
import TribuneWire

/// What the bus itself posts, under names that nobody else may use: `tribune.…`.
///
/// It is made only where somebody may receive it. Nobody is paused for an observer of it that does not keep up:
/// that one loses at once.
extension BusServer {
  func announce(_ announcement: Announcement) {
    switch announcement {
    case .didAttach(let entry):
      announce("tribune.delegate.didAttach", object: entry.object, userInfo: entry.json.compact)
    case .didDetach(let entry):
      announce("tribune.delegate.didDetach", object: entry.object, userInfo: entry.json.compact)
    }
  }

  /// Tells who went past which vetoes, and why.
  func announceOverride(_ decision: Decision, of tail: QueryTail) {
    guard bus.isObserved else { return }
    let entry = VerdictEntry(decision, of: tail)
    announce("tribune.query.didOverride", object: entry.object, userInfo: entry.override.compact)
  }

  private func announce(_ name: String, object: String, userInfo: String) {
    let buffer = bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(Post(), serial: 0, name: name, object: object, text: userInfo)
    let slice = ByteSlice(buffer, start..<buffer.count)
    let receivers = receivers(of: name, object: object)
    for receiver in receivers {
      guard let observer = connections[receiver.slot.index] else {
        preconditionFailure("an observer has no connection")
      }
      guard receiver.way == .now || receivesNow(receiver, slice, count: 1) else { continue }
      deliverWithoutPacing(slice, to: observer)
      deliveredCount += 1
    }
    if bus.isMonitored { monitorAnnouncement(slice, name: name, receivers: receivers.count) }
  }

  private func receivers(of name: String, object: String) -> [Receiver] {
    let key = name + object
    do throws(WireError) {
      return try bus.receivers(of: key.utf8Bytes, nameLength: name.utf8.count)
    } catch {
      preconditionFailure("the bus posts under what it takes for no name: \(error.message)")
    }
  }
}

nonisolated extension DelegateEntry {
  fileprivate var json: JSONValue {
    .object([
      ("delegate", .unsigned(delegate.id.rawValue)), ("label", .string(delegate.label)),
      ("connection", .string("\(connection)")), ("respondsTo", .array(patterns.map { .string($0) })),
    ])
  }
}
