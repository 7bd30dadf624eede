// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Tribune

extension UserInfo {
  /// The value as JSON, its members by name; a nil member is left out.
  public init(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(try encoder.encode(value))
  }

  /// What the JSON says.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }
}
