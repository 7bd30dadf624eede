// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// The objects as a tree, split at each `/` of their names, like `busctl tree`.
struct ObjectTree: Sendable {
  private struct Node: Sendable {
    /// The name up to this node; nil for the root.
    var name: String?
    /// The object with exactly this name; nil if the name is only a prefix of other names.
    var info: ObjectInfo?
    var children: [Node] = []

    mutating func insert(_ info: ObjectInfo, _ pieces: ArraySlice<Substring>) {
      guard let piece = pieces.first else {
        self.info = info
        return
      }
      let name = name.map { "\($0)/\(piece)" } ?? String(piece)
      let place: Int
      if let known = children.firstIndex(where: { $0.name == name }) {
        place = known
      } else {
        place = children.firstIndex { ($0.name ?? "") > name } ?? children.endIndex
        children.insert(Node(name: name), at: place)
      }
      children[place].insert(info, pieces.dropFirst())
    }
  }

  private var root = Node()

  init(_ objects: [ObjectInfo]) {
    for info in objects {
      root.insert(info, info.object.split(separator: "/", omittingEmptySubsequences: false)[...])
    }
  }

  func lines(in context: Context) -> [String] {
    var lines: [String] = []
    append(root.children, behind: "", to: &lines, in: context)
    return lines
  }

  private func append(_ nodes: [Node], behind indent: String, to lines: inout [String], in context: Context) {
    for (index, node) in nodes.enumerated() {
      let isLast = index == nodes.count - 1
      lines.append(indent + (isLast ? "└─ " : "├─ ") + text(of: node, in: context))
      append(node.children, behind: indent + (isLast ? "   " : "│  "), to: &lines, in: context)
    }
  }

  private func text(of node: Node, in context: Context) -> String {
    guard let info = node.info else {
      let name = node.name ?? ""
      return context.styled(name.isEmpty ? "/" : name.terminalSafe, .faint)
    }
    let parts = [
      info.protocolName?.terminalSafe, info.delegates > 0 ? info.delegates.counted("delegate") : nil,
    ].compactMap { $0 }
    return context.styled(info.object.terminalSafe, .bold)
      + (parts.isEmpty ? "" : "  " + parts.joined(separator: ", "))
  }
}
