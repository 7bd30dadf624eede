// SPDX-License-Identifier: Apache-2.0

/// The index of a connection in the tables of core and server: small and dense, for lookups in arrays.
///
/// The next connection reuses it, so a slot must not be kept past `Bus.disconnect`.
package struct ConnectionSlot: Hashable, Sendable {
  package let index: Int

  package init(index: Int) { self.index = index }
}
