// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSONUserInfo
import Tribune

/// Lets the user pick a colour, and posts it to its delegate.
///
///     colour-picker OBJECT NAME     picks a colour for NAME
///
/// Any delegate that conforms to the declared protocol can present the picker, and dismiss it. Type `done RED GREEN
/// BLUE`, each from 0 to 1, or `cancel`.
///
/// Try it: `presenter background` starts a picker. Or start a picker yourself, and then `tribunectl delegate
/// 'colourPicker.*' --object=OBJECT --conforms=ColourPickerDelegate`
@main
struct ColourPicker {
  static let protocols = """
    # Whoever presents a colour picker.
    protocol ColourPickerDelegate {
        type Colour (red: float, green: float, blue: float)

        # It can be used.
        optional did colourPicker.didAppear ()
        # What the colour is for, and the colour; null if the user wants none.
        required did colourPicker.didPick (name: string, colour: ?Colour)
    }
    """

  struct Colour: Encodable {
    var red: Double
    var green: Double
    var blue: Double
  }

  struct Picked: Encodable {
    var name: String
    var colour: Colour?

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: Key.self)
      try members.encode(name, forKey: .name)
      // Without a colour, this encodes null instead of omitting the member.
      try members.encode(colour, forKey: .colour)
    }

    private enum Key: CodingKey {
      case name, colour
    }
  }

  // The main actor's thread may block in `readLine`, because the connection has its own thread.
  @MainActor static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else {
      print("usage: colour-picker OBJECT NAME")
      exit(2)
    }
    let (picker, name) = (arguments[1], arguments[2])
    do {
      let bus = try await Connection.connect()
      try await bus.declare(picker, as: "ColourPickerDelegate", definitions: protocols)
      try await bus.post("colourPicker.didAppear", object: picker, userInfo: "{}")
      print("\(picker) picks a colour for \(name)")
      while let line = readLine() {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Double($0) }
        var picked = Picked(name: name)
        switch (words.first, numbers.count) {
        case ("done", 3): picked.colour = Colour(red: numbers[0], green: numbers[1], blue: numbers[2])
        case ("cancel", 0): break
        default:
          print("done RED GREEN BLUE, or cancel")
          continue
        }
        try await bus.post("colourPicker.didPick", object: picker, userInfo: UserInfo(json: picked))
        print("picked")
      }
      // The delegate dismisses the picker by ending this process.
      if let error = await bus.closed() { throw error }
    } catch {
      print(error)
      exit(1)
    }
  }
}
