// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The retained notifications, in a tree of name tokens. It is noncopyable, because copies would share the
/// nodes.
struct RetainedNotifications: ~Copyable {
  private final class Node {
    var branches: [String: Node] = [:]
    var here: [ExactText: RetainedNotification] = [:]

    var isEmpty: Bool { branches.isEmpty && here.isEmpty }
  }

  private let root = Node()
  private(set) var count = 0
  private var lastNumber: UInt64 = 0
  private let accounts: Accounts

  init(_ accounts: Accounts) { self.accounts = accounts }

  // MARK: Keeping

  func notification(_ name: String, _ object: String) -> RetainedNotification? {
    var node = root
    for token in name.split(separator: ".") {
      guard let next = node.branches[String(token)] else { return nil }
      node = next
    }
    return node.here[ExactText(object)]
  }

  /// Keeps a notification, which the caller must have charged. Returns the replaced notification, whose
  /// charge this method has released.
  mutating func keep(
    _ notification: RetainedNotification, _ name: String, _ object: String
  ) -> RetainedNotification? {
    var node = root
    for token in name.split(separator: ".") {
      let token = String(token)
      if let next = node.branches[token] {
        node = next
      } else {
        let next = Node()
        node.branches[token] = next
        node = next
      }
    }
    lastNumber += 1
    notification.number = lastNumber
    guard let before = node.here.updateValue(notification, forKey: ExactText(object)) else {
      count += 1
      return nil
    }
    accounts.charge(-before.cost, of: .retained, to: before.uid)
    return before
  }

  mutating func forget(_ name: String, _ object: String) -> RetainedNotification? {
    guard let before = Self.remove(name.split(separator: ".")[...], object, from: root) else { return nil }
    count -= 1
    accounts.charge(-before.cost, of: .retained, to: before.uid)
    return before
  }

  private static func remove(
    _ tokens: ArraySlice<Substring>, _ object: String, from node: Node
  ) -> RetainedNotification? {
    guard let token = tokens.first else { return node.here.removeValue(forKey: ExactText(object)) }
    guard let next = node.branches[String(token)] else { return nil }
    defer { if next.isEmpty { node.branches[String(token)] = nil } }
    return remove(tokens.dropFirst(), object, from: next)
  }

  // MARK: Finding

  /// The matching notifications, in the order of posting. A nil object means any object.
  func matching(_ pattern: Pattern, object: String?) -> [RetainedNotification] {
    var found: [RetainedNotification] = []
    Self.visit(root, pattern.text.split(separator: ".")[...], object.map(ExactText.init), &found)
    return found.sorted { $0.number < $1.number }
  }

  var all: [RetainedNotification] {
    var found: [RetainedNotification] = []
    Self.visitAll(root, nil, &found)
    return found
  }

  private static func visit(
    _ node: Node, _ tokens: ArraySlice<Substring>, _ object: ExactText?, _ found: inout [RetainedNotification]
  ) {
    guard let token = tokens.first else {
      collect(node, object, &found)
      return
    }
    let rest = tokens.dropFirst()
    switch token {
    case "**":
      for next in node.branches.values { visitAll(next, object, &found) }
    case "*":
      for next in node.branches.values { visit(next, rest, object, &found) }
    default:
      if let next = node.branches[String(token)] { visit(next, rest, object, &found) }
    }
  }

  private static func visitAll(_ node: Node, _ object: ExactText?, _ found: inout [RetainedNotification]) {
    collect(node, object, &found)
    for next in node.branches.values { visitAll(next, object, &found) }
  }

  private static func collect(_ node: Node, _ object: ExactText?, _ found: inout [RetainedNotification]) {
    if let object {
      if let notification = node.here[object] { found.append(notification) }
    } else {
      found.append(contentsOf: node.here.values)
    }
  }
}
