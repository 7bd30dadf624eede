// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// An executable `DIR/NAME/FILE`, which becomes a delegate that responds to NAME. In the chain, the files of
/// all folders are in the byte order of FILE. A value with an empty `name` stands for all files of a folder
/// that is unreadable or has a misspelt name. The delegate of such a value fails every question.
struct DelegateFile: Hashable, Comparable, Sendable {
  let pattern: String
  let name: [UInt8]
  /// The folder's name: the pattern, or its misspelling.
  private let folder: [UInt8]

  init(pattern: String, name: [UInt8], misspelt folder: [UInt8]? = nil) {
    self.pattern = pattern
    self.name = name
    self.folder = folder ?? Array(pattern.utf8)
  }

  static func < (one: DelegateFile, other: DelegateFile) -> Bool {
    if one.name != other.name { return one.name.lexicographicallyPrecedes(other.name) }
    return one.folder.lexicographicallyPrecedes(other.folder)
  }

  func path(in root: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    return root + [slash] + folder + [slash] + name
  }

  var label: String { String(decoding: name.isEmpty ? folder : name, as: UTF8.self) }

  var description: String {
    String(decoding: folder + [UInt8(ascii: "/")] + name, as: UTF8.self).terminalSafe
  }

  /// The patterns that have several files, or that overlap the pattern of another file.
  static func sharedPatterns(of files: Set<DelegateFile>) -> [String] {
    let counts = files.reduce(into: [:]) { $0[$1.pattern, default: 0] += 1 }
    let patterns = counts.keys.sorted().compactMap(pattern)
    return patterns.filter { one in
      counts[one.text] != 1 || patterns.contains { $0.text != one.text && $0.overlaps(one) }
    }.map(\.text)
  }

  static func pattern(_ text: String) -> Pattern? {
    do { return try Pattern(text) } catch { return nil }
  }

  static let concludedSuffix = Array(".concluded".utf8)

  static func isHidden(_ name: [UInt8]) -> Bool { name.first == UInt8(ascii: ".") }

  static func isCompanion(_ name: [UInt8]) -> Bool {
    name.suffix(concludedSuffix.count).elementsEqual(concludedSuffix)
  }

  static func isIgnored(_ name: [UInt8]) -> Bool { isCompanion(name) || Folder.isLeftover(name) }
}

struct DelegateFolderContents: Equatable, Sendable {
  var files: Set<DelegateFile> = []
  var problems: [String] = []
  /// Problems, by path, of files that may still be incomplete. `DelegateFolder` reports these problems after
  /// the first read, and later when the folder has not changed for a second.
  fileprivate(set) var unfinished: [[UInt8]: String] = [:]
  fileprivate(set) var unseen: [[UInt8]] = []

  func mayHave(_ file: DelegateFile, in root: [UInt8]) -> Bool {
    let path = file.path(in: root)
    return unseen.contains { path == $0 || path.starts(with: $0 + [UInt8(ascii: "/")]) }
  }
}

