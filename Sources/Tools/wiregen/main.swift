// SPDX-License-Identifier: Apache-2.0

import Foundation

// Generates files from docs/tribune.wire, and writes them to a folder, for "make wire".

guard CommandLine.arguments.count == 3 else {
  FileHandle.standardError.write(Data("usage: wiregen PROJECT FOLDER\n".utf8))
  exit(2)
}
let project = URL(filePath: CommandLine.arguments[1])
let folder = URL(filePath: CommandLine.arguments[2])
let source = "docs/tribune.wire"

func read(_ path: String) throws -> String {
  try String(contentsOf: project.appending(path: path), encoding: .utf8)
}

func write(_ text: String, to path: String) throws {
  let file = folder.appending(path: path)
  try FileManager.default.createDirectory(
    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
  try Data(text.utf8).write(to: file)
}

do {
  let description = try DescriptionParser.parse(read(source))
  for file in SwiftCodec(description).files {
    try write(file.text, to: "Sources/Bus/TribuneWire/Generated/\(file.name)")
  }
  try write(DissectorTables(description).text, to: "tools/tribune-frames.lua")
  try write(PythonCodec(description).text, to: "Clients/Python/src/tribune/_wire.py")
  let c = CCodec(description)
  try write(c.header, to: "Clients/C/src/wire.h")
  try write(c.source, to: "Clients/C/src/wire.c")
  try write(CVectors(description).source, to: "Clients/C/tests/wire-vectors.c")
  var tables = Tables(description)
  for document in ["docs/PROTOCOL.md", "docs/LISTING.md", "docs/ACCESS.md"] {
    try write(tables.filled(read(document)), to: document)
  }
  let vectors = "Tests/Unit/TribuneWireTests/Vectors"
  let names = try FileManager.default.contentsOfDirectory(atPath: project.appending(path: vectors).path)
  let texts = try names.filter { $0.hasSuffix(".hex") }.map { name in
    (name: String(name.dropLast(4)), text: try read("\(vectors)/\(name)"))
  }
  try write(VectorIndex(description).text(of: texts), to: "\(vectors)/index.json")
} catch {
  FileHandle.standardError.write(Data("\(source):\(error)\n".utf8))
  exit(1)
}
