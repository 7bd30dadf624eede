// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneServer

@MainActor
@Suite("Files that are retained")
struct RetainedFileTests {
  private static let one = StoredFile(inode: 11, number: 1)
  private static let other = StoredFile(inode: 12, number: 2)

  @Test("stay stored until it is asked what is to go")
  func forgotten() {
    var files = RetainedFiles()
    files["a"] = Self.one
    files.forget("a")
    files["a"] = Self.other
    #expect(files.numbers == [1, 2])
    #expect(files.hasForgotten)
    #expect(files.takeForgotten() == [Self.one])
    #expect(files.numbers == [2])
    #expect(!files.hasForgotten)
    #expect(files.takeForgotten().isEmpty)
  }

  @Test("stay stored if they are retained again meanwhile")
  func recalled() {
    var files = RetainedFiles()
    files["a"] = Self.one
    files.forget("a")
    files["b"] = files.recall(inode: 11)
    #expect(files["b"] == Self.one)
    #expect(files.takeForgotten().isEmpty)
    files.forget("b")
    #expect(files.takeForgotten() == [Self.one])
    #expect(files.recall(inode: 11) == nil)
  }

  @Test("go with the last that needs them")
  func shared() {
    var files = RetainedFiles()
    files["a"] = Self.one
    files["b"] = files.recall(inode: 11)
    files.forget("a")
    files.forget("c")
    #expect(!files.hasForgotten)
    files.forget("b")
    #expect(files.takeForgotten() == [Self.one])
  }
}
