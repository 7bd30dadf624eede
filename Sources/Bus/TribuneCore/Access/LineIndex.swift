// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

/// A hash table that finds the policy lines about a message, among thousands of lines. Each pattern of a line
/// has an entry, whose key is the pattern's tokens before its first star.
///
/// For the name `a.b`, a lookup examines only entries with one of three keys: the empty key, `a` and `a.b`.
struct LineIndex {
  struct Entry {
    fileprivate let hash: UInt64
    fileprivate let pattern: Pattern
    fileprivate let object: ObjectPattern?
    fileprivate(set) var actions: ActionSet
    let isDeny: Bool
    /// The index in the policy of the entry's first line. Allow lines with the same pattern, and without an
    /// object, share one entry.
    let index: Int
  }

  private var entries: [Entry] = []
  private var starts: [Int32]
  private let mask: UInt64

  init(_ lines: [BoundLine]) {
    var all: [Entry] = []
    var allows: [Pattern: Int] = [:]
    for line in lines {
      for pattern in line.names {
        if line.effect == .allow, line.object == nil, let known = allows[pattern] {
          all[known].actions.formUnion(line.actions)
          continue
        }
        if line.effect == .allow, line.object == nil { allows[pattern] = all.count }
        all.append(
          Entry(
            hash: pattern.prefixHash, pattern: pattern, object: line.object, actions: line.actions,
            isDeny: line.effect == .deny, index: line.index))
      }
    }
    var bucketCount = 1
    while bucketCount < 2 * all.count { bucketCount *= 2 }
    mask = UInt64(bucketCount - 1)
    starts = Array(repeating: 0, count: bucketCount + 1)
    for entry in all { starts[Int(entry.hash & mask) + 1] += 1 }
    for bucket in 0..<bucketCount { starts[bucket + 1] += starts[bucket] }
    let mask = mask
    entries = all.sorted { ($0.hash & mask, $0.index) < ($1.hash & mask, $1.index) }
  }

  /// The name and the object must be valid. The object may be empty.
  @inline(__always) func forEach(matching name: RawSpan, _ object: RawSpan, _ body: (Entry) -> Void) {
    if entries.isEmpty { return }
    var hash = TextHash()
    visit(hash.value, name, object, body)
    for offset in 0..<name.byteCount {
      let byte = name.integer(at: offset, as: UInt8.self)
      if byte == UInt8(ascii: ".") { visit(hash.value, name, object, body) }
      hash.add(byte)
    }
    visit(hash.value, name, object, body)
  }

  @inline(__always) private func visit(
    _ hash: UInt64, _ name: RawSpan, _ object: RawSpan, _ body: (Entry) -> Void
  ) {
    let bucket = Int(hash & mask)
    for index in Int(starts[bucket])..<Int(starts[bucket + 1]) where entries[index].hash == hash {
      if entries[index].isAbout(name, object) { body(entries[index]) }
    }
  }
}

extension LineIndex.Entry {
  fileprivate func isAbout(_ name: RawSpan, _ object: RawSpan) -> Bool {
    guard pattern.matches(name) else { return false }
    guard let pattern = self.object else { return true }
    return object.byteCount > 0 && pattern.matches(String(repairing: object))
  }
}

/// An FNV-1a hash. It needs no secret seed, because clients cannot add lines to the policy.
struct TextHash {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  @inline(__always) mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
}

extension Pattern {
  fileprivate var prefixHash: UInt64 {
    var hash = TextHash()
    var isFirst = true
    var isPrefix = true
    forEachToken { token in
      guard isPrefix, case .text(let bytes) = token else {
        isPrefix = false
        return
      }
      if !isFirst { hash.add(UInt8(ascii: ".")) }
      for offset in 0..<bytes.byteCount { hash.add(bytes.integer(at: offset, as: UInt8.self)) }
      isFirst = false
    }
    return hash.value
  }
}
