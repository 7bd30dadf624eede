// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Tribune

extension UserInfo {
  /// Encodes the value as JSON, without nil members.
  public init(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(try encoder.encode(value))
  }

  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }
}
