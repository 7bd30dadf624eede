// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// The part of ncurses that `top` draws with, loaded on demand and never unloaded, as `JournalLibrary` is.
/// The library's name ends in its ABI number, which has not changed since 2015.
@safe struct NcursesLibrary: Sendable {
  typealias Window = OpaquePointer

  // <term.h>
  let setUpTerminal: @convention(c) (UnsafePointer<CChar>?, CInt, UnsafeMutablePointer<CInt>) -> CInt
  let stringCapability: @convention(c) (UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>?

  // <curses.h>
  let start: @convention(c) () -> Window?
  let end: @convention(c) () -> CInt
  let readKeysAtOnce: @convention(c) () -> CInt
  let echoNothing: @convention(c) () -> CInt
  let setEscapeDelay: @convention(c) (CInt) -> CInt
  let decodeKeys: @convention(c) (Window, Bool) -> CInt
  let waitForNoKey: @convention(c) (Window, Bool) -> CInt
  let readKey: @convention(c) (Window, UnsafeMutablePointer<CUnsignedInt>) -> CInt
  let showCursor: @convention(c) (CInt) -> CInt
  let startColours: @convention(c) () -> CInt
  let useDefaultColours: @convention(c) () -> CInt
  let setPair: @convention(c) (CShort, CShort, CShort) -> CInt
  let rows: @convention(c) (Window) -> CInt
  let columns: @convention(c) (Window) -> CInt
  let resize: @convention(c) (CInt, CInt) -> CInt
  let erase: @convention(c) (Window) -> CInt
  let redrawAll: @convention(c) (Window, Bool) -> CInt
  let move: @convention(c) (Window, CInt, CInt) -> CInt
  let setAttributes: @convention(c) (Window, UInt32, CShort, UnsafeRawPointer?) -> CInt
  let add: @convention(c) (Window, UnsafePointer<CInt>, CInt) -> CInt
  let refresh: @convention(c) (Window) -> CInt

  init() throws(CommandError) {
    do throws(DynamicLibrary.LoadError) {
      let library = try DynamicLibrary("libncursesw.so.6")
      unsafe setUpTerminal = unsafe try library.function("setupterm")
      unsafe stringCapability = unsafe try library.function("tigetstr")
      unsafe start = unsafe try library.function("initscr")
      end = unsafe try library.function("endwin")
      readKeysAtOnce = unsafe try library.function("cbreak")
      echoNothing = unsafe try library.function("noecho")
      setEscapeDelay = unsafe try library.function("set_escdelay")
      unsafe decodeKeys = unsafe try library.function("keypad")
      unsafe waitForNoKey = unsafe try library.function("nodelay")
      unsafe readKey = unsafe try library.function("wget_wch")
      showCursor = unsafe try library.function("curs_set")
      startColours = unsafe try library.function("start_color")
      useDefaultColours = unsafe try library.function("use_default_colors")
      setPair = unsafe try library.function("init_pair")
      unsafe rows = unsafe try library.function("getmaxy")
      unsafe columns = unsafe try library.function("getmaxx")
      resize = unsafe try library.function("resizeterm")
      unsafe erase = unsafe try library.function("werase")
      unsafe redrawAll = unsafe try library.function("clearok")
      unsafe move = unsafe try library.function("wmove")
      unsafe setAttributes = unsafe try library.function("wattr_set")
      unsafe add = unsafe try library.function("waddnwstr")
      unsafe refresh = unsafe try library.function("wrefresh")
    } catch {
      throw .failure("the library that draws on terminals cannot be loaded: \(error)\nTry \"top --once\".")
    }
  }
}

extension NcursesLibrary {
  var canDraw: Bool {
    var reason: CInt = 0
    guard unsafe setUpTerminal(nil, StandardOutput.rawDescriptor, &reason) == Self.ok,
      let move = unsafe stringCapability("cup")
    else { return false }
    // tigetstr(3) returns -1 for a capability that is not a string.
    return Int(bitPattern: move) != -1
  }

  static let ok: CInt = 0
  /// `readKey` returns this value for a key without a character, such as an arrow.
  static let isKeyCode: CInt = 0o400

  enum Attribute {
    static let reverse: UInt32 = 1 << 18
    static let dim: UInt32 = 1 << 20
    static let bold: UInt32 = 1 << 21
  }

  enum Colour {
    static let usual: CShort = -1
    static let black: CShort = 0
    static let red: CShort = 1
    static let green: CShort = 2
    static let yellow: CShort = 3
    static let cyan: CShort = 6
  }

  enum KeyCode {
    static let down: CUnsignedInt = 0o402
    static let up: CUnsignedInt = 0o403
    static let home: CUnsignedInt = 0o406
    static let backspace: CUnsignedInt = 0o407
    static let function0: CUnsignedInt = 0o410
    static let pageDown: CUnsignedInt = 0o522
    static let pageUp: CUnsignedInt = 0o523
    static let enter: CUnsignedInt = 0o527
    static let backTab: CUnsignedInt = 0o541
    static let end: CUnsignedInt = 0o550
  }
}
