// SPDX-License-Identifier: Apache-2.0

/// A small and dense index of a connection. The next connection reuses it, so do not keep it past
/// `Bus.disconnect`.
package struct ConnectionSlot: Hashable, Sendable {
  package let index: Int

  package init(index: Int) { self.index = index }
}