extension DelegateFolderContents {
  /// - Parameters:
  ///   - watch: called before a folder is read.
  ///   - follow: called before a path that may have symbolic links is examined.
  static func read(
    _ root: [UInt8], watch: (_ folder: [UInt8]) throws(Errno) -> Void, follow: (_ path: [UInt8]) -> Void
  ) -> DelegateFolderContents {
    var contents = DelegateFolderContents()
    follow(root)
    for name in contents.names(in: root, watch: watch) where !DelegateFile.isIgnored(name) {
      let path = root + [UInt8(ascii: "/")] + name
      let text = String(decoding: name, as: UTF8.self)
      if Folder.isLink(path) { follow(path) }
      let kind = contents.kind(of: path)
      guard kind == .folder || kind == nil && !Folder.lacksEntry(path) else {
        if kind?.isProgram == true {
          contents.problems.append(
            "\(shown(path)) is ignored: programs belong into folders, as in a.shouldRun/check")
        }
        continue
      }
      do throws(CommandError) {
        try ActionNames.requireQuestion(try Invocation.checkedPattern(text).text, orValue: true)
      } catch {
        var problem = "\(shown(path)) is ignored: \(error.message)"
        if let meant = ActionNames.question(meantBy: text), DelegateFile.pattern(meant) != nil {
          let names = kind == nil ? [] : contents.names(in: path, watch: watch)
          // If this process cannot read the folder, the folder may still have files that would veto.
          if kind == nil || contents.unseen.last == path
            || names.contains(where: { !DelegateFile.isIgnored($0) })
          {
            contents.files.insert(DelegateFile(pattern: meant, name: [], misspelt: name))
            problem += " Until the folder is renamed, \(meant) fails"
          }
        }
        contents.problems.append(problem)
        continue
      }
      if kind == nil {
        contents.files.insert(DelegateFile(pattern: text, name: []))
        if isBrokenLink(path) {
          contents.problems.append("\(shown(path)) fails: it is a link to a missing folder")
        }
        continue
      }
      let names = contents.names(in: path, watch: watch)
      // The folder's unknown files could veto, so a delegate that fails represents them.
      if contents.unseen.last == path { contents.files.insert(DelegateFile(pattern: text, name: [])) }
      for name in names { contents.add(DelegateFile(pattern: text, name: name), in: root, follow) }
      for name in names where DelegateFile.isCompanion(name) {
        let owner = Array(name.dropLast(DelegateFile.concludedSuffix.count))
        if names.contains(owner) || DelegateFile.isHidden(name) { continue }
        let path = DelegateFile(pattern: text, name: name).path(in: root)
        contents.unfinished[path] = "\(shown(path)) is ignored: there is no \(shown(owner))"
      }
    }
    return contents
  }

  private mutating func add(_ file: DelegateFile, in root: [UInt8], _ follow: (_ path: [UInt8]) -> Void) {
    let path = file.path(in: root)
    let isCompanion = DelegateFile.isCompanion(file.name)
    guard isCompanion || !DelegateFile.isIgnored(file.name) else { return }
    if Folder.isLink(path) { follow(path) }
    let kind = kind(of: path)
    switch kind {
    case _ where isCompanion:
      if kind != .program { unfinished[path] = "\(Self.shown(path)) is ignored: it cannot be executed" }
      return
    case .program: break
    case .othersProgram:
      problems.append("\(Self.shown(path)) fails: it may not be executed by this user")
    case nil where Self.isBrokenLink(path):
      problems.append("\(Self.shown(path)) fails: it is a link to a missing file")
    case nil where unseen.last == path: break
    case .folder:
      problems.append("\(Self.shown(path)) is ignored: it is a folder")
      return
    case .plainFile:
      unfinished[path] = "\(Self.shown(path)) is ignored: it cannot be executed"
      return
    case .pipe, .other, nil: return
    }
    files.insert(file)
  }

  private static func isBrokenLink(_ path: [UInt8]) -> Bool {
    Folder.lacks(path) && !Folder.lacksEntry(path)
  }

  private mutating func kind(of path: [UInt8]) -> Folder.Kind? {
    let kind = Folder.kind(of: path)
    if kind == nil, !Folder.lacks(path) {
      unseen.append(path)
      problems.append("\(Self.shown(path)) cannot be looked at")
    }
    return kind
  }

  private mutating func names(
    in folder: [UInt8], watch: (_ folder: [UInt8]) throws(Errno) -> Void
  ) -> [[UInt8]] {
    do throws(Errno) {
      // The watch begins first. If a file is added later, the read finds the file, or the watch reports it.
      try watch(folder)
    } catch {
      let path = Self.shown(folder)
      switch kind(of: folder) {
      case .folder: problems.append("\(path) cannot be watched: \(error)")
      case nil where unseen.last == folder: return []
      case nil:
        problems.append("\(path) does not exist: \(error)")
        return []
      default:
        problems.append("\(path) is not a folder")
        return []
      }
    }
    do throws(Errno) {
      return try Folder.names(in: folder)
    } catch  where error == .noSuchFile {
      // The folder has gone meanwhile. The watch of its parent reports the removal.
      return []
    } catch {
      unseen.append(folder)
      problems.append("\(Self.shown(folder)) cannot be read: \(error)")
      return []
    }
  }

  private static func shown(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).terminalSafe }
}
