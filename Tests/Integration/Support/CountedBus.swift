// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A daemon with `Tests/Support/AllocationCounter` preloaded. The release daemon links Swift's runtime statically,
/// but not the C library, which makes all allocations.
final class CountedBus {
  private static let windows = 12

  let bus: TestBus
  private let countFile: FileHandle

  /// - Parameter configuration: as set, the bus keeps no ordinary verdicts for `tribunectl log`, which allocates.
  init(configuration: String = "[Log]\nLevel=warning\n") throws {
    let folder = try TestFolder()
    let counter = try PreloadedLibrary("AllocationCounter", in: folder)
    let count = "\(folder.path)/allocations"
    try Data(count: MemoryLayout<UInt64>.size).write(to: URL(fileURLWithPath: count))
    guard let file = FileHandle(forReadingAtPath: count) else {
      throw Programs.Missing(description: "cannot read \(count)")
    }
    countFile = file
    bus = try TestBus(
      configuration: configuration,
      environment: ["LD_PRELOAD": counter.path, "TRIBUNE_ALLOCATION_COUNT": count], folder: folder)
  }

  func allocations() throws -> UInt64 {
    try countFile.seek(toOffset: 0)
    let bytes = try countFile.read(upToCount: MemoryLayout<UInt64>.size) ?? Data()
    return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// `body` must wait until the daemon is done. The minimum of several measurements excludes periodic work, such as
  /// the status line.
  func allocations(in body: () throws -> Void) throws -> UInt64 {
    var least = UInt64.max
    for _ in 0..<Self.windows {
      let before = try allocations()
      try body()
      least = min(least, try allocations() - before)
    }
    return least
  }
}
