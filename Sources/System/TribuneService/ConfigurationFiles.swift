// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

/// Finds and reads the files of a configuration.
package enum ConfigurationFiles {
  /// Where the programs of the system read their configuration.
  package static let systemDirectory = "/etc/tribune"

  package static func exists(_ directory: String) -> Bool { Folder.kind(of: Array(directory.utf8)) != nil }

  /// Loads a directory's configuration again. A directory that is missing now, even the system's, is an error: what it
  /// required would be dropped.
  package static func reload<Settings>(
    _ directory: String, _ load: () -> (Settings, [Diagnostic])
  ) -> (Settings, [Diagnostic]) {
    let isThere = exists(directory)
    let (settings, diagnostics) = load()
    return (settings, isThere ? diagnostics : [Diagnostic(.error, directory, nil, "does not exist")])
  }

  /// The file's bytes; nil if it is longer than 1 MiB.
  package static func contents(of path: String) throws(Errno) -> [UInt8]? {
    // Does not wait for a writer, in case the path is a FIFO.
    try InputFile.contents(of: path, lengthMax: 1 << 20, waits: false)
  }

  /// The file's bytes; nil if it does not exist. A link to a missing file is an error: what it should require would be
  /// missing unnoticed.
  ///
  /// - Throws: why it cannot be read.
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

  /// The files in a directory with this suffix that are not hidden, in the order of their names; none if the directory
  /// does not exist.
  ///
  /// - Throws: why they cannot be found.
  package static func paths(in directory: String, endingIn suffix: String) throws(SettingError) -> [String] {
    let names: [[UInt8]]
    do throws(Errno) {
      names = try Folder.names(in: Array(directory.utf8))
    } catch {
      if error == .noSuchFile && !Folder.isLink(directory) { return [] }
      throw SettingError(message: "cannot be listed: \(error)")
    }
    // The order is that of the bytes, whatever the locale.
    return names.map { String(decoding: $0, as: UTF8.self) }
      .filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".") }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { "\(directory)/\($0)" }
  }
}
