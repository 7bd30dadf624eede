// SPDX-License-Identifier: Apache-2.0

/// A random number generator. The seed that a failing test prints replays it anywhere.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True with a probability of one in `count`.
  package mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  package mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
    // Small numbers and the ends of the range find more mistakes than the middle does.
    switch Int.random(in: 0..<4, using: &self) {
    case 0: T(truncatingIfNeeded: next() % 4)
    case 1: oneIn(2) ? .max : .min
    default: T(truncatingIfNeeded: next())
    }
  }

  /// Any text.
  package mutating func text(lengthMax: Int = 40) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...lengthMax, using: &self) {
      let ranges: [ClosedRange<UInt32>] = [
        0x20...0x7E, 0...0x1F, 0x80...0x7FF, 0x800...0xD7FF, 0x1_0000...0x10_FFFF,
      ]
      let range = ranges[oneIn(2) ? 0 : Int.random(in: 0..<ranges.count, using: &self)]
      guard let scalar = Unicode.Scalar(UInt32.random(in: range, using: &self)) else { continue }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  package mutating func bytes(countMax: Int) -> [UInt8] {
    (0..<Int.random(in: 0...countMax, using: &self)).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
