// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

/// Finds and reads the files of a configuration.
package enum ConfigurationFiles {
  /// The file's bytes; nil if it is longer than 1 MiB.
  package static func contents(of path: String) throws(Errno) -> [UInt8]? {
    // Does not wait for a writer, in case the path is a FIFO.
    try InputFile.contents(of: path, lengthMax: 1 << 20, waits: false)
  }

  /// The files in a directory with this suffix that are not hidden, in the order of their names; none if the directory
  /// does not exist.
  package static func paths(in directory: String, endingIn suffix: String) throws(Errno) -> [String] {
    let names: [[UInt8]]
    do throws(Errno) {
      names = try Folder.names(in: Array(directory.utf8))
    } catch  where error == .noSuchFile && !Folder.isLink(directory) {
      return []
    }
    // The order is that of the bytes, whatever the locale.
    return names.map { String(decoding: $0, as: UTF8.self) }
      .filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".") }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { "\(directory)/\($0)" }
  }
}
