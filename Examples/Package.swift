// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

func program(_ name: String, _ path: String) -> Target {
  .executableTarget(
    name: name, dependencies: ["JSONUserInfo", .product(name: "Tribune", package: "tribune")], path: path)
}

let package = Package(
  name: "tribune-examples",
  dependencies: [.package(name: "tribune", path: "..")],
  targets: [
    .target(
      name: "JSONUserInfo", dependencies: [.product(name: "Tribune", package: "tribune")],
      path: "JSONUserInfo"),
    program("backup-observer", "Languages/Observer"),
    program("backup-delegate", "Languages/Delegate"),
    program("observer", "Observer"),
    program("steward", "Steward"),
    program("image-viewer", "ImageViewer"),
    program("window", "DelegateChain/Window"),
    program("editor", "DelegateChain/Editor"),
    program("browser", "DelegateChain/Browser"),
    program("shelf", "DelegateChain/Shelf"),
    program("forwarder", "ForwardingDelegate"),
    program("pager", "Pager/Pager"),
    program("timeline", "Pager/Timeline"),
    program("colour-picker", "ColourPicker/Picker"),
    program("presenter", "ColourPicker/Presenter"),
  ]
)
