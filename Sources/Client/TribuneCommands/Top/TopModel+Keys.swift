// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

enum TopKey: Hashable, Sendable {
  case character(Character)
  case up, down, pageUp, pageDown, home, end
  case tab, backTab, enter, escape, backspace
  case function(Int)
}

/// The keys are the same as in htop.
extension TopModel {
  enum Effect: Equatable, Sendable {
    case none, quit
    /// Draw everything again, because another program may have written on the terminal.
    case redraw
    case refresh
  }

  mutating func press(_ key: TopKey) -> Effect {
    switch mode {
    case .browsing: return browse(key)
    case .help:
      mode = .browsing
      return .none
    case .sorting(let column):
      chooseColumn(key, column)
      return .none
    case .typing(let prompt, let text):
      type(key, prompt, text)
      return .none
    }
  }

  private mutating func browse(_ key: TopKey) -> Effect {
    switch key {
    case .character("q"), .function(10): return .quit
    case .character("h"), .character("?"), .function(1): mode = .help
    case .character("/"), .function(3): begin(.search, with: "")
    case .character("n"): search(from: 1)
    case .character("\\"), .function(4): begin(.filter, with: filter)
    case .character("t"), .function(5): return showTree()
    case .character(">"), .function(6): mode = .sorting(column: order.column)
    case .character("I"): order.isAscending.toggle()
    case .character("Z"):
      isPaused.toggle()
      return isPaused ? .none : .refresh
    case .character("\u{C}"): return .redraw
    case .tab: return change(to: view.next)
    case .backTab: return change(to: view.previous)
    case .character(let character):
      if let number = character.wholeNumberValue, let view = TopView(number: number) {
        return change(to: view)
      }
      move(key)
    default: move(key)
    }
    return .none
  }

  private mutating func move(_ key: TopKey) {
    switch key {
    case .up, .character("k"): select(selected - 1)
    case .down, .character("j"): select(selected + 1)
    case .pageUp: select(selected - max(1, size.tableRows))
    case .pageDown: select(selected + max(1, size.tableRows))
    case .home: select(0)
    case .end: select(rows.count - 1)
    default: break
    }
  }

  private mutating func change(to view: TopView) -> Effect {
    show(view)
    return .refresh
  }

  private mutating func showTree() -> Effect {
    guard view == .queries else {
      isTree = true
      return change(to: .queries)
    }
    isTree.toggle()
    return .none
  }

  private mutating func chooseColumn(_ key: TopKey, _ column: Int) {
    switch key {
    case .up, .character("k"): mode = .sorting(column: max(0, column - 1))
    case .down, .character("j"): mode = .sorting(column: min(view.columns.count - 1, column + 1))
    case .enter:
      order = Self.usualOrder(of: column, in: view)
      mode = .browsing
    case .escape, .character("q"), .function(6), .function(10): mode = .browsing
    default: break
    }
  }

  // MARK: Typing

  private mutating func begin(_ prompt: Prompt, with text: String) {
    mode = .typing(prompt, text: text)
  }

  private mutating func type(_ key: TopKey, _ prompt: Prompt, _ text: String) {
    switch key {
    case .character(let character) where !character.isControl:
      typed(prompt, text + String(character))
    case .backspace: typed(prompt, String(text.dropLast()))
    case .escape:
      mode = .browsing
      if prompt == .filter { filter = "" }
    case .function(3) where prompt == .search: search(from: 1)
    case .enter: mode = .browsing
    default: break
    }
  }

  private mutating func typed(_ prompt: Prompt, _ text: String) {
    // Lines of a terminal are shorter. The limit is for a program that sends keys without end.
    guard text.count <= 128 else { return }
    mode = .typing(prompt, text: text)
    switch prompt {
    case .search:
      searched = text
      search(from: 0)
    case .filter: filter = text
    }
  }
}

extension Character {
  fileprivate var isControl: Bool { unicodeScalars.contains(where: \.actsOnTerminals) }
}
