// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Shares the time of an iteration of the event loop among users, so that nobody waits long for the expensive frames of
/// another user, on however many connections these come.
///
/// A user may take half of an iteration, and all users together the whole. After that, the rest is left for the next
/// iteration, but one frame is handled of each user who has had no time in this one. So that root waits for few others,
/// that goes for `lateUsersMax` users beside the privileged ones; if there are more, they take turns. The clock is read
/// when frames of another user come, after every `framesPerLook` frames, before each frame that can be much work, and
/// after what was much work.
final class TimeShares {
  static let iterationNanosecondsMax: UInt64 = 4_000_000
  /// For all lists of all users together.
  static let listNanosecondsMax = iterationNanosecondsMax / 10
  static let framesPerLook = 8
  static let lateUsersMax = 16

  private let clock: (() -> UInt64)?
  /// Iterations that have begun.
  private(set) var iterationCount: UInt64 = 0
  private var began: UInt64 = 0
  private var lastLook: UInt64 = 0
  /// What lists have taken of this iteration.
  private var listNanoseconds: UInt64 = 0
  /// The user whose frames are handled.
  private var current: UserAccount?
  private var framesSinceLook = 0
  /// Users without privileges of whom frames came after the time of the iteration: those who had a turn, and all.
  private var lateTurns = 0
  private var lateUsers = 0
  /// For so many iterations after one, a user has no other turn.
  private var roundCount: UInt64 = 0
  /// Whether nothing may be read before the clock is, in this iteration.
  private(set) var isTight = false
  /// Whether the iteration can take long: the clock was read, or it turned out to be much work. One frame that can be much
  /// work, such as an ask, rarely is; what it causes for many clients is.
  private var mayBeLong = false
  private var longest = LongestIteration()

  /// - Parameter clock: nanoseconds. Without a clock, nothing takes time.
  init(clock: (() -> UInt64)? = { SystemClock.monotonicNanoseconds }) { self.clock = clock }

  /// An iteration begins.
  func begin(at now: Instant) {
    iterationCount &+= 1
    (began, lastLook) = (now.nanoseconds, now.nanoseconds)
    current = nil
    listNanoseconds = 0
    roundCount = UInt64(lateUsers / Self.lateUsersMax)
    (lateTurns, lateUsers) = (0, 0)
    isTight = false
    mayBeLong = false
  }

  /// The iteration ends.
  @inline(__always) func end() {
    if mayBeLong { noteDuration() }
  }

  @inline(never) private func noteDuration() {
    let now = Instant(nanoseconds: nanoseconds)
    longest.note(from: Instant(nanoseconds: began), to: now)
  }

  /// The longest iteration in the last minute, or in up to a minute more.
  func longestIterationNanoseconds(at now: Instant) -> UInt64 { longest.nanoseconds(at: now) }

  /// Whether a user's next frame is handled in this iteration.
  @inline(__always) func hasTime(for account: UserAccount, isMuchWork: Bool) -> Bool {
    if current === account, !isMuchWork, framesSinceLook < Self.framesPerLook {
      framesSinceLook += 1
      return true
    }
    return look(account, isMuchWork)
  }

  /// Whether frames wait for a compaction of the log, too. A caller that makes the iterations counts on every frame to be
  /// handled in the one that reads it.
  var heedsLog = true

  /// Whether a user's frames wait for a compaction of the log.
  @inline(__always) func waitsForCompaction(_ account: UserAccount) -> Bool {
    account.waitsForCompaction.value && heedsLog
  }

  var nanoseconds: UInt64 { clock?() ?? lastLook }

  /// Whether lists have not had their share of the iteration's time.
  ///
  /// - Parameter began: since when one is made; nil if none is.
  func hasTimeToList(since began: UInt64? = nil) -> Bool {
    listNanoseconds + (began.map { nanoseconds - $0 } ?? 0) < Self.listNanosecondsMax
  }

  func noteListing(since began: UInt64) { listNanoseconds += nanoseconds - began }

  /// Counts the time from now on for a user.
  func count(for account: UserAccount) {
    _ = look(account, true)
    isTight = true
    mayBeLong = true
  }

  /// What was done for the current user was much work, as it turned out.
  func noteMuchWork() {
    framesSinceLook = Self.framesPerLook
    isTight = true
    mayBeLong = true
  }

  private func look(_ account: UserAccount, _ isMuchWork: Bool) -> Bool {
    // The iteration has just begun.
    if current != nil { mayBeLong = true }
    let now = current == nil ? began : nanoseconds
    current?.iterationTime.value.nanoseconds += now - lastLook
    lastLook = now
    current = account
    let isFirst = account.iterationTime.value.number != iterationCount
    if isFirst { account.iterationTime.value = (iterationCount, 0) }
    let isLate = now - began >= Self.iterationNanosecondsMax
    let hasTime =
      if account.iterationTime.value.nanoseconds > 0 {
        !isLate && account.iterationTime.value.nanoseconds < Self.iterationNanosecondsMax / 2
      } else {
        !isLate || account.isPrivileged || hasLateTurn(account, isFirst: isFirst)
      }
    // After these, the clock is read again.
    framesSinceLook = isMuchWork || !hasTime ? Self.framesPerLook : 1
    if !hasTime { isTight = true }
    return hasTime
  }

  /// Whether it is the turn of a user who has had no time in this iteration, which is over.
  private func hasLateTurn(_ account: UserAccount, isFirst: Bool) -> Bool {
    if isFirst { lateUsers += 1 }
    guard account.lateTurn.value.last != iterationCount else { return true }
    guard lateTurns < Self.lateUsersMax, account.lateTurn.value.next <= iterationCount else { return false }
    lateTurns += 1
    account.lateTurn.value = (iterationCount, iterationCount + roundCount + 1)
    return true
  }
}
