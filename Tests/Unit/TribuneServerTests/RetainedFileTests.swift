// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneServer

@MainActor
@Suite("Retained files")
struct RetainedFileTests {
  @Test("stay until the forgotten ones are collected")
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

  @Test("stay if they are retained again in time")
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

  @Test("are found by the bytes of their objects, whichever scalars combine")
  func objects() {
    var files = RetainedFiles()
    files[RetainedFiles.key("a", "\u{FC}")] = 11
    files[RetainedFiles.key("a", "u\u{308}")] = 12
    #expect(files.inodes == [11, 12])
  }

  @Test("go with the last name that needs them")
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
