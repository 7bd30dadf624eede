// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("tribunectl verify", .timeLimit(.minutes(15)))
struct VerifyTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try folder.write("protocol A { optional should shouldA () }\nprotocol B {}\n", to: "right.protocol")
    try folder.write("protocol C : A {\n  required did c ()\n}\nprotocol D : X {}\n", to: "wrong.protocol")
    try folder.write("protocol D : A {}", to: "child.protocol")
  }

  private func verify(_ arguments: String..., address: String = "unix:/nowhere") throws -> FinishedProgram {
    let names = ["right.protocol", "wrong.protocol", "child.protocol", "none.protocol"]
    let arguments = arguments.map { names.contains($0) ? "\(folder.path)/\($0)" : $0 }
    return try FinishedProgram(
      [Programs.path(of: "tribunectl"), "--address=\(address)", "verify"] + arguments)
  }

  @Test("prints the number of valid protocols, except with -q")
  func right() throws {
    try verify("right.protocol").expect(0, output: "2 protocols in 1 file are valid\n", errors: "")
    #expect(try verify("child.protocol", "right.protocol").output == "3 protocols in 2 files are valid\n")
    #expect(try verify("-q", "right.protocol").output == "")
    #expect(try verify("-", "-q").status == 0)
    #expect(try verify("-").output == "0 protocols in 1 file are valid\n")
  }

  @Test("prints every mistake with its file, line and column, and exits with 1")
  func wrong() throws {
    let verified = try verify("right.protocol", "wrong.protocol")
    verified.expect(1, output: "")
    let file = "\(folder.path)/wrong.protocol"
    #expect(
      verified.errors == """
        \(file):2:16: "c" is a did method, but its last part does not begin with "did" and an upper case letter
        \(file):4:14: there is no protocol "X"

        """)
  }

  @Test("prints each mistake as a JSON object")
  func json() throws {
    let verified = try verify("--json=short", "child.protocol")
    #expect(verified.status == 1)
    #expect(
      verified.output == """
        {"file":"\(folder.path)/child.protocol","line":1,"column":14,"warning":false,"message":"there is no protocol \\"A\\""}

        """)
    #expect(verified.errors == "")
  }

  @Test("reports a file that it cannot read, and still checks the others")
  func unreadable() throws {
    let verified = try verify("none.protocol", "wrong.protocol", "right.protocol")
    #expect(verified.status == 1)
    #expect(
      verified.errors.hasPrefix("tribunectl: \(folder.path)/none.protocol: No such file or directory\n"))
    #expect(verified.errors.contains("wrong.protocol:4:14: "))
    let long = try folder.open("long.protocol")
    try long.truncate(atOffset: (1 << 20) + 1)
    #expect(try verify("\(folder.path)/long.protocol").errors.contains("longer than the limit of 1 MiB"))
  }

  @Test("names the kinds of files that it takes, and still checks the others")
  func otherFile() throws {
    try folder.write("[Bus]\n", to: "tribuned.conf")
    let verified = try verify("\(folder.path)/tribuned.conf", "wrong.protocol", "right.protocol")
    #expect(verified.status == 1)
    #expect(
      verified.errors.hasPrefix(
        "tribunectl: \(folder.path)/tribuned.conf: verify takes .protocol, .policy and .test files\n"))
    #expect(verified.errors.contains("wrong.protocol:4:14: "))
    #expect(try verify(folder.path).errors == "tribunectl: \(folder.path): Is a directory\n")
  }

  @Test("exits with 2 on wrong usage")
  func usage() throws {
    #expect(try verify().status == 2)
    #expect(try verify("-", "-").status == 2)
    #expect(try verify("--object=x", "-").status == 2)
  }
}
