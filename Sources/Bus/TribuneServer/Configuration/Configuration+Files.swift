// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneProtocols
package import TribuneService
import TribuneSystem

nonisolated extension Configuration {
  /// The default configuration directory of the system's bus.
  package static let systemDirectory = "/etc/tribune"

  /// Reads `tribuned.conf` in `directory`, then `tribuned.conf.d/*.conf` in the order of their names,
  /// `protocols.d/*.protocol`, `policy.d/*.policy` and `policy.d/*.test`. Missing files leave the defaults, but a link to
  /// a missing one is an error: what it should require would be missing unnoticed. A missing directory is a warning,
  /// unless it is the default one.
  ///
  /// - Returns: the configuration, to be used only if no diagnostic is an error; and the diagnostics, in the order of
  ///   files and lines, with those about protocols last.
  package static func load(
    from directory: String, defaults: Configuration = Configuration()
  ) -> (Configuration, [Diagnostic]) {
    var reader = ConfigurationReader(defaults: defaults)
    if directory != systemDirectory, Folder.kind(of: Array(directory.utf8)) == nil {
      reader.report(.warning, directory, nil, "does not exist; the defaults apply")
    }
    reader.readFile("\(directory)/tribuned.conf")
    let dropIns = "\(directory)/tribuned.conf.d"
    do throws(Errno) {
      for path in try ConfigurationFiles.paths(in: dropIns, endingIn: ".conf") { reader.readFile(path) }
    } catch {
      reader.report(.error, dropIns, nil, "cannot be listed: \(error)")
    }
    let protocols = "\(directory)/protocols.d"
    do throws(Errno) {
      for path in try ConfigurationFiles.paths(in: protocols, endingIn: ".protocol") {
        reader.readProtocols(path)
      }
    } catch {
      reader.report(.mistake, protocols, nil, "cannot be listed: \(error)")
    }
    let policies = "\(directory)/policy.d"
    do throws(Errno) {
      for path in try ConfigurationFiles.paths(in: policies, endingIn: ".policy") { reader.readPolicy(path) }
      for path in try ConfigurationFiles.paths(in: policies, endingIn: ".test") {
        reader.readPolicyTests(path)
      }
    } catch {
      reader.report(.error, policies, nil, "cannot be listed: \(error)")
    }
    return reader.finish()
  }
}

nonisolated extension ConfigurationReader {
  fileprivate mutating func readFile(_ path: String) {
    guard Folder.kind(of: Array(path.utf8)) != .pipe else {
      return report(.error, path, nil, "cannot be read: it is a pipe")
    }
    do {
      guard let contents = try ConfigurationFiles.contents(of: path) else {
        report(.error, path, nil, "is longer than 1 MiB")
        return
      }
      read(contents, file: path)
    } catch  where error == .noSuchFile && !Folder.isLink(path) {
      return
    } catch {
      report(.error, path, nil, "cannot be read: \(error)")
    }
  }

  fileprivate mutating func readPolicy(_ path: String) {
    if let contents = policyContents(of: path) { read(policy: contents, file: path) }
  }

  fileprivate mutating func readPolicyTests(_ path: String) {
    if let contents = policyContents(of: path) { read(policyTests: contents, file: path) }
  }

  /// The contents; nil after a mistake. A policy that lacks a file could allow what the file denies.
  private mutating func policyContents(of path: String) -> [UInt8]? {
    guard Folder.kind(of: Array(path.utf8)) != .pipe else {
      report(.error, path, nil, "cannot be read: it is a pipe")
      return nil
    }
    do throws(Errno) {
      if let contents = try ConfigurationFiles.contents(of: path) { return contents }
      report(.error, path, nil, "is longer than 1 MiB")
    } catch {
      report(.error, path, nil, "cannot be read: \(error)")
    }
    return nil
  }

  fileprivate mutating func readProtocols(_ path: String) {
    do throws(Errno) {
      if let text = try ConfigurationFiles.contents(of: path) {
        read(ProtocolSource(file: path, text: text))
      } else {
        report(.mistake, path, nil, "is longer than 1 MiB")
      }
    } catch {
      report(.mistake, path, nil, "cannot be read: \(error)")
    }
  }
}
