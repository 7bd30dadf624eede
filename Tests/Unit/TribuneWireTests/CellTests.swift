// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("A cell", .timeLimit(.minutes(15)))
struct CellTests {
  /// Not copyable: a copy would end the access before a function reads it.
  private struct Number: ~Copyable { var value = 1 }

  private final class Owner {
    let number = Cell(Number())

    func change(_ change: (inout Number) throws -> Void) rethrows { try change(&number.value) }
    func read(_ body: (Int) -> Int) -> Int { Self.read(number.value, body) }
    private static func read(_ number: borrowing Number, _ body: (Int) -> Int) -> Int { body(number.value) }
  }

  private struct Failure: Error {}

  @Test("can be read while it is read, and changed again after a change that throws")
  func alone() {
    let owner = Owner()
    #expect(owner.read { $0 + owner.number.value.value } == 2)
    #expect(throws: Failure.self) { try owner.change { _ in throw Failure() } }
    owner.change { $0.value = 2 }
    #expect(owner.number.value.value == 2)
  }

  #if DEBUG
    @Test("traps if it is accessed while it changes, or changes while it is read")
    func overlapping() async {
      await #expect(processExitsWith: .failure) {
        let owner = Owner()
        owner.change { $0.value += owner.number.value.value }
      }
      await #expect(processExitsWith: .failure) {
        let owner = Owner()
        owner.change { _ in owner.change { $0.value = 2 } }
      }
      await #expect(processExitsWith: .failure) {
        let owner = Owner()
        _ = owner.read { number in
          owner.change { $0.value = 2 }
          return number
        }
      }
      await #expect(processExitsWith: .failure) {
        let owner = Owner()
        let reference = unsafe owner.number.reference
        owner.change { $0.value += reference.value.value }
      }
    }
  #endif
}
