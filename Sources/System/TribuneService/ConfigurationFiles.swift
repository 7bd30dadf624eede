// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

package enum ConfigurationFiles {
  package static let systemDirectory = "/etc/tribune"

  package static func exists(_ directory: String) -> Bool { Folder.kind(of: Array(directory.utf8)) != nil }

  /// Loads the configuration again. A missing directory is an error: the reload would drop the rules in it.
  package static func reload<Settings>(
    _ directory: String?, _ load: () -> (Settings, [Diagnostic])
  ) -> (Settings, [Diagnostic]) {
    let directory = directory ?? systemDirectory
    let isThere = exists(directory)
    let (settings, diagnostics) = load()
    return (settings, isThere ? diagnostics : [Diagnostic(.error, directory, nil, "does not exist")])
  }

  /// Returns nil if the file is longer than 1 MiB.
  package static func contents(of path: String) throws(Errno) -> [UInt8]? {
    // With `waits: false`, opening a FIFO that has no writer does not block.
    try InputFile.contents(of: path, lengthMax: 1 << 20, waits: false)
  }

  /// Returns nil if the file is missing. A dangling link is an error, because the target's rules would be
  /// lost.
  package static func read(_ path: String) throws(SettingError) -> [UInt8]? {
    guard Folder.kind(of: Array(path.utf8)) != .pipe else {
      throw SettingError(message: "cannot be read: it is a pipe")
    }
    let bytes: [UInt8]?
    do throws(Errno) {
      bytes = try contents(of: path)
    } catch {
      if error == .noSuchFile && !Folder.isLink(path) { return nil }
      throw SettingError(message: "cannot be read: \(error)")
    }
    guard let bytes else { throw SettingError(message: "is longer than 1 MiB") }
    return bytes
  }

  /// Lists the files with one of the suffixes, sorted by name. Other files cause warnings, except README,
  /// hidden files, and leftovers of editors and package tools. If the directory is missing, both lists are
  /// empty.
  package static func paths(
    in directory: String, endingIn suffixes: [String]
  ) throws(SettingError) -> (paths: [String], misnamed: [Diagnostic]) {
    var names: [[UInt8]]
    do throws(Errno) {
      names = try Folder.names(in: Array(directory.utf8))
    } catch {
      if error == .noSuchFile && !Folder.isLink(directory) { return ([], []) }
      throw SettingError(message: "cannot be listed: \(error)")
    }
    names.removeAll { $0.first == UInt8(ascii: ".") }
    // Names are sorted as bytes, so the order does not depend on the locale.
    names.sort { $0.lexicographicallyPrecedes($1) }
    var (paths, misnamed): ([String], [Diagnostic]) = ([], [])
    for name in names {
      let text = String(decoding: name, as: UTF8.self)
      if suffixes.contains(where: text.hasSuffix) {
        paths.append("\(directory)/\(text)")
      } else if text != "README", !Folder.isLeftover(name) {
        let suffixes = suffixes.joined(separator: " or ")
        misnamed.append(
          Diagnostic(
            .warning, "\(directory)/\(text)", nil, "is not read: its name does not end in \(suffixes)"))
      }
    }
    return (paths, misnamed)
  }
}
