// SPDX-License-Identifier: Apache-2.0

// Generates the man pages when the programs are built.
//
//   manual page TEMPLATE CONFIGURATION    prints a page of docs/man, with its parts filled in

import TribuneCommands
import TribuneSystem

func contents(of path: String) throws(PageError) -> String {
  let bytes: [UInt8]?
  do throws(Errno) {
    bytes = try InputFile.contents(of: path, lengthMax: 1 << 20, waits: false)
  } catch {
    throw PageError("\(path): \(error)")
  }
  guard let bytes else { throw PageError("\(path) is too long") }
  return String(decoding: bytes, as: UTF8.self)
}

func write(_ text: String) throws(PageError) {
  do throws(Errno) {
    try StandardOutput.write(Array(text.utf8))
  } catch {
    throw PageError("cannot write: \(error)")
  }
}

func output(for arguments: [String]) throws(PageError) -> String {
  guard arguments.first == "page", arguments.count == 3 else {
    throw PageError("usage: manual page TEMPLATE CONFIGURATION")
  }
  let settings = SettingsText(configuration: try contents(of: arguments[2]))
  return try Page(template: try contents(of: arguments[1]), settings: settings).text
}

do throws(PageError) {
  try write(try output(for: Array(CommandLine.arguments.dropFirst())))
} catch {
  StandardError.writeLine("manual: \(error.message)")
  ThisProcess.exit(1)
}
