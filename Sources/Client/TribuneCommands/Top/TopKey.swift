// SPDX-License-Identifier: Apache-2.0

/// A key of the terminal.
enum TopKey: Hashable, Sendable {
  case character(Character)
  case up, down, pageUp, pageDown, home, end
  case tab, backTab, enter, escape, backspace
  /// F1 and so on.
  case function(Int)
}
