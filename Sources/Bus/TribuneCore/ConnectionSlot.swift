// SPDX-License-Identifier: Apache-2.0

/// A small and dense index of a connection. After `Bus.disconnect`, another connection can get the same
/// index, so do not keep the slot after this call.
package struct ConnectionSlot: Hashable, Sendable {
  package let index: Int

  package init(index: Int) { self.index = index }
}
