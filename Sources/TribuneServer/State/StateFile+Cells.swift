// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
package import TribuneWire

// A cell is a row of words: those of `StateCellWord`, and at its end the connection's id below the id's complement.
// There is no connection of the id 0, the bus's own, which a cell that was never set has too.

extension StateFile {
  private static let idWord = 7
  private static let idCheckWord = 6

  /// Gives a slot's cell to a connection, with all its words 0 but the flags.
  ///
  /// To be called before the record of the connection is committed: then there is never a connection without a cell.
  package func setCell(slot: Int, connection: ConnectionID, flags: StateCellFlags = []) {
    clearCell(slot: slot)
    for word in StateCellWord.allCases { cells[slot, word.rawValue] = StateWord(0).bits }
    set(.flags, of: slot, to: flags.rawValue)
    cells[slot, Self.idCheckWord] = ~connection.rawValue
    cells.publish(connection.rawValue, row: slot, word: Self.idWord)
  }

  /// Takes the cell away from the connection that has it.
  package func clearCell(slot: Int) {
    cells.publish(ConnectionID.bus.rawValue, row: slot, word: Self.idWord)
  }

  /// Stores a word of a cell that is set.
  @inline(__always) package func set(_ word: StateCellWord, of slot: Int, to value: UInt32) {
    cells[slot, word.rawValue] = StateWord(value).bits
  }

  /// What the cell of a slot says; nil if it belongs to no connection, or is damaged.
  package func cell(of slot: Int) -> StateCell? {
    let id = cells[slot, Self.idWord]
    guard id != ConnectionID.bus.rawValue, id == ~cells[slot, Self.idCheckWord],
      let flags = value(.flags, of: slot), let queued = value(.queued, of: slot),
      let sent = value(.sent, of: slot), let saidSent = value(.saidSent, of: slot),
      let held = value(.held, of: slot)
    else { return nil }
    return StateCell(
      connection: ConnectionID(rawValue: id), flags: StateCellFlags(rawValue: flags), queued: queued,
      sent: sent, saidSent: saidSent, held: held, lost: value(.lost, of: slot))
  }

  /// Goes through the cells that belong to a connection and are not damaged, and gives no memory to those that were
  /// never set.
  package func forEachCell(_ body: (_ slot: Int, StateCell) -> Void) {
    let end = StateHeader.cellsOffset + cellCount * StateHeader.cellLength
    var offset = StateHeader.cellsOffset
    while offset < end, let data = file.data(from: offset) {
      // Pages are whole cells.
      let first = max(data.lowerBound, offset) - StateHeader.cellsOffset
      let last = min(data.upperBound, end) - StateHeader.cellsOffset
      for slot in stride(from: first, to: last, by: StateHeader.cellLength) {
        let slot = slot / StateHeader.cellLength
        if let cell = cell(of: slot) { body(slot, cell) }
      }
      offset = data.upperBound
    }
  }

  private func value(_ word: StateCellWord, of slot: Int) -> UInt32? {
    StateWord(bits: cells[slot, word.rawValue]).value
  }
}
