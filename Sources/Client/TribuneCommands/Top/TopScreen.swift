// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// The terminal, while ncurses draws on it. ncurses has global state, so only one screen may exist at a time,
/// and only one task may use it.
@safe struct TopScreen: ~Copyable {
  /// How long ncurses waits after an ESC for the rest of a key's sequence, before it reports ESC as a key.
  private static let escapeMilliseconds: CInt = 25

  private let library: NcursesLibrary
  private let window: NcursesLibrary.Window
  private let isColoured: Bool

  init(_ library: NcursesLibrary, isColoured: Bool) throws(CommandError) {
    // Without a UTF-8 locale, ncurses interprets each byte as a character.
    guard StandardOutput.useUTF8() else {
      throw .failure("this host lacks the locale C.UTF-8\nTry \"top --once\".")
    }
    // If SIGTSTP has no handler, ncurses ignores it during each draw. The kernel then discards a pending
    // SIGTSTP, so a Ctrl-Z could be lost.
    Signals.handle(Signals.terminalStop)
    guard let window = unsafe library.start() else {
      throw .failure("cannot draw on the terminal\nTry \"top --once\".")
    }
    self.library = library
    unsafe self.window = unsafe window
    _ = library.readKeysAtOnce()
    _ = library.echoNothing()
    _ = library.setEscapeDelay(Self.escapeMilliseconds)
    _ = unsafe library.decodeKeys(window, true)
    _ = unsafe library.waitForNoKey(window, true)
    _ = library.showCursor(0)
    self.isColoured = isColoured && library.startColours() == NcursesLibrary.ok
    guard self.isColoured else { return }
    _ = library.useDefaultColours()
    for style in TopStyle.allCases {
      guard let (text, background) = style.colours else { continue }
      _ = library.setPair(style.pair, text, background)
    }
  }

  var size: TopSize {
    TopSize(rows: Int(unsafe library.rows(window)), columns: Int(unsafe library.columns(window)))
  }

  func resize() {
    guard let (rows, columns) = StandardOutput.terminalSize, rows > 0 else { return }
    _ = library.resize(CInt(clamping: rows), CInt(clamping: columns))
  }

  func show(_ lines: [StyledLine]) {
    _ = unsafe library.erase(window)
    for (row, line) in lines.enumerated() {
      for span in line.spans {
        _ = unsafe library.move(window, CInt(clamping: row), CInt(clamping: span.column))
        let pair = isColoured && span.style.colours != nil ? span.style.pair : 0
        _ = unsafe library.setAttributes(window, span.style.attributes(isColoured: isColoured), pair, nil)
        let characters = span.text.unicodeScalars.map { CInt(bitPattern: $0.value) }
        // If the text fills the terminal's last cell, this call fails, but still writes the text.
        _ = unsafe library.add(window, characters, CInt(clamping: characters.count))
      }
    }
    _ = unsafe library.refresh(window)
  }

  /// Returns the terminal to the shell until the next `show`.
  func leave() { _ = library.end() }

  /// Makes the next `show` draw everything, because other programs may have written on the terminal.
  func forget() { _ = unsafe library.redrawAll(window, true) }

  func nextKey() -> TopKey? {
    while true {
      var code: CUnsignedInt = 0
      switch unsafe library.readKey(window, &code) {
      case NcursesLibrary.isKeyCode: if let key = TopKey(code: code) { return key }
      case NcursesLibrary.ok: if let key = TopKey(character: code) { return key }
      default: return nil
      }
    }
  }
}

extension TopKey {
  fileprivate init?(code: CUnsignedInt) {
    typealias Code = NcursesLibrary.KeyCode
    switch code {
    case Code.up: self = .up
    case Code.down: self = .down
    case Code.pageUp: self = .pageUp
    case Code.pageDown: self = .pageDown
    case Code.home: self = .home
    case Code.end: self = .end
    case Code.backTab: self = .backTab
    case Code.enter: self = .enter
    case Code.backspace: self = .backspace
    case (Code.function0 + 1)...(Code.function0 + 12): self = .function(Int(code - Code.function0))
    default: return nil
    }
  }

  fileprivate init?(character code: CUnsignedInt) {
    switch code {
    case 0x09: self = .tab
    case 0x0A, 0x0D: self = .enter
    case 0x1B: self = .escape
    case 0x08, 0x7F: self = .backspace
    default:
      guard let scalar = Unicode.Scalar(code) else { return nil }
      self = .character(Character(scalar))
    }
  }
}

extension TopStyle {
  fileprivate var colours: (text: CShort, background: CShort)? {
    typealias Colour = NcursesLibrary.Colour
    return switch self {
    case .plain, .bold, .faint: nil
    case .warning: (Colour.yellow, Colour.usual)
    case .alarm: (Colour.red, Colour.usual)
    case .title: (Colour.black, Colour.green)
    case .selected: (Colour.black, Colour.cyan)
    case .selectedAlarm: (Colour.red, Colour.cyan)
    }
  }

  fileprivate var pair: CShort { CShort(rawValue) }

  fileprivate func attributes(isColoured: Bool) -> UInt32 {
    typealias Attribute = NcursesLibrary.Attribute
    return switch self {
    case .plain: 0
    case .bold, .warning, .alarm: Attribute.bold
    case .faint: Attribute.dim
    case .title, .selected: isColoured ? 0 : Attribute.reverse
    case .selectedAlarm: isColoured ? Attribute.bold : Attribute.bold | Attribute.reverse
    }
  }
}
