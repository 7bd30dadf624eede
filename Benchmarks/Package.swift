// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// As the main package's own.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "tribune", path: "..")],
  targets: [
    .executableTarget(name: "relay"),
    .executableTarget(name: "zmq-proxy", linkerSettings: [.linkedLibrary("zmq")]),
    .target(name: "CBusDriver"),
    .executableTarget(
      name: "bench", dependencies: ["CBusDriver", .product(name: "Tribune", package: "tribune")],
      swiftSettings: strict),
  ]
)
