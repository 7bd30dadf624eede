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
    .systemLibrary(
      name: "CSystemd", path: "Sources/System/CSystemd", pkgConfig: "libsystemd",
      providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(
      name: "CSystemdBus", path: "Sources/System/CSystemdBus", pkgConfig: "libsystemd",
      providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(
      name: "CInih", path: "Sources/System/CInih", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),
    .systemLibrary(
      name: "CJansson", path: "Sources/System/CJansson", pkgConfig: "jansson",
      providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(
      name: "CMicrohttpd", path: "Sources/System/CMicrohttpd", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(
      name: "CNats", path: "Sources/System/CNats", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
    .target(name: "CTribuneLinux", path: "Sources/System/CTribuneLinux"),
    .target(name: "TribuneWire", path: "Sources/Bus/TribuneWire", swiftSettings: strict),
    .target(
      name: "TribunePolicy", dependencies: ["TribuneWire"], path: "Sources/Bus/TribunePolicy",
      swiftSettings: strict),
    .target(
      name: "TribuneProtocols", dependencies: ["TribuneWire"], path: "Sources/Bus/TribuneProtocols",
      swiftSettings: strict),
    .target(
      name: "TribuneJSON", dependencies: ["CJansson", "TribuneWire"], path: "Sources/System/TribuneJSON",
      swiftSettings: strict),
    .target(
      name: "TribuneCore", dependencies: ["TribunePolicy", "TribuneProtocols", "TribuneWire"],
      path: "Sources/Bus/TribuneCore",
      swiftSettings: strict),
    .target(
      name: "TribuneSystem", dependencies: ["CTribuneLinux", "TribuneWire"],
      path: "Sources/System/TribuneSystem", swiftSettings: strict),
    .target(
      name: "TribuneLog", dependencies: ["TribuneSystem", "TribuneWire"], path: "Sources/Bus/TribuneLog",
      swiftSettings: strict),
    .target(
      name: "TribuneVarlink", dependencies: ["TribuneJSON", "TribuneWire"],
      path: "Sources/Bus/TribuneVarlink", swiftSettings: strict),
    .target(
      name: "TribuneService", dependencies: ["CInih", "CSystemd", "TribuneSystem", "TribuneWire"],
      path: "Sources/System/TribuneService",
      swiftSettings: strict),
    .target(
      name: "TribuneServer",
      dependencies: [
        "CSystemd", "CTribuneLinux", "TribuneCore", "TribuneJSON", "TribuneLog", "TribunePolicy",
        "TribuneProtocols", "TribuneService", "TribuneSystem", "TribuneVarlink", "TribuneWire",
      ], path: "Sources/Bus/TribuneServer",
      swiftSettings: mainActor),
    .target(
      name: "Tribune", dependencies: ["TribuneSystem", "TribuneWire"], path: "Sources/Client/Tribune",
      swiftSettings: caller),
    .target(
      name: "TribuneLogind",
      dependencies: [
        "CSystemdBus", "Tribune", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ], path: "Sources/Bridges/TribuneLogind",
      swiftSettings: mainActor),
    .target(
      name: "TribuneHTTP", dependencies: ["CMicrohttpd", "TribuneService", "TribuneSystem", "TribuneWire"],
      path: "Sources/Bridges/TribuneHTTP",
      swiftSettings: mainActor),
    .target(
      name: "TribuneWeb",
      dependencies: [
        "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ], path: "Sources/Bridges/TribuneWeb",
      swiftSettings: mainActor),
    .target(
      name: "TribuneNATS",
      dependencies: [
        "CNats", "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneSystem", "TribuneWire",
      ], path: "Sources/Bridges/TribuneNATS",
      swiftSettings: mainActor),
    .target(
      name: "TribuneCommands",
      dependencies: [
        "Tribune", "TribuneJSON", "TribunePolicy", "TribuneProtocols", "TribuneSystem", "TribuneWire",
      ], path: "Sources/Client/TribuneCommands",
      swiftSettings: strict),
    .executableTarget(
      name: "tribuned", dependencies: ["TribuneServer", "TribuneSystem"], path: "Sources/Bus/tribuned",
      swiftSettings: mainActor),
    .executableTarget(
      name: "tribunectl", dependencies: ["TribuneCommands", "TribuneSystem"],
      path: "Sources/Client/tribunectl", swiftSettings: strict),
    .executableTarget(
      name: "tribune-logind", dependencies: ["TribuneLogind", "TribuneService"],
      path: "Sources/Bridges/tribune-logind", swiftSettings: mainActor),
    .executableTarget(
      name: "tribune-web", dependencies: ["TribuneService", "TribuneWeb"],
      path: "Sources/Bridges/tribune-web",
      swiftSettings: mainActor),
    .executableTarget(
      name: "tribune-nats", dependencies: ["TribuneNATS", "TribuneService"],
      path: "Sources/Bridges/tribune-nats", swiftSettings: mainActor),
    .executableTarget(
      name: "manual", dependencies: ["TribuneCommands", "TribuneSystem", "TribuneWire"],
      path: "Sources/Tools/manual", swiftSettings: strict
    ),
    .executableTarget(name: "wiregen", path: "Sources/Tools/wiregen", swiftSettings: strict),
    .target(
      name: "TribuneTestSupport", dependencies: ["CTribuneLinux", "TribuneSystem", "TribuneWire"],
      path: "Tests/Support/TribuneTestSupport", swiftSettings: strict),
    .executableTarget(
      name: "crowd", dependencies: ["Tribune", "TribuneTestSupport"], path: "Tests/Support/Crowd",
      swiftSettings: strict),
    .target(name: "CStoreWatch", path: "Tests/Support/CStoreWatch"),
    .target(name: "CThreadUser", path: "Tests/Support/CThreadUser"),
    .target(
      name: "CSimulatedKernel", dependencies: ["CStoreWatch", "CTribuneLinux"],
      path: "Tests/Simulation/CSimulatedKernel"
    ),
    .executableTarget(
      name: "simulate",
      dependencies: [
        "CSimulatedKernel", "TribuneCore", "TribuneJSON", "TribunePolicy", "TribuneServer", "TribuneSystem",
        "TribuneTestSupport", "TribuneWire",
      ],
      path: "Tests/Simulation/simulate", swiftSettings: mainActor),
    .testTarget(
      name: "TribuneWireTests", dependencies: ["TribuneTestSupport", "TribuneWire"],
      path: "Tests/Unit/TribuneWireTests", exclude: ["Vectors"],
      swiftSettings: strict),
    .testTarget(
      name: "wiregenTests", dependencies: ["wiregen"], path: "Tests/Unit/wiregenTests", swiftSettings: strict),
    .testTarget(
      name: "TribuneProtocolsTests", dependencies: ["TribuneProtocols", "TribuneWire"],
      path: "Tests/Unit/TribuneProtocolsTests", swiftSettings: strict),
    .testTarget(
      name: "TribuneJSONTests", dependencies: ["TribuneJSON", "TribuneWire"],
      path: "Tests/Unit/TribuneJSONTests", swiftSettings: strict),
    .testTarget(
      name: "TribuneVarlinkTests", dependencies: ["TribuneJSON", "TribuneVarlink", "TribuneWire"],
      path: "Tests/Unit/TribuneVarlinkTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneSystemTests",
      dependencies: ["CTribuneLinux", "TribuneSystem", "TribuneTestSupport", "TribuneWire"],
      path: "Tests/Unit/TribuneSystemTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneLogTests",
      dependencies: [
        "CStoreWatch", "CTribuneLinux", "TribuneLog", "TribuneSystem", "TribuneTestSupport", "TribuneWire",
      ], path: "Tests/Unit/TribuneLogTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneCoreTests",
      dependencies: [
        "TribuneCore", "TribunePolicy", "TribuneProtocols", "TribuneTestSupport", "TribuneWire",
      ], path: "Tests/Unit/TribuneCoreTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribunePolicyTests", dependencies: ["TribunePolicy", "TribuneTestSupport", "TribuneWire"],
      path: "Tests/Unit/TribunePolicyTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneServiceTests", dependencies: ["TribuneService"], path: "Tests/Unit/TribuneServiceTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneLogindTests",
      dependencies: ["TribuneJSON", "TribuneLogind", "TribuneService", "TribuneTestSupport", "TribuneWire"],
      path: "Tests/Unit/TribuneLogindTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneHTTPTests", dependencies: ["TribuneHTTP", "TribuneService"],
      path: "Tests/Unit/TribuneHTTPTests", swiftSettings: strict),
    .testTarget(
      name: "TribuneWebTests",
      dependencies: [
        "Tribune", "TribuneHTTP", "TribuneJSON", "TribuneService", "TribuneTestSupport", "TribuneWeb",
        "TribuneWire",
      ], path: "Tests/Unit/TribuneWebTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneNATSTests",
      dependencies: [
        "Tribune", "TribuneHTTP", "TribuneNATS", "TribuneService", "TribuneSystem", "TribuneTestSupport",
        "TribuneWire",
      ], path: "Tests/Unit/TribuneNATSTests",
      swiftSettings: strict),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "CThreadUser", "CTribuneLinux", "Tribune", "TribuneCommands", "TribuneLog", "TribunePolicy",
        "TribuneServer", "TribuneSystem", "TribuneTestSupport", "TribuneWire",
      ],
      path: "Tests",
      exclude: [
        "Fuzzing", "Integration/Languages", "Integration/VarlinkClients",
        "Simulation", "Support", "Systems/Cluster", "Systems/Web", "Unit",
      ],
      sources: ["Integration", "Systems/Systemd"], swiftSettings: strict),
    .testTarget(
      name: "TribuneTests",
      dependencies: ["CTribuneLinux", "Tribune", "TribuneSystem", "TribuneTestSupport", "TribuneWire"],
      path: "Tests/Unit/TribuneTests",
      swiftSettings: caller),
    .testTarget(
      name: "TribuneCommandsTests",
      dependencies: [
        "Tribune", "TribuneCommands", "TribuneJSON", "TribuneProtocols", "TribuneSystem",
        "TribuneTestSupport", "TribuneWire",
      ], path: "Tests/Unit/TribuneCommandsTests",
      swiftSettings: strict),
    .testTarget(
      name: "TribuneServerTests",
      dependencies: [
        "CStoreWatch", "CTribuneLinux", "TribuneCore", "TribuneLog", "TribunePolicy", "TribuneProtocols",
        "TribuneServer", "TribuneService", "TribuneSystem", "TribuneTestSupport", "TribuneWire",
      ], path: "Tests/Unit/TribuneServerTests",
      swiftSettings: strict),
  ]
)

/// Leaves in the package only the named targets and what they stand on, so that `make` builds what it needs and no more.
/// "tests" names all tests.
@MainActor func keepOnly(_ names: [String]) {
  let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
  var kept: Set<String> = []
  var rest = names.flatMap { name in
    name == "tests" ? package.targets.filter { $0.type == .test }.map(\.name) : [name]
  }
  while let name = rest.popLast() {
    guard let target = targets[name] else { fatalError("TRIBUNE_TARGETS: there is no target \(name)") }
    guard kept.insert(name).inserted else { continue }
    for case .byNameItem(let dependency, _) in target.dependencies { rest.append(dependency) }
  }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products.removeAll { !kept.contains($0.name) }
}

if let names = Context.environment["TRIBUNE_TARGETS"], !names.isEmpty {
  keepOnly(names.split(separator: " ").map(String.init))
}
