// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

@Suite("The colour picker", .timeLimit(.minutes(15)))
struct ColourPickerTests {
  private let bus: TestBus
  private let connection: Connection

  init() async throws {
    bus = try TestBus()
    connection = try await bus.connect()
  }

  @Test(
    "the presenter sets itself as the delegate, learns the picked colour, and dismisses the picker",
    arguments: [("done 1 0.5 0", "background becomes 1.0 0.5 0.0"), ("cancel", "background stays as it is")])
  func presenting(typed: String, outcome: String) async throws {
    let presenter = try ExamplePrograms.start("presenter", "background", on: bus)
    let picker = "colourPicker/\(presenter.pid)"
    try presenter.read(to: "presents \(picker)")
    let declared = try await connection.objects().filter { $0.object == picker }
    #expect(declared.map(\.protocolName) == ["ColourPickerDelegate"])
    #expect(declared.first?.connection != nil)
    let delegates = try await connection.delegates().filter { $0.object == picker }
    #expect(delegates.map(\.label) == ["presenter"])
    #expect(declared.first?.connection != delegates.first?.connection)

    try presenter.type(typed)
    try presenter.read(to: outcome)
    try presenter.read(to: "dismissed \(picker)")
    #expect(presenter.status() == 0)
    #expect(try await !connection.objects().contains { $0.object == picker })
  }

  @Test("the picker works with any other presenter, and does not dismiss itself")
  func anyPresenter() async throws {
    let picker = try ExamplePrograms.start("colour-picker", "colourPicker/1", "text", on: bus)
    try picker.read(to: "colourPicker/1 picks a colour for text")
    let delegate = AttentiveDelegate()
    try await connection.set(
      delegate, to: "colourPicker/1", respondingTo: ["colourPicker.*"], conformingTo: ["ColourPickerDelegate"]
    )
    try picker.type("done 0 0.25 1")
    let done = try #require(await delegate.next())
    #expect(try picked(done) == ["name": "text", "colour": ["red": 0.0, "green": 0.25, "blue": 1.0]])
    try picker.type("cancel")
    let cancelled = try #require(await delegate.next())
    #expect(try picked(cancelled) == ["name": "text", "colour": NSNull()])
    #expect(try await connection.objects().contains { $0.object == "colourPicker/1" })
  }

  @Test("only the colour may be null")
  func nullable() async throws {
    let picker = try ExamplePrograms.start("colour-picker", "colourPicker/1", "text", on: bus)
    try picker.read(to: "colourPicker/1 picks a colour for text")
    for (userInfo, isRight) in [
      (#"{"name": "text", "colour": null}"#, true), (#"{"name": null, "colour": null}"#, false),
      (#"{"name": "text", "colour": {"red": 1, "green": 1}}"#, false),
    ] {
      do {
        try await connection.postAcknowledged(
          "colourPicker.didPick", object: "colourPicker/1", userInfo: UserInfo(userInfo))
        #expect(isRight)
      } catch {
        #expect(!isRight && error.code == .invalidParameter)
      }
    }
  }

  private func picked(_ text: String) throws -> NSDictionary {
    let name = "colourPicker.didPick "
    try #require(text.hasPrefix(name))
    let object = try JSONSerialization.jsonObject(with: Data(text.dropFirst(name.count).utf8))
    return try #require(object as? NSDictionary)
  }
}
