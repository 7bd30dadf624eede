// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

nonisolated extension Configuration {
  /// Where the system's bus finds its configuration unless it is told otherwise.
  package static let systemDirectory = "/etc/tribune"

  /// Reads `tribuned.conf` in `directory`, then `tribuned.conf.d/*.conf` in the order of their names.
  /// What is not there leaves the defaults.
  ///
  /// - Returns: the configuration, which is to be used only if no diagnostic is an error, and what is to be
  ///   said about the files, in the order of files and lines.
  package static func load(
    from directory: String, defaults: Configuration = Configuration()
  ) -> (Configuration, [Diagnostic]) {
    var reader = ConfigurationReader(defaults: defaults)
    reader.readFile("\(directory)/tribuned.conf")
    let dropIns = "\(directory)/tribuned.conf.d"
    do {
      for name in try ConfigurationFiles.names(in: dropIns).sorted(by: Self.precedes)
      where name.hasSuffix(".conf") && !name.hasPrefix(".") {
        reader.readFile("\(dropIns)/\(name)")
      }
    } catch {
      reader.failed(dropIns, "cannot be listed: \(error)")
    }
    return reader.finish()
  }

  /// Byte by byte, whatever the locale.
  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }
}

nonisolated extension ConfigurationReader {
  fileprivate mutating func readFile(_ path: String) {
    do {
      guard let contents = try ConfigurationFiles.contents(of: path) else {
        failed(path, "is longer than 1 MiB")
        return
      }
      read(contents, file: path)
    } catch  where error == .noSuchFile {
      return
    } catch {
      failed(path, "cannot be read: \(error)")
    }
  }
}
