// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem

@testable import Tribune

struct AddressTests {
  @Test(arguments: ["unix:/run/tribune/bus", "unix:bus", "unix:/tmp/ä b"])
  func anAddressReadsBackAsItIsWritten(text: String) throws {
    #expect(try Address(text).description == text)
    #expect(try Address(text) == Address(path: String(text.dropFirst(5))))
  }

  @Test(arguments: ["", "unix:", "/run/tribune/bus", "tcp:localhost", "unix:/a\0b", "UNIX:/a"])
  func aTextThatIsNoAddressIsRefused(text: String) async {
    #expect(await failure { try Address(text) }?.code == .invalidAddress)
  }

  @Test(arguments: [
    (["TRIBUNE_ADDRESS": "unix:/a", "XDG_RUNTIME_DIR": "/run/user/1"], ["/run/user/1/tribune/bus"], "/a"),
    (["TRIBUNE_ADDRESS": ""], [], "/run/tribune/bus"), ([:], [], "/run/tribune/bus"),
    (["XDG_RUNTIME_DIR": "/run/user/1"], [], "/run/tribune/bus"),
    (["XDG_RUNTIME_DIR": "/run/user/1"], ["/run/user/1/tribune/bus"], "/run/user/1/tribune/bus"),
    (
      ["RUNTIME_DIRECTORY": "/run/x:/run/y", "XDG_RUNTIME_DIR": "/run/user/1"],
      ["/run/y/bus", "/run/user/1/tribune/bus"], "/run/y/bus"
    ),
    (
      ["RUNTIME_DIRECTORY": "/run/other:/run/x", "XDG_RUNTIME_DIR": "/run/user/1"],
      ["/run/other/bus", "/run/user/1/tribune/bus"], "/run/user/1/tribune/bus"
    ),
    (["RUNTIME_DIRECTORY": "/run/other"], ["/run/other/bus"], "/run/tribune/bus"),
  ])
  func aClientFindsTheBusWhereItsEnvironmentSays(
    environment: [String: String], files: [String], path: String
  ) throws {
    let address = try Address.resolve(
      environment: { environment[$0] }, exists: files.contains,
      isOwn: ["/run/user/1", "/run/x", "/run/y"].contains, user: 1)
    #expect(address == Address(path: path))
  }

  @Test(
    "root takes no bus from XDG_RUNTIME_DIR, and from TRIBUNE_ADDRESS only its own and the system's",
    arguments: [
      (["XDG_RUNTIME_DIR": "/run/user/0"], "/run/tribune/bus", nil),
      (["TRIBUNE_ADDRESS": "unix:/run/user/1/tribune/bus"], "/run/user/1/tribune/bus", [0]),
      (["TRIBUNE_ADDRESS": "unix:/run/tribune/bus"], "/run/tribune/bus", nil),
      (["RUNTIME_DIRECTORY": "/d"], "/d/bus", [0, 0]),
    ] as [([String: String], String, [UInt32]?)])
  func root(environment: [String: String], path: String, servers: [UInt32]?) throws {
    let address = try Address.resolve(
      environment: { environment[$0] }, exists: { _ in true }, isOwn: { _ in true }, user: 0)
    #expect(address.path == path)
    #expect(address.servers == servers)
  }

  @Test(
    "only a default in a runtime directory requires the owner of the server",
    arguments: [("TRIBUNE_ADDRESS", "unix:/d/bus"), ("RUNTIME_DIRECTORY", "/d"), ("XDG_RUNTIME_DIR", "/d")])
  func servers(variable: String, value: String) throws {
    var address = try Address.resolve(
      environment: { $0 == variable ? value : nil }, exists: { _ in true }, isOwn: { _ in true }, user: 7)
    #expect(address.servers == (variable == "TRIBUNE_ADDRESS" ? nil : [0, 7]))
    address.path = "/other"
    #expect(address.servers == nil)
  }

  @Test("a bus of another user is no default")
  func anotherUser() throws {
    let environment = ["RUNTIME_DIRECTORY": "/run/x", "XDG_RUNTIME_DIR": "/run/user/1"]
    let address = try Address.resolve(
      environment: { environment[$0] }, exists: { $0 != "/run/tribune/bus" }, isOwn: { _ in false },
      user: 1)
    #expect(address == .system)
  }

  @Test("without a bus, the default system address suggests where to look; another address does not")
  func remedy() {
    func suggests(_ error: Errno, _ address: Address) -> Bool {
      TribuneError(connecting: error, to: address).message.hasSuffix("; is tribuned.socket running?")
    }
    #expect(suggests(.noSuchFile, .system) && suggests(.connectionRefused, .system))
    #expect(!suggests(.tooManyDescriptors, .system) && !suggests(.noSuchFile, Address(path: "/nowhere")))
  }
}
