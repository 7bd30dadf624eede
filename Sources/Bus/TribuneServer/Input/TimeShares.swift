// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Shares the time of an iteration among users: expensive frames of one user must not delay others.
///
/// A user may take half of an iteration's time, and all users together the whole. When the whole time is
/// over, users that have had no time yet get a *late turn*: privileged users always, and up to `lateUsersMax`
/// others in rotation. A late turn is for one expensive frame, or up to `framesPerLook` other frames. `look`
/// reads the clock when the user changes, after `framesPerLook` frames, and around expensive frames.
final class TimeShares {
  static let iterationNanosecondsMax: UInt64 = 4_000_000
  static let listNanosecondsMax = iterationNanosecondsMax / 10
  static let framesPerLook = 8
  static let lateUsersMax = 16

  private let clock: (() -> UInt64)?
  private(set) var iterationCount: UInt64 = 0
  private var began: UInt64 = 0
  private var lastLook: UInt64 = 0
  private var listNanoseconds: UInt64 = 0
  private var current: User?
  private var framesSinceLook = 0
  /// The number of unprivileged users that have got a late turn in this iteration.
  private var lateTurns = 0
  /// The number of unprivileged users that have needed a late turn in this iteration.
  private var lateUsers = 0
  /// The number of iterations for which an unprivileged user waits between two late turns.
  private var roundCount: UInt64 = 0
  /// True if the bus must call `hasTime` before it reads another socket.
  private(set) var isTight = false
  /// True if the iteration may have taken long: the clock was read, or work was expensive.
  private var mayBeLong = false
  private var longest = LongestIteration()

  /// `clock` returns nanoseconds. Without a clock, work takes no time.
  init(clock: (() -> UInt64)? = { SystemClock.monotonicNanoseconds }) { self.clock = clock }

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

  @inline(__always) func end() {
    if mayBeLong { recordDuration() }
  }

  @inline(never) private func recordDuration() {
    let now = Instant(nanoseconds: nanoseconds)
    longest.record(from: Instant(nanoseconds: began), to: now)
  }

  func longestIterationNanoseconds(at now: Instant) -> UInt64 { longest.nanoseconds(at: now) }

  @inline(__always) func hasTime(for user: User, isMuchWork: Bool) -> Bool {
    if current === user, !isMuchWork, framesSinceLook < Self.framesPerLook {
      framesSinceLook += 1
      return true
    }
    return look(user, isMuchWork)
  }

  /// False in the simulation: its users do not wait for a compaction of the log.
  var heedsLog = true

  @inline(__always) func waitsForCompaction(_ user: User) -> Bool {
    user.waitsForCompaction.value && heedsLog
  }

  var nanoseconds: UInt64 { clock?() ?? lastLook }

  func hasTimeToList(since began: UInt64? = nil) -> Bool {
    listNanoseconds + (began.map { nanoseconds - $0 } ?? 0) < Self.listNanosecondsMax
  }

  func chargeListing(since began: UInt64) { listNanoseconds += nanoseconds - began }

  /// Charges the time from now on to a user.
  func beginCharging(_ user: User) {
    _ = look(user, true)
    isTight = true
    mayBeLong = true
  }

  func markMuchWork() {
    framesSinceLook = Self.framesPerLook
    isTight = true
    mayBeLong = true
  }

  private func look(_ user: User, _ isMuchWork: Bool) -> Bool {
    if current != nil { mayBeLong = true }
    let now = current == nil ? began : nanoseconds
    current?.iterationTime.value.nanoseconds += now - lastLook
    lastLook = now
    current = user
    let isFirst = user.iterationTime.value.number != iterationCount
    if isFirst { user.iterationTime.value = (iterationCount, 0) }
    let isLate = now - began >= Self.iterationNanosecondsMax
    let hasTime =
      if user.iterationTime.value.nanoseconds > 0 {
        !isLate && user.iterationTime.value.nanoseconds < Self.iterationNanosecondsMax / 2
      } else {
        !isLate || user.isPrivileged || hasLateTurn(user, isFirst: isFirst)
      }
    framesSinceLook = isMuchWork || !hasTime ? Self.framesPerLook : 1
    if !hasTime { isTight = true }
    return hasTime
  }

  /// True if an unprivileged user that has had no time yet gets a late turn.
  private func hasLateTurn(_ user: User, isFirst: Bool) -> Bool {
    if isFirst { lateUsers += 1 }
    guard user.lateTurn.value.last != iterationCount else { return true }
    guard lateTurns < Self.lateUsersMax, user.lateTurn.value.next <= iterationCount else { return false }
    lateTurns += 1
    user.lateTurn.value = (iterationCount, iterationCount + roundCount + 1)
    return true
  }
}
