// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// One message to the service manager.
nonisolated package struct StoreMessage: Equatable, Sendable {
  /// In the format of sd_notify(3).
  package let text: String
  /// Owned by the caller that took the message.
  package let descriptors: [Int32]

  package func close() {
    for descriptor in descriptors { FileDescriptor(owning: descriptor).close() }
  }
}

/// The queue for the service manager, with a count of what the manager has by now.
///
/// The write-ahead log goes first. Connections and files follow in the order of their arrival; adjacent connections
/// share one message. A request that is taken back in time is never sent.
nonisolated package struct StoreQueue {
  /// What the thread has to do next.
  package enum Step: Equatable {
    case send(StoreMessage)
    /// The store may be full until the manager has dropped this many connections.
    case settle(leaving: Int)
    /// Everything was sent, and a caller waits until the manager has taken it.
    case flush(ticket: UInt64)
    case idle
    case ended
  }

  private enum Request {
    /// The bus's descriptor, and the copy to send.
    case connection(of: Int32, copy: Int32)
    case file(UInt64, copy: Int32)
    case removal(name: String, count: Int)
  }

  private enum StateRequest {
    case store(copy: Int32)
    case removal(count: Int)
  }

  private var stateRequests: [StateRequest] = []
  /// By number, from `head` on. Numbers that were taken back are missing.
  private var requests: [UInt64: Request] = [:]
  private var head: UInt64 = 0
  private var tail: UInt64 = 0
  private var waitingConnections: [Int32: UInt64] = [:]
  private var waitingFiles: [UInt64: UInt64] = [:]

  /// The most descriptors that the manager can have. A leaving connection counts until it has certainly been dropped.
  private var held: Int
  /// Connections among them that have hung up.
  private var leaving = 0

  private var lastTicket: UInt64 = 0
  private var flushWanted: UInt64?
  /// The last flush for which the manager has taken everything.
  package var flushDone: UInt64 = 0
  /// The thread waits for work.
  package var threadIsIdle = false
  package private(set) var isEnded = false

  package init(held: Int) { self.held = held }

  // MARK: Adding

  package mutating func append(_ copy: Int32, of original: Int32, as name: StoredName) {
    guard !isEnded else { return FileDescriptor(owning: copy).close() }
    switch name {
    case .state: stateRequests.append(.store(copy: copy))
    case .connection:
      waitingConnections[original] = tail
      append(.connection(of: original, copy: copy))
    case .file(let number):
      waitingFiles[number] = tail
      append(.file(number, copy: copy))
    }
  }

  private mutating func append(_ request: Request) {
    requests[tail] = request
    tail += 1
  }

  package mutating func forget(connection original: Int32) {
    if !takeBack(waitingConnections[original]) { leaving += 1 }
  }

  package mutating func remove(file number: UInt64) {
    guard !takeBack(waitingFiles[number]) else { return }
    remove(named: "\(StoredName.file(number))", count: 1)
  }

  package mutating func remove(named name: String, count: Int) {
    guard !isEnded else { return }
    append(.removal(name: name, count: count))
  }

  package mutating func removeState(count: Int) {
    guard !isEnded else { return }
    stateRequests.append(.removal(count: count))
  }

  /// Makes the thread find out when the manager has taken everything.
  ///
  /// - Returns: the value that `flushDone` then reaches.
  package mutating func beginFlush() -> UInt64 {
    lastTicket += 1
    flushWanted = lastTicket
    return lastTicket
  }

  package mutating func endFlush() { flushWanted = nil }

  /// Sends nothing more, and closes what is queued.
  package mutating func end() {
    for case .store(let copy) in stateRequests { FileDescriptor(owning: copy).close() }
    stateRequests = []
    for number in requests.keys { takeBack(number) }
    isEnded = true
  }

  /// - Returns: whether it was still queued.
  @discardableResult
  private mutating func takeBack(_ number: UInt64?) -> Bool {
    guard let number, let request = requests.removeValue(forKey: number) else { return false }
    switch request {
    case .connection(let original, let copy):
      waitingConnections[original] = nil
      FileDescriptor(owning: copy).close()
    case .file(let file, let copy):
      waitingFiles[file] = nil
      FileDescriptor(owning: copy).close()
    case .removal: break
    }
    return true
  }

  // MARK: Taking

  package mutating func next(capacity: Int, batchMax: Int) -> Step {
    if isEnded { return .ended }
    while head < tail, requests[head] == nil { head += 1 }
    if case .removal? = requests[head] {
      // A removal goes first, because it makes room.
    } else if let first = stateRequests.first {
      return takeState(first, capacity: capacity)
    }
    switch requests[head] {
    case .connection: return takeConnections(atMost: batchMax, capacity: capacity)
    case .file(let number, let copy):
      guard hasRoom(capacity) else { return .settle(leaving: leaving) }
      waitingFiles[number] = nil
      requests[head] = nil
      held += 1
      return .send(Self.storing(.file(number), [copy]))
    case .removal(let name, let count):
      requests[head] = nil
      held -= count
      return .send(Self.removing(name))
    case nil:
      if let flushWanted, flushDone < flushWanted { return .flush(ticket: flushWanted) }
      threadIsIdle = true
      return .idle
    }
  }

  /// This many leaving connections have been dropped.
  package mutating func left(_ count: Int) {
    leaving -= count
    held -= count
  }

  /// Whether the manager certainly has room for one more. It has if no connection is leaving: no more was accepted.
  private func hasRoom(_ capacity: Int) -> Bool { held < capacity || leaving == 0 }

  private mutating func takeState(_ request: StateRequest, capacity: Int) -> Step {
    switch request {
    case .store(let copy):
      guard hasRoom(capacity) else { return .settle(leaving: leaving) }
      stateRequests.removeFirst()
      held += 1
      return .send(Self.storing(.state, [copy]))
    case .removal(let count):
      stateRequests.removeFirst()
      held -= count
      return .send(Self.removing("\(StoredName.state)"))
    }
  }

  private mutating func takeConnections(atMost batchMax: Int, capacity: Int) -> Step {
    var copies: [Int32] = []
    while copies.count < batchMax, head < tail {
      if case .connection(let original, let copy)? = requests[head] {
        guard hasRoom(capacity) else { break }
        waitingConnections[original] = nil
        requests[head] = nil
        held += 1
        copies.append(copy)
      } else if requests[head] != nil {
        break
      }
      head += 1
    }
    return copies.isEmpty ? .settle(leaving: leaving) : .send(Self.storing(.connection, copies))
  }

  private static func storing(_ name: StoredName, _ copies: [Int32]) -> StoreMessage {
    // The manager watches connections only, and drops one that has hung up.
    let polling = name == .connection ? "" : "\nFDPOLL=0"
    return StoreMessage(text: "FDSTORE=1\nFDNAME=\(name)\(polling)", descriptors: copies)
  }

  private static func removing(_ name: String) -> StoreMessage {
    StoreMessage(text: "FDSTOREREMOVE=1\nFDNAME=\(name)", descriptors: [])
  }
}
