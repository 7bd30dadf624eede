// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

extension RawClient {
  func retain(_ count: Int, as name: String, text: String) throws {
    for number in 0..<count {
      try sendConfirmed(Post(options: .retain), serial: 1, name: name, object: "\(number)", text: text)
    }
  }

  func retainFile(
    _ file: borrowing FileDescriptor, length: Int, as name: String, object: String = "", serial: Serial
  ) throws {
    try post(
      name, object: object, options: .retain, file: file, length: length, serial: serial, flags: .acknowledge)
    _ = try next(.ok)
  }

  func retainedObjects(of name: String) throws -> [String] {
    try send(Observe(options: .retained), serial: 1, name: name)
    let count = try next(.ok).decode(Okay.self).retained
    return try (0..<count).map { _ in try next(.retained).object }
  }

  func expectRetained(_ contents: [UInt8], under name: String, serial: Serial) throws {
    try send(Observe(options: .retained), serial: serial, name: name)
    #expect(try next(.retained).payloadBytes == contents)
  }
}
