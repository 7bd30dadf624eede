// SPDX-License-Identifier: Apache-2.0

package struct ServiceArguments: Equatable, Sendable {
  package enum Action: Equatable, Sendable {
    case serve
    case checkConfiguration
    case help
    case version
  }

  package private(set) var action = Action.serve
  package private(set) var names: Set<String> = []
  private var values: [String: String] = [:]

  package var configurationDirectory: String? { self["--config"] }

  /// - Parameters:
  ///   - flags: the names of options without a value.
  ///   - options: the names of options with a value.
  package init(
    parsing arguments: [String], flags: Set<String> = [], options: Set<String> = []
  ) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      var value = parts.count == 2 ? String(parts[1]) : nil
      let isNew = names.insert(name).inserted
      if name == "--config" || options.contains(name) {
        guard isNew else { throw UsageError(description: "\(name) is given twice") }
        value = value ?? rest.popFirst()
        guard let value, !value.isEmpty else { throw UsageError(description: "\(name) needs a value") }
        values[name] = value
        continue
      }
      switch name {
      case "--check-config": action = .checkConfiguration
      case "--help", "-h": action = .help
      case "--version": action = .version
      default: guard flags.contains(name) else { throw UsageError(unknown: argument) }
      }
      guard value == nil else { throw UsageError(description: "\(name) takes no value") }
    }
  }

  package subscript(_ option: String) -> String? { values[option] }
}
