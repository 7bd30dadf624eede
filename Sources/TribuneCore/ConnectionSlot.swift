// SPDX-License-Identifier: Apache-2.0

/// Where a connection sits in the tables of the core and of the server. Small and dense, so that finding
/// a connection is an array access; taken again by another once its connection has gone, so that nothing
/// may keep a slot past `Bus.disconnect`.
package struct ConnectionSlot: Hashable, Sendable {
  package let index: Int

  package init(index: Int) { self.index = index }
}
