// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// An executable in `DIR/NAME/`: a delegate that responds to that name.
///
/// Files are asked in the order of their own names, byte by byte, whichever folder they are in.
struct DelegateFile: Hashable, Comparable, Sendable {
  /// The names that it responds to: a pattern, which is what its folder is called.
  var pattern: String
  var name: [UInt8]

  static func < (one: DelegateFile, other: DelegateFile) -> Bool {
    if one.name != other.name { return one.name.lexicographicallyPrecedes(other.name) }
    return one.pattern.utf8.lexicographicallyPrecedes(other.pattern.utf8)
  }

  /// What verdicts call it.
  var label: String { String(decoding: name, as: UTF8.self) }

  /// For people.
  var description: String { "\(pattern)/\(label)".terminalSafe }

  /// Names that no delegate has: what is hidden, what editors leave behind, and what package tools have
  /// not put into its place yet, or keep beside it.
  static func isLeftAside(_ name: [UInt8]) -> Bool {
    if name.first == UInt8(ascii: ".") || name.last == UInt8(ascii: "~") { return true }
    let text = String(decoding: name, as: UTF8.self)
    return [".dpkg-", ".rpm"].contains { mark in
      // The mark begins the last suffix.
      text.utf8.lastIndex(of: UInt8(ascii: ".")).map { text[$0...].hasPrefix(mark) } == true
    }
  }
}

/// What a folder of delegates holds at one moment, and what in it cannot be used.
struct DelegateFolderContents: Equatable, Sendable {
  var files: Set<DelegateFile> = []
  var problems: [String] = []
}

extension DelegateFolderContents {
  /// Looks through a folder.
  ///
  /// - Parameter watch: called for each folder before it is looked through.
  static func read(_ root: [UInt8], watch: (_ folder: [UInt8]) throws(Errno) -> Void)
    -> DelegateFolderContents
  {
    var contents = DelegateFolderContents()
    for name in contents.names(in: root, watch: watch) where !DelegateFile.isLeftAside(name) {
      let path = root + [UInt8(ascii: "/")] + name
      guard Folder.kind(of: path) == .folder else { continue }
      let text = String(decoding: name, as: UTF8.self)
      do throws(WireError) {
        _ = try Pattern(text)
      } catch {
        contents.problems.append("\(shown(path)) is left aside: \(error.message)")
        continue
      }
      for name in contents.names(in: path, watch: watch) where !DelegateFile.isLeftAside(name) {
        guard Folder.kind(of: path + [UInt8(ascii: "/")] + name) == .program else { continue }
        contents.files.insert(DelegateFile(pattern: text, name: name))
      }
    }
    return contents
  }

  /// What is in a folder; nothing if it has gone.
  private mutating func names(
    in folder: [UInt8], watch: (_ folder: [UInt8]) throws(Errno) -> Void
  ) -> [[UInt8]] {
    do throws(Errno) {
      // First the watch: what comes while it is looked through is noticed, if it is not seen.
      try watch(folder)
    } catch {
      let isAbsent = Folder.kind(of: folder) != .folder
      problems.append("\(Self.shown(folder)) \(isAbsent ? "is not there" : "cannot be watched"): \(error)")
      if isAbsent { return [] }
    }
    do throws(Errno) {
      return try Folder.names(in: folder)
    } catch {
      problems.append("\(Self.shown(folder)) cannot be read: \(error)")
      return []
    }
  }

  private static func shown(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).terminalSafe }
}
