// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux

extension Environment {
  /// The variable's value; nil when it is not set or empty.
  package static func nonEmptyValue(of name: String) -> String? {
    guard let value = value(of: name), !value.isEmpty else { return nil }
    return value
  }

  /// All variables, `NAME=value` each.
  package static var entries: [String] {
    var entries: [String] = []
    var entry = unsafe tribune_environment()
    while let text = unsafe entry.pointee {
      unsafe entries.append(String(cString: text))
      unsafe entry += 1
    }
    return entries
  }

  /// All variables, with some set to other values.
  package static func entries(setting variables: [(name: String, value: String)]) -> [String] {
    let kept = entries.filter { entry in
      !variables.contains { entry.hasPrefix("\($0.name)=") }
    }
    return kept + variables.map { "\($0.name)=\($0.value)" }
  }
}
