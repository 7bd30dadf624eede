// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneServer
import TribuneTestSupport
import TribuneWire

@Suite("The messages between a bus and its keeper")
struct KeeperMessageTests {
  static let kinds: [KeptItem.Kind] = [.log, .connection, .file, .listener, .lease]
  static let items = (0..<KeeperMessage.itemsMax).map {
    KeptItem(kinds[$0 % kinds.count], UInt64($0) << 32 | 1)
  }

  static let all: [KeeperMessage] = [
    .attach(.begin), .attach(.resume(log: 0)), .attach(.resume(log: .max)), .batch([]), .batch(items),
    .forget([]), .forget(items), .acknowledged(count: 0), .acknowledged(count: 253), .end(count: 0),
    .end(count: Int(UInt32.max)), .leaving, .finished, .refusal(""), .refusal("nö"),
  ]

  private static func bytes(_ message: KeeperMessage) -> [UInt8] {
    let buffer = ByteBuffer(capacity: KeeperMessage.lengthMax)
    message.append(to: buffer)
    return buffer.array
  }

  @Test(
    "a message is read as it was written, fits into a packet, and has no more descriptors than items",
    arguments: all)
  func roundTrip(_ message: KeeperMessage) throws {
    let bytes = Self.bytes(message)
    #expect(bytes.count <= KeeperMessage.lengthMax)
    var count = 0
    if case .batch(let items) = message { count = items.count }
    for given in [0, count] { #expect(try KeeperMessage(bytes.raw, descriptorCount: given) == message) }
    let tooMany = count + 1
    let code = refusal { () throws(WireError) in _ = try KeeperMessage(bytes.raw, descriptorCount: tooMany) }
    #expect(code == .malformedFrame)
  }

  @Test("a message has the layout that is documented")
  func layout() {
    #expect(Self.bytes(.finished) == [0, 0, 0, 0, 7, 0, 0, 0])
    #expect(
      Self.bytes(.attach(.resume(log: 0x0102)))
        == [10, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0])
    #expect(
      Self.bytes(.batch([.connection(5)]))
        == [13, 0, 0, 0, 2, 1, 0, 0, 9, 0, 0, 0, 2, 5, 0, 0, 0, 0, 0, 0, 0])
  }

  @Test("fields that a newer version adds to an item are ignored")
  func newerRecord() throws {
    let bytes: [UInt8] = [14, 0, 0, 0, 2, 1, 0, 0, 10, 0, 0, 0, 2, 5, 0, 0, 0, 0, 0, 0, 0, 99]
    #expect(try KeeperMessage(bytes.raw, descriptorCount: 1) == .batch([.connection(5)]))
  }

  @Test("a reason that is too long is truncated, and its message stays valid")
  func longReason() throws {
    let bytes = Self.bytes(.refusal(String(repeating: "ö", count: 10_000)))
    #expect(try KeeperMessage(bytes.raw, descriptorCount: 0) == .refusal(String(repeating: "ö", count: 2048)))
  }

  @Test(
    "malformed messages are refused",
    arguments: [
      // No head; a wrong length; unknown kinds; a descriptor count in a message without any.
      ([], .malformedFrame), ([0, 0, 0], .malformedFrame), ([0, 0, 0, 0, 7, 0, 0], .malformedFrame),
      ([1, 0, 0, 0, 7, 0, 0, 0], .malformedFrame), ([0, 0, 0, 0, 7, 0, 0, 0, 1], .malformedFrame),
      ([0xFF, 0xFF, 0xFF, 0xFF, 7, 0, 0, 0], .malformedFrame), ([0, 0, 0, 0, 0, 0, 0, 0], .invalidValue),
      ([0, 0, 0, 0, 9, 0, 0, 0], .invalidValue), ([0, 0, 0, 0, 6, 1, 0, 0], .malformedFrame),
      // Bodies that end early.
      ([1, 0, 0, 0, 1, 0, 0, 0, 1], .malformedFrame), ([0, 0, 0, 0, 2, 1, 0, 0], .malformedFrame),
      ([1, 0, 0, 0, 3, 0, 0, 0, 1], .malformedFrame), ([0, 0, 0, 0, 4, 0, 0, 0], .malformedFrame),
      ([2, 0, 0, 0, 8, 0, 0, 0, 9, 0], .malformedFrame),
      // An unknown version; an unknown way to attach.
      ([10, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0], .unsupportedVersion),
      ([10, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0], .invalidValue),
      // Items without a length, with a wrong length, of an unknown kind.
      ([4, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0], .malformedFrame),
      ([5, 0, 0, 0, 2, 1, 0, 0, 9, 0, 0, 0, 1], .malformedFrame),
      ([13, 0, 0, 0, 2, 1, 0, 0, 9, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], .invalidValue),
    ] as [([UInt8], ErrorCode)])
  func malformed(_ bytes: [UInt8], _ code: ErrorCode) {
    let refused = refusal { () throws(WireError) in _ = try KeeperMessage(bytes.raw, descriptorCount: 0) }
    #expect(refused == code)
  }

  @Test(
    "a damaged message is refused, or read as one that can be written and read again", arguments: Seeds.all)
  func damaged(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for message in Self.all {
      for _ in 0..<30 {
        var bytes = Self.bytes(message)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
        }
        do throws(WireError) {
          let read = try KeeperMessage(bytes.raw, descriptorCount: 0)
          let readAgain = try KeeperMessage(Self.bytes(read).raw, descriptorCount: 0)
          #expect(readAgain == read)
        } catch {
          #expect([.malformedFrame, .invalidValue, .unsupportedVersion].contains(error.code))
        }
      }
    }
  }
}
