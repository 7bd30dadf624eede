// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Tribune

extension UserInfo {
  /// The value as JSON, a nil member left out.
  public init(json value: some Encodable) throws {
    self.init(try JSONEncoder().encode(value))
  }

  /// What the JSON says.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }
}
