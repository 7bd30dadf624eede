// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The sources under test are symbolic links: compiled here, they are of this package, so that what is
// internal to the bus can be reached, and they carry the fuzzer's counters.
let instrumented: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableExperimentalFeature("Lifetimes"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .unsafeFlags(["-sanitize=fuzzer,address", "-parse-as-library"]),
]

let linked: [LinkerSetting] = [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]

let package = Package(
  name: "tribune-fuzz-testing",
  targets: [
    .systemLibrary(name: "CLibFuzzer"),
    .target(name: "TribuneWire", swiftSettings: instrumented),
    .target(name: "TribuneProtocols", dependencies: ["TribuneWire"], swiftSettings: instrumented),
    .target(
      name: "TribuneCore", dependencies: ["TribuneProtocols", "TribuneWire"], swiftSettings: instrumented),
    .executableTarget(
      name: "FuzzFrames", dependencies: ["CLibFuzzer", "TribuneWire"], swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzNames", dependencies: ["CLibFuzzer", "TribuneWire"], swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzProtocols", dependencies: ["CLibFuzzer", "TribuneProtocols"], swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzBus", dependencies: ["CLibFuzzer", "TribuneCore", "TribuneWire"],
      swiftSettings: instrumented,
      linkerSettings: linked),
  ]
)
