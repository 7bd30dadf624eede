// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem
import TribuneWire

extension RawClient {
  /// Has so many notifications retained, whose objects are the numbers from 0 on.
  func retain(_ count: Int, as name: String, text: String) throws {
    for number in 0..<count {
      try sendConfirmed(Post(options: .retain), serial: 1, name: name, object: "\(number)", text: text)
    }
  }

  /// Has a notification retained whose userInfo is a file.
  func retainFile(
    _ file: borrowing FileDescriptor, length: Int, as name: String, object: String = "", serial: Serial
  ) throws {
    try post(
      name, object: object, options: .retain, file: file, length: length, serial: serial, flags: .acknowledge)
    _ = try next(.ok)
  }

  /// Observes a name, and returns the objects of its retained notifications.
  func retainedObjects(of name: String) throws -> [String] {
    try send(Observe(options: .retained), serial: 1, name: name)
    var objects: [String] = []
    while case let frame = try next(), frame.kind == .retained { objects.append(frame.object) }
    return objects
  }

  /// Observes a name, and expects a retained notification with this userInfo.
  func expectRetained(_ contents: [UInt8], under name: String, serial: Serial) throws {
    try send(Observe(options: .retained), serial: serial, name: name)
    #expect(try next(.retained).payloadBytes == contents)
  }
}
