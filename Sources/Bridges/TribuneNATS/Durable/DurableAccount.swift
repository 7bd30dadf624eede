// SPDX-License-Identifier: Apache-2.0

import TribuneService
import TribuneSystem
import TribuneWire

/// This host's record, in a file, of the messages that have arrived from the durable stream. By this account,
/// the gateway finds duplicates and gaps. A sending host numbers its messages by an `ExportCounter`, which
/// has a new instance after a restart or a gap of unknown size. The account compares these numbers, because a
/// NATS server that was killed may use the stream's own numbers again. Of those, it has only `position`,
/// which tells where a new consumer begins.
nonisolated struct DurableAccount: Equatable, Sendable {
  static let hostsMax = 64
  /// How many instances (`ExportCounter.instance`) of each host the account remembers.
  static let instancesMax = 4
  private static let fileLengthMax = 64 << 10
  private static let forgotten = "forgotten"

  enum Arrival: Equatable, Sendable {
    case new(lost: UInt64)
    case newAfterGap
    case stale
  }

  struct Position: Equatable, Sendable {
    /// When the stream was created, in nanoseconds since 1970; differs between streams of the same name.
    var created: Int64
    /// The number of the last acknowledged message in the stream; 0 for none.
    var sequence: UInt64
  }

  private struct Origin: Equatable {
    var host: String
    var instance: Instance
    var last: UInt64
  }

  var position: Position?
  /// The senders' instances, in the order in which their first messages arrived.
  private var origins: [Origin] = []
  /// True once the account has forgotten a host. From then on, an unknown host may be a forgotten one, and
  /// its first message may follow a gap.
  private var hasForgotten = false

  init() {}

  var isEmpty: Bool { position == nil && origins.isEmpty }

  /// Returns the number of the first message to read from the stream that was created at this time; 1 if the
  /// account is of another stream.
  func start(in created: Int64) -> UInt64 {
    guard let position, position.created == created else { return 1 }
    return position.sequence + 1
  }

  mutating func record(_ number: UInt64, from host: String, _ instance: Instance) -> Arrival {
    if let known = origins.firstIndex(where: { $0.instance == instance && $0.host == host }) {
      let last = origins[known].last
      guard number > last else { return .stale }
      origins[known].last = number
      return .new(lost: number - last - 1)
    }
    let mayHaveGap = hasForgotten || origins.contains { $0.host == host }
    add(Origin(host: host, instance: instance, last: number))
    return mayHaveGap ? .newAfterGap : .new(lost: 0)
  }

  private mutating func add(_ origin: Origin) {
    let former = origins.indices.filter { origins[$0].host == origin.host }
    if former.count >= Self.instancesMax { origins.remove(at: former[0]) }
    if former.isEmpty, let oldest = origins.first, Set(origins.map(\.host)).count >= Self.hostsMax {
      origins.removeAll { $0.host == oldest.host }
      hasForgotten = true
    }
    origins.append(origin)
  }

  // MARK: The file

  init?(_ text: String) {
    for line in text.split(separator: "\n") {
      guard line != Self.forgotten else {
        hasForgotten = true
        continue
      }
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      if isEmpty, words.count == 2, let created = Int64(words[0]), let sequence = UInt64(words[1]),
        sequence < .max
      {
        position = Position(created: created, sequence: sequence)
        continue
      }
      guard words.count == 3, Subjects.isToken(words[0]), let instance = Instance(String(words[1])),
        let last = UInt64(words[2]), origins.count < Self.hostsMax * Self.instancesMax
      else { return nil }
      origins.append(Origin(host: String(words[0]), instance: instance, last: last))
    }
  }

  var text: String {
    let first = position.map { "\($0.created) \($0.sequence)\n" } ?? ""
    return first + origins.map { "\($0.host) \($0.instance.text) \($0.last)\n" }.joined()
      + (hasForgotten ? "\(Self.forgotten)\n" : "")
  }

  static func path(cluster: String) -> String? {
    Environment.nonEmptyValue(of: "STATE_DIRECTORY").map { "\($0)/durable-\(cluster)" }
  }

  static func load(from path: String) -> DurableAccount? {
    do throws(Errno) {
      let bytes = try InputFile.contents(of: path, lengthMax: fileLengthMax, waits: false) ?? []
      // A crash of the host can leave the file empty.
      if let account = DurableAccount(String(decoding: bytes, as: UTF8.self)), !account.isEmpty {
        return account
      }
      ServiceLog.warning("\(path) does not say which durable notifications have come in")
    } catch {
      if error == .noSuchFile { return nil }
      ServiceLog.warning("cannot read \(path): \(error)")
    }
    return nil
  }

  func store(to path: String) throws(Errno) { try StateFile.write(Array(text.utf8), to: path) }
}
