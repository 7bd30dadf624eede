// SPDX-License-Identifier: Apache-2.0

/// The index of a connection in the tables of the core and of the server. It is small and dense, so that a lookup is
/// an array access. Another connection reuses it once its connection has gone: nothing may keep a slot past
/// `Bus.disconnect`.
package struct ConnectionSlot: Hashable, Sendable {
  package let index: Int

  package init(index: Int) { self.index = index }
}
