// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "tribune-examples",
  dependencies: [.package(name: "tribune", path: "..")],
  targets: [
    .executableTarget(
      name: "observer", dependencies: [.product(name: "Tribune", package: "tribune")], path: "Observer"),
    .executableTarget(
      name: "steward", dependencies: [.product(name: "Tribune", package: "tribune")], path: "Steward"),
  ]
)
