// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// What every target is held to.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableExperimentalFeature("Lifetimes"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

/// The client library's calls run where their caller runs: nothing hops to another thread on its way out.
let caller: [SwiftSetting] = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// The daemon has one thread and one isolation (docs/ARCHITECTURE.md).
let mainActor: [SwiftSetting] = strict + [.defaultIsolation(MainActor.self)]

let package = Package(
  name: "tribune",
  products: [
    .library(name: "Tribune", targets: ["Tribune"]),
    .executable(name: "tribuned", targets: ["tribuned"]),
    .executable(name: "tribunectl", targets: ["tribunectl"]),
    .executable(name: "tribune-logind", targets: ["tribune-logind"]),
    .executable(name: "tribune-web", targets: ["tribune-web"]),
    .executable(name: "tribune-nats", targets: ["tribune-nats"]),
  ],
  targets: [
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CSystemdBus", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CInih", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CNats", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
    .target(name: "CTribuneLinux"),
    .target(name: "TribuneWire", swiftSettings: strict),
    .target(name: "TribunePolicy", dependencies: ["TribuneWire"], swiftSettings: strict),
    .target(name: "TribuneProtocols", dependencies: ["TribuneWire"], swiftSettings: strict),
    .target(name: "TribuneJSON", dependencies: ["CJansson", "TribuneWire"], swiftSettings: strict),
    .target(
      name: "TribuneCore", dependencies: ["TribunePolicy", "TribuneProtocols", "TribuneWire"],
      swiftSettings: strict),
    .target(name: "TribuneSystem", dependencies: ["CTribuneLinux", "TribuneWire"], swiftSettings: strict),
    .target(name: "TribuneLog", dependencies: ["TribuneSystem", "TribuneWire"], swiftSettings: strict),
    .target(name: "TribuneVarlink", dependencies: ["TribuneJSON", "TribuneWire"], swiftSettings: strict),
    .target(
      name: "TribuneService", dependencies: ["CInih", "CSystemd", "TribuneSystem", "TribuneWire"],
      swiftSettings: strict),
    .target(
      name: "TribuneServer",
      dependencies: [
        "CSystemd", "CTribuneLinux", "TribuneCore", "TribuneJSON", "TribuneLog", "TribunePolicy",
        "TribuneProtocols", "TribuneService", "TribuneSystem", "TribuneVarlink", "TribuneWire",
      ],
      swiftSettings: mainActor),
    .target(name: "Tribune", dependencies: ["TribuneSystem", "TribuneWire"], swiftSettings: caller),
    .target(
      name: "TribuneLogind",
      dependencies: [
        "CSystemdBus", "Tribune", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: mainActor),
    .target(
      name: "TribuneHTTP", dependencies: ["CMicrohttpd", "TribuneService", "TribuneSystem", "TribuneWire"],
      swiftSettings: mainActor),
    .target(
      name: "TribuneWeb",
      dependencies: [
        "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: mainActor),
    .target(
      name: "TribuneNATS",
      dependencies: [
        "CNats", "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: mainActor),
    .target(
      name: "TribuneCommands",
      dependencies: [
        "Tribune", "TribuneJSON", "TribunePolicy", "TribuneProtocols", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "tribuned", dependencies: ["TribuneServer", "TribuneSystem"], swiftSettings: mainActor),
    .executableTarget(
      name: "tribunectl", dependencies: ["TribuneCommands", "TribuneSystem"], swiftSettings: strict),
    .executableTarget(
      name: "tribune-logind", dependencies: ["TribuneLogind", "TribuneSystem"], swiftSettings: mainActor),
    .executableTarget(
      name: "tribune-web", dependencies: ["TribuneSystem", "TribuneWeb"], swiftSettings: mainActor),
    .executableTarget(
      name: "tribune-nats", dependencies: ["TribuneNATS", "TribuneSystem"], swiftSettings: mainActor),
    .executableTarget(
      name: "manual", dependencies: ["TribuneCommands", "TribuneSystem", "TribuneWire"], swiftSettings: strict
    ),
    .executableTarget(name: "wiregen", swiftSettings: strict),
    .target(
      name: "TribuneTestSupport", dependencies: ["CTribuneLinux", "TribuneSystem", "TribuneWire"],
      path: "Tests/TribuneTestSupport", swiftSettings: strict),
    .executableTarget(
      name: "crowd", dependencies: ["Tribune", "TribuneTestSupport"], path: "Tests/Crowd",
      swiftSettings: strict),
    .target(name: "CStoreWatch", path: "Tests/CStoreWatch"),
    .target(name: "CThreadUser", path: "Tests/CThreadUser"),
    .target(
      name: "CSimulatedKernel", dependencies: ["CStoreWatch", "CTribuneLinux"], path: "Tests/CSimulatedKernel"
    ),
    .executableTarget(
      name: "simulate",
      dependencies: [
        "CSimulatedKernel", "TribuneCore", "TribunePolicy", "TribuneServer", "TribuneSystem",
        "TribuneTestSupport", "TribuneWire",
      ],
      path: "Tests/Simulation", exclude: ["Seeds"], swiftSettings: mainActor),
    .testTarget(
      name: "TribuneWireTests", dependencies: ["TribuneTestSupport", "TribuneWire"], exclude: ["Vectors"],
      swiftSettings: strict),
    .testTarget(name: "wiregenTests", dependencies: ["wiregen"], swiftSettings: strict),
    .testTarget(
      name: "TribuneProtocolsTests", dependencies: ["TribuneProtocols", "TribuneWire"], swiftSettings: strict),
    .testTarget(
      name: "TribuneJSONTests", dependencies: ["TribuneJSON", "TribuneWire"], swiftSettings: strict),
    .testTarget(
      name: "TribuneVarlinkTests", dependencies: ["TribuneJSON", "TribuneVarlink", "TribuneWire"],
      swiftSettings: strict),
    .testTarget(
      name: "TribuneSystemTests",
      dependencies: ["CTribuneLinux", "TribuneSystem", "TribuneTestSupport", "TribuneWire"],
      swiftSettings: strict),
    .testTarget(
      name: "TribuneLogTests",
      dependencies: [
        "CStoreWatch", "CTribuneLinux", "TribuneLog", "TribuneSystem", "TribuneTestSupport", "TribuneWire",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TribuneCoreTests",
      dependencies: [
        "TribuneCore", "TribunePolicy", "TribuneProtocols", "TribuneTestSupport", "TribuneWire",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TribunePolicyTests", dependencies: ["TribunePolicy", "TribuneTestSupport", "TribuneWire"],
      swiftSettings: strict),
    .testTarget(name: "TribuneServiceTests", dependencies: ["TribuneService"], swiftSettings: strict),
    .testTarget(
      name: "TribuneLogindTests",
      dependencies: ["TribuneJSON", "TribuneLogind", "TribuneService", "TribuneTestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TribuneHTTPTests", dependencies: ["TribuneHTTP", "TribuneService"], swiftSettings: strict),
    .testTarget(
      name: "TribuneWebTests",
      dependencies: [
        "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneTestSupport", "TribuneWeb",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TribuneNATSTests",
      dependencies: [
        "Tribune", "TribuneHTTP", "TribuneNATS", "TribuneService", "TribuneSystem", "TribuneTestSupport",
        "TribuneWire",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "CThreadUser", "CTribuneLinux", "Tribune", "TribuneCommands", "TribuneLog", "TribunePolicy",
        "TribuneServer", "TribuneSystem", "TribuneTestSupport", "TribuneWire",
      ],
      exclude: ["Restarting/States"], swiftSettings: strict),
    .testTarget(
      name: "TribuneTests",
      dependencies: ["CTribuneLinux", "Tribune", "TribuneSystem", "TribuneTestSupport", "TribuneWire"],
      swiftSettings: caller),
    .testTarget(
      name: "TribuneCommandsTests",
      dependencies: [
        "Tribune", "TribuneCommands", "TribuneJSON", "TribuneProtocols", "TribuneSystem", "TribuneWire",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TribuneServerTests",
      dependencies: [
        "CStoreWatch", "CTribuneLinux", "TribuneCore", "TribuneLog", "TribunePolicy", "TribuneProtocols",
        "TribuneServer", "TribuneService", "TribuneSystem", "TribuneTestSupport", "TribuneWire",
      ],
      swiftSettings: strict),
  ]
)
