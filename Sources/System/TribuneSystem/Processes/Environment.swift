// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

package enum Environment {
  package static func value(of name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  package static func nonEmptyValue(of name: String) -> String? {
    guard let value = value(of: name), !value.isEmpty else { return nil }
    return value
  }

  package static func fileExists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  package static func fileIsOwn(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_uid == geteuid()
  }

  /// The program's arguments as raw bytes, because a file's name need not be text.
  package static var arguments: [[UInt8]] { unsafe bytes(of: tribune_arguments()) }

  /// The environment's variables, each as `NAME=value`.
  package static var entries: [[UInt8]] { unsafe bytes(of: tribune_environment()) }

  package static func entries(setting variables: [(name: String, value: String)]) -> [[UInt8]] {
    let kept = entries.filter { entry in
      !variables.contains { entry.starts(with: "\($0.name)=".utf8) }
    }
    return kept + variables.map { Array("\($0.name)=\($0.value)".utf8) }
  }

  private static func bytes(of list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> [[UInt8]] {
    var strings: [[UInt8]] = []
    var next = unsafe list
    while let string = unsafe next.pointee {
      unsafe strings.append(Array(UnsafeRawBufferPointer(start: string, count: strlen(string))))
      unsafe next += 1
    }
    return strings
  }
}
