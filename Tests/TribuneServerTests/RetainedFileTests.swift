// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneServer

@MainActor
@Suite("Files that are retained")
struct RetainedFileTests {
  @Test("stay kept until it is asked what is to go")
  func forgotten() {
    var files = RetainedFiles()
    files["a"] = 11
    files.forget("a")
    files["a"] = 12
    #expect(files.inodes == [11, 12])
    #expect(files.hasForgotten)
    #expect(files.takeForgotten() == [11])
    #expect(files.inodes == [12])
    #expect(!files.hasForgotten)
    #expect(files.takeForgotten().isEmpty)
  }

  @Test("stay kept if they are retained again meanwhile")
  func recalled() {
    var files = RetainedFiles()
    files["a"] = 11
    files.forget("a")
    let isKept = files.recall(11)
    #expect(isKept)
    files["b"] = 11
    #expect(files.takeForgotten().isEmpty)
    files.forget("b")
    #expect(files.takeForgotten() == [11])
    let isStillKept = files.recall(11)
    #expect(!isStillKept)
  }

  @Test("go with the last that needs them")
  func shared() {
    var files = RetainedFiles()
    files["a"] = 11
    let isKept = files.recall(11)
    #expect(isKept)
    files["b"] = 11
    files.forget("a")
    files.forget("c")
    #expect(!files.hasForgotten)
    files.forget("b")
    #expect(files.takeForgotten() == [11])
  }
}
