// SPDX-License-Identifier: Apache-2.0

/// Server-sent events for open pages. Each page reads the events after its own cursor, so slow pages need no
/// queues. The feed drops the oldest verdicts beyond a limit.
nonisolated package struct Feed: Sendable {
  package enum Section: String, CaseIterable, Sendable {
    case bus, queries, holds, delegates, connections, history
  }

  package struct Cursor: Sendable {
    fileprivate var isGreeted = false
    fileprivate var nextVerdict: UInt64 = 0
    /// In each round, a page reads the verdicts before `endVerdict`, then each section. Verdicts that come
    /// during a round wait for the next round, so they do not delay the sections.
    fileprivate var endVerdict: UInt64 = 0
    fileprivate var nextSection = 0
    fileprivate var versions: [Section: UInt64] = [:]
    fileprivate var beat: UInt64 = 0

    package init() {}
  }

  package static let verdictsMax = 500
  static let verdictBytesMax = 4 << 20

  private var sections: [Section: (version: UInt64, event: [UInt8])] = [:]
  private var verdicts: [[UInt8]] = []
  private var firstVerdict: UInt64 = 0
  private var verdictBytes = 0
  private var beat: UInt64 = 0

  package init() {}

  @discardableResult
  package mutating func set(_ section: Section, _ json: [UInt8]) -> Bool {
    let event = Self.event(section.rawValue, json)
    let before = sections[section]
    guard before?.event != event else { return false }
    sections[section] = ((before?.version ?? 0) + 1, event)
    return true
  }

  package mutating func addVerdict(_ json: [UInt8]) {
    let event = Self.event("verdict", json)
    verdicts.append(event)
    verdictBytes += event.count
    while verdicts.count > Self.verdictsMax || verdictBytes > Self.verdictBytesMax {
      verdictBytes -= verdicts.removeFirst().count
      firstVerdict += 1
    }
  }

  /// Sends each page a comment line, by which both sides detect a dead connection.
  package mutating func tick() { beat += 1 }

  package func next(_ cursor: inout Cursor) -> [UInt8]? {
    if !cursor.isGreeted {
      cursor.isGreeted = true
      (cursor.nextVerdict, cursor.endVerdict) = (firstVerdict, firstVerdict + UInt64(verdicts.count))
      cursor.beat = beat
      // This event makes the page drop the data of its previous connection.
      return Self.event("hello", Array("{}".utf8))
    }
    if cursor.nextVerdict < firstVerdict {
      defer { cursor.nextVerdict = firstVerdict }
      return Self.event("missed", Array(String(firstVerdict - cursor.nextVerdict).utf8))
    }
    if let event = nextVerdict(&cursor) ?? nextSection(&cursor) { return event }
    (cursor.endVerdict, cursor.nextSection) = (firstVerdict + UInt64(verdicts.count), 0)
    if let event = nextVerdict(&cursor) ?? nextSection(&cursor) { return event }
    defer { cursor.beat = beat }
    return cursor.beat != beat ? Array(":\n\n".utf8) : nil
  }

  private func nextVerdict(_ cursor: inout Cursor) -> [UInt8]? {
    guard cursor.nextVerdict < cursor.endVerdict else { return nil }
    defer { cursor.nextVerdict += 1 }
    return verdicts[Int(cursor.nextVerdict - firstVerdict)]
  }

  private func nextSection(_ cursor: inout Cursor) -> [UInt8]? {
    while cursor.nextSection < Section.allCases.count {
      let section = Section.allCases[cursor.nextSection]
      cursor.nextSection += 1
      guard let latest = sections[section], cursor.versions[section] != latest.version else { continue }
      cursor.versions[section] = latest.version
      return latest.event
    }
    return nil
  }

  /// - Parameter json: must not contain a line feed.
  private static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
  }
}
