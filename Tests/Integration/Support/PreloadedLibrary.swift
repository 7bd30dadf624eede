// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A library from `Tests/Support/NAME/NAME.c`, for `LD_PRELOAD`.
struct PreloadedLibrary {
  let path: String

  init(_ name: String, in folder: TestFolder) throws {
    path = "\(folder.path)/\(name).so"
    let source = Script.repository.appending(path: "Tests/Support/\(name)/\(name).c").path
    let compiled = try FinishedProgram([
      "cc", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", path, source, "-ldl",
    ])
    guard compiled.status == 0 else {
      throw Programs.Missing(description: "cc does not compile \(source): \(compiled.errors)")
    }
  }
}
