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

extension ConfigurationFiles {
  /// Reads NAME, and then NAME.d/*.conf, in a directory. A file that does not exist is none.
  ///
  /// - Parameter take: gets the contents of each file and its path.
  /// - Returns: what could not be read.
  package static func readAll(
    _ name: String, in directory: String, _ take: (_ contents: [UInt8], _ path: String) -> Void
  ) -> [Diagnostic] {
    var diagnostics: [Diagnostic] = []
    let folder = "\(directory)/\(name).d"
    var paths = ["\(directory)/\(name)"]
    do throws(Errno) {
      paths += try Self.paths(in: folder, endingIn: ".conf")
    } catch {
      diagnostics.append(Diagnostic(.error, folder, nil, "cannot be listed: \(error)"))
    }
    for path in paths {
      do throws(Errno) {
        if let contents = try contents(of: path) {
          take(contents, path)
        } else {
          diagnostics.append(Diagnostic(.error, path, nil, "is longer than 1 MiB"))
        }
      } catch  where error == .noSuchFile && !Folder.isLink(path) {
        continue
      } catch {
        diagnostics.append(Diagnostic(.error, path, nil, "cannot be read: \(error)"))
      }
    }
    return diagnostics
  }
}
