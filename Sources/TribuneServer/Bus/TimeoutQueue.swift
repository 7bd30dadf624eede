// SPDX-License-Identifier: Apache-2.0

package import TribuneCore

/// Moments at which something is to be looked at, all the same time ahead, and so in order by themselves.
///
/// What is settled before its time stays, until something before it has come due and it would be the next: whoever
/// looks finds out whether there is still something to do.
nonisolated package struct TimeoutQueue<Subject> {
  private var entries: [(due: Instant, subject: Subject)] = []
  private var head = 0

  package init() {}

  package var nextDue: Instant? { head < entries.count ? entries[head].due : nil }

  package mutating func append(_ subject: Subject, due: Instant) {
    entries.append((due, subject))
  }

  /// The next subject whose time has come.
  package mutating func popDue(at now: Instant) -> Subject? {
    guard head < entries.count, entries[head].due <= now else { return nil }
    let subject = entries[head].subject
    head += 1
    forgetFront()
    return subject
  }

  /// Takes out the first subjects that need not be looked at any more, so that nothing wakes for them.
  package mutating func drop(while isSettled: (Subject) -> Bool) {
    while head < entries.count, isSettled(entries[head].subject) { head += 1 }
    forgetFront()
  }

  private mutating func forgetFront() {
    if head == entries.count {
      entries.removeAll(keepingCapacity: head <= 64)
      head = 0
    } else if head >= 64, head * 2 >= entries.count {
      entries.removeFirst(head)
      head = 0
    }
  }
}
