// SPDX-License-Identifier: Apache-2.0

import CSimulatedKernel
import TribuneServer
import TribuneTestSupport

enum KernelEvent {
  /// 0 bytes at the end of the connection; negative after an error.
  case received(cookie: UInt64, count: Int)
  case tried(cookie: UInt64)
  case sent(cookie: UInt64, [UInt8])
  /// The kernel took less than the bus offered.
  case blocked(cookie: UInt64)
  case accepted(cookie: UInt64)
  case shutDown(cookie: UInt64)
  /// Cookie 0: in a message of the keeper.
  case descriptorLost(cookie: UInt64)
  case given(cookie: UInt64)
  case notified(String, [CInt])
  case idle
  case refused
  case died
}

/// Faults while the bus runs: one in this many calls, 0 for none.
struct Faults {
  var again: UInt32 = 0
  var shortReceive: UInt32 = 0
  var shortSend: UInt32 = 0
  var noDescriptor: UInt32 = 0
  var noMemory: UInt32 = 0
  var lostDescriptor: UInt32 = 0
  var lostKept: UInt32 = 0
  var keeper: UInt32 = 0
  var reorder: UInt32 = 0
  var turns: UInt32 = 0
}

/// The kernel as the bus sees it (`CSimulatedKernel`).
enum Kernel {
  static weak var keeping: Keeping? {
    didSet { sim_set_keeper { MainActor.assumeIsolated { Kernel.keeping?.turn() } } }
  }

  static func turnKeeper() { sim_turn_keeper(1) }

  /// Runs code of the bus, and returns its events in order.
  static func run(seed: UInt64, _ faults: Faults, _ body: () -> Void) -> [KernelEvent] {
    sim_forget()
    var wanted = sim_faults(
      again: faults.again, short_receive: faults.shortReceive, short_send: faults.shortSend,
      no_descriptor: faults.noDescriptor, no_memory: faults.noMemory,
      lost_descriptor: faults.lostDescriptor, lost_kept: faults.lostKept, keeper: faults.keeper,
      reorder: faults.reorder, turns: faults.turns)
    unsafe sim_enter(seed, &wanted)
    body()
    sim_leave()
    return (0..<sim_event_count()).map { event(at: $0) }
  }

  private static func event(at index: UInt64) -> KernelEvent {
    let event = sim_event_at(index)
    return switch event.kind {
    case SIM_RECEIVED: .received(cookie: event.cookie, count: Int(event.count))
    case SIM_TRIED: .tried(cookie: event.cookie)
    case SIM_SENT: .sent(cookie: event.cookie, bytes(of: event))
    case SIM_BLOCKED: .blocked(cookie: event.cookie)
    case SIM_ACCEPTED: .accepted(cookie: event.cookie)
    case SIM_SHUT_DOWN: .shutDown(cookie: event.cookie)
    case SIM_DESCRIPTOR_LOST: .descriptorLost(cookie: event.cookie)
    case SIM_GIVEN: .given(cookie: event.cookie)
    case SIM_NOTIFIED: .notified(String(decoding: bytes(of: event), as: UTF8.self), descriptors(of: event))
    case SIM_IDLE: .idle
    case SIM_REFUSED: .refused
    case SIM_DIED: .died
    default: preconditionFailure("an event of kind \(event.kind)")
    }
  }

  private static func bytes(of event: sim_event) -> [UInt8] {
    unsafe Array(UnsafeBufferPointer(start: sim_bytes() + Int(event.offset), count: Int(event.length)))
  }

  private static func descriptors(of event: sim_event) -> [CInt] {
    unsafe withUnsafeBytes(of: event.descriptors) { bytes in
      unsafe Array(bytes.bindMemory(to: CInt.self).prefix(Int(event.count)))
    }
  }

  // MARK: Time

  static var now: UInt64 { sim_clock() }

  static func setClock(_ nanoseconds: UInt64, tick: UInt64 = 0) { sim_set_clock(nanoseconds, tick) }

  static var alarm: UInt64? {
    let due = sim_alarm()
    return due == 0 ? nil : due
  }

  static func ringAlarm() { sim_ring() }

  // MARK: Death

  private(set) static var isToDie = false

  static func dieAfter(_ points: Int, at place: sim_place) {
    isToDie = true
    sim_die_after(UInt64(points), place)
  }

  /// Closes the bus's sockets, as the end of a process does.
  static func letGoOfSockets() { sim_let_go_of_sockets() }
  static func liveOn() {
    isToDie = false
    sim_live_on()
  }

  static var busIsDead: Bool { sim_is_dead() != 0 }
  static func revive() { sim_revive() }
}
