// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The sources are symbolic links, so this package compiles them: their internals are reachable, and they carry the
// fuzzer's counters.
let instrumented: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableExperimentalFeature("Lifetimes"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  // Also in release builds: cells check for overlapping access, and replays have digests.
  .define("DEBUG"),
  .unsafeFlags(["-sanitize=fuzzer,address", "-parse-as-library"]),
]

let caller: [SwiftSetting] = instrumented + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// As in the daemon, with its internals reachable.
let mainActor: [SwiftSetting] =
  instrumented + [.defaultIsolation(MainActor.self), .unsafeFlags(["-enable-testing"])]

let linked: [LinkerSetting] = [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]

let package = Package(
  name: "tribune-fuzz-testing",
  targets: [
    .systemLibrary(name: "CLibFuzzer"),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CInih", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CNats", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
    .target(name: "CTribuneLinux"),
    .target(name: "TribuneWire", swiftSettings: instrumented),
    .target(name: "TribunePolicy", dependencies: ["TribuneWire"], swiftSettings: instrumented),
    .target(name: "TribuneProtocols", dependencies: ["TribuneWire"], swiftSettings: instrumented),
    .target(
      name: "TribuneCore", dependencies: ["TribunePolicy", "TribuneProtocols", "TribuneWire"],
      swiftSettings: instrumented),
    .target(name: "TribuneJSON", dependencies: ["CJansson", "TribuneWire"], swiftSettings: instrumented),
    .target(
      name: "TribuneSystem", dependencies: ["CTribuneLinux", "TribuneWire"], swiftSettings: instrumented),
    .target(
      name: "TribuneLog", dependencies: ["TribuneSystem", "TribuneWire"],
      swiftSettings: instrumented + [.unsafeFlags(["-enable-testing"])]),
    .target(
      name: "TribuneVarlink", dependencies: ["TribuneJSON", "TribuneWire"], swiftSettings: instrumented),
    .target(
      name: "TribuneService", dependencies: ["CInih", "CSystemd", "TribuneSystem", "TribuneWire"],
      swiftSettings: instrumented),
    .target(
      name: "TribuneServer",
      dependencies: [
        "CSystemd", "CTribuneLinux", "TribuneCore", "TribuneJSON", "TribuneLog", "TribunePolicy",
        "TribuneProtocols", "TribuneService", "TribuneSystem", "TribuneVarlink", "TribuneWire",
      ],
      swiftSettings: mainActor),
    .target(name: "Tribune", dependencies: ["TribuneSystem", "TribuneWire"], swiftSettings: caller),
    .target(
      name: "TribuneHTTP", dependencies: ["CMicrohttpd", "TribuneService", "TribuneSystem", "TribuneWire"],
      swiftSettings: mainActor),
    .target(
      name: "TribuneNATS",
      dependencies: [
        "CNats", "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: mainActor),
    .executableTarget(
      name: "FuzzFrames", dependencies: ["CLibFuzzer", "TribuneWire"], swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzNames", dependencies: ["CLibFuzzer", "TribuneWire"], swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzPolicy", dependencies: ["CLibFuzzer", "TribunePolicy", "TribuneWire"],
      swiftSettings: instrumented, linkerSettings: linked),
    .executableTarget(
      name: "FuzzProtocols", dependencies: ["CLibFuzzer", "TribuneProtocols"], swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzVarlink", dependencies: ["CLibFuzzer", "TribuneJSON", "TribuneVarlink", "TribuneWire"],
      swiftSettings: instrumented, linkerSettings: linked),
    .executableTarget(
      name: "FuzzBus", dependencies: ["CLibFuzzer", "TribuneCore", "TribunePolicy", "TribuneWire"],
      swiftSettings: instrumented,
      linkerSettings: linked),
    .executableTarget(
      name: "FuzzCluster", dependencies: ["CLibFuzzer", "TribuneNATS", "TribuneWire"],
      swiftSettings: instrumented, linkerSettings: linked),
    .executableTarget(
      name: "FuzzLogs",
      dependencies: [
        "CLibFuzzer", "TribuneCore", "TribuneLog", "TribuneServer", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: mainActor, linkerSettings: linked),
  ]
)
