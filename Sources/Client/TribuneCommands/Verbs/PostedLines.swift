// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneSystem
import TribuneWire

/// `post NAME --lines`: a notification for each line of standard input.
///
/// Each piece of input is one batch. Before this type reads the next piece, the bus must confirm the batch's
/// last post. So a refusal ends the command, and a fast writer waits for the bus.
struct PostedLines: Sendable {
  let name: String
  let object: String
  let options: Tribune.PostOptions
  let areTexts: Bool
  let pace: Tribune.Pace

  private static let readLength = 65_536

  func run(in context: Context) async throws(CommandError) {
    let connection = try await orEnd { () async throws(TribuneError) -> Connection in
      try await context.connect(pace: pace)
    }
    let limit = connection.bus.payloadMax
    // The buffer keeps one byte more than the limit, which shows that a line is too long.
    var buffer = LineBuffer(limit: limit + 1)
    var count = 0
    while true {
      let bytes: [UInt8]
      do throws(Errno) {
        bytes = try await StandardInput.read(atMost: Self.readLength)
      } catch {
        throw .failure("standard input cannot be read: \(error)")
      }
      let lines = bytes.isEmpty ? buffer.finish().map { [$0] } ?? [] : buffer.append(bytes)
      let (userInfos, flaw) = Self.userInfos(of: lines, asTexts: areTexts, behind: count, upTo: limit)
      try await post(userInfos, behind: count, over: connection)
      if let flaw { throw flaw }
      if bytes.isEmpty { return }
      count += lines.count
    }
  }

  /// Returns the userInfo of each line before the first invalid line, and the flaw of this line.
  ///
  /// - Parameter count: the number of lines in earlier pieces.
  static func userInfos(
    of lines: [[UInt8]], asTexts areTexts: Bool = false, behind count: Int, upTo limit: Int
  ) -> ([UserInfo], flaw: CommandError?) {
    var userInfos: [UserInfo] = []
    for line in lines {
      let number = count + userInfos.count + 1
      guard line.count <= limit else {
        return (userInfos, .usage("line \(number) is longer than the bus's limit of \(limit) bytes"))
      }
      if areTexts {
        guard let json = Invocation.json(ofText: line) else {
          return (userInfos, .usage("line \(number) is not UTF-8"))
        }
        userInfos.append(json)
        continue
      }
      do {
        userInfos.append(UserInfo(try JSONText(line).bytes))
      } catch {
        return (
          userInfos, .usage("line \(number) is not JSON: column \(error.column): \(error.reason)")
        )
      }
    }
    return (userInfos, nil)
  }

  private func post(
    _ userInfos: [UserInfo], behind count: Int, over connection: Connection
  ) async throws(CommandError) {
    for (index, userInfo) in userInfos.enumerated() {
      do throws(TribuneError) {
        if isConfirmed(userInfo) || index == userInfos.count - 1 {
          try await connection.postAcknowledged(name, object: object, userInfo: userInfo, options: options)
        } else {
          try await connection.post(name, object: object, userInfo: userInfo, options: options)
        }
      } catch {
        throw .failure("line \(count + index + 1): \(error.message.terminalSafe)")
      }
    }
  }

  /// True if the command waits for the bus to confirm this post, as for the batch's last post. The bus can
  /// refuse this post and still accept the last one: users have quotas of retained data and of files, and an
  /// object can have a protocol.
  private func isConfirmed(_ userInfo: UserInfo) -> Bool {
    options.isRetained || !object.isEmpty || userInfo.count >= WireLimits.descriptorPayloadLength
  }
}

struct LineBuffer: Sendable {
  /// The most bytes of a line that are kept. The rest of the line is dropped.
  private let limit: Int
  private var partial: [UInt8]?

  init(limit: Int) { self.limit = limit }

  /// Returns the lines that the piece completes, without their line feeds.
  mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      extend(by: rest[..<end])
      lines.append(finish() ?? [])
      rest = rest[(end + 1)...]
    }
    if !rest.isEmpty { extend(by: rest) }
    return lines
  }

  private mutating func extend(by bytes: ArraySlice<UInt8>) {
    var line = partial ?? []
    // `partial` must not refer to the array, because the append would then copy it.
    partial = nil
    line += bytes.prefix(limit - line.count)
    partial = line
  }

  mutating func finish() -> [UInt8]? {
    defer { partial = nil }
    return partial
  }
}
