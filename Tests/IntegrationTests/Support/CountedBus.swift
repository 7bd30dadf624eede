// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A daemon whose heap allocations are counted.
///
/// `Tests/AllocationCounter` is preloaded into it. The release daemon has Swift's runtime in it, but not the C
/// library, from which all of it allocates.
final class CountedBus {
  /// How often allocations are counted for the same.
  private static let windows = 12

  let bus: TestBus
  private let countFile: FileHandle

  init(configuration: String = "") throws {
    let folder = try TestFolder()
    let counter = "\(folder.path)/counter.so"
    let source = Script.repository.appending(path: "Tests/AllocationCounter/AllocationCounter.c").path
    let compiled = try FinishedProgram(["cc", "-O2", "-shared", "-fPIC", "-o", counter, source])
    guard compiled.status == 0 else {
      throw Programs.Missing(description: "cc does not compile \(source): \(compiled.errors)")
    }
    let count = "\(folder.path)/allocations"
    try Data(count: MemoryLayout<UInt64>.size).write(to: URL(fileURLWithPath: count))
    guard let file = FileHandle(forReadingAtPath: count) else {
      throw Programs.Missing(description: "cannot read \(count)")
    }
    countFile = file
    bus = try TestBus(
      configuration: configuration,
      environment: ["LD_PRELOAD": counter, "TRIBUNE_ALLOCATION_COUNT": count], folder: folder)
  }

  /// How often the daemon has allocated.
  func allocations() throws -> UInt64 {
    try countFile.seek(toOffset: 0)
    let bytes = try countFile.read(upToCount: MemoryLayout<UInt64>.size) ?? Data()
    // The machines that this runs on are little-endian.
    return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// How often the daemon allocates for what `body` has it do, which must wait until that is done.
  ///
  /// The fewest of many short times: what the daemon does by the clock, like its status line every few seconds while
  /// something changes, meets some of them and is nobody's message.
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
