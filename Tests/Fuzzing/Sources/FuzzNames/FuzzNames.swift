// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneWire

@main
struct FuzzNames {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Reads the input as a pattern and, on the second line, a name; and all of it as text. A plainer implementation must
/// agree.
@c(LLVMFuzzerTestOneInput)
public func fuzzNames(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
  let name = parts.count > 1 ? Array(parts[1]) : []
  checkName(name)
  checkPattern(String(decoding: parts[0], as: UTF8.self), with: name)
  checkObject(input)
  checkText(String(decoding: input, as: UTF8.self))
  return 0
}

private func isName(_ bytes: [UInt8]) -> Bool {
  bytes.count <= 255
    && bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { token in
      !token.isEmpty && token.allSatisfy { isTokenByte($0) }
    }
}

private func isTokenByte(_ byte: UInt8) -> Bool {
  let scalar = Character(Unicode.Scalar(byte))
  return byte < 0x80 && (scalar.isLetter || scalar.isNumber || scalar == "_" || scalar == "-")
}

private func checkName(_ name: [UInt8]) {
  precondition(unsafe NameSyntax.isName(name.span.bytes) == isName(name))
}

private func checkPattern(_ text: String, with name: [UInt8]) {
  let tokens = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
  let one = Array("*".utf8)
  let more = Array("**".utf8)
  let isPattern =
    text.utf8.count <= 255
    && tokens.enumerated().allSatisfy { index, token in
      token == one || (token == more && index == tokens.count - 1) || (isName(token) && !token.isEmpty)
    }
  do throws(WireError) {
    let pattern = try Pattern(text)
    precondition(isPattern)
    precondition(pattern.tokenCount == tokens.count)
    precondition(pattern.isLiteral == isName(Array(text.utf8)))
    guard isName(name) else { return }
    let nameTokens = name.split(separator: UInt8(ascii: "."))
    let fits =
      tokens.last == more ? nameTokens.count >= tokens.count : nameTokens.count == tokens.count
    let expected = fits && zip(tokens, nameTokens).allSatisfy { $0 == one || $0 == more || $0 == Array($1) }
    precondition(unsafe pattern.matches(name.span.bytes) == expected)
  } catch {
    precondition(!isPattern && error.code == .invalidPattern)
  }
}

private func checkObject(_ bytes: [UInt8]) {
  let text = String(validating: bytes, as: UTF8.self)
  let isPrintable = text?.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  precondition(unsafe NameSyntax.isObject(bytes.span.bytes) == (bytes.count <= 255 && isPrintable == true))
}

private func checkText(_ text: String) {
  precondition(
    text.escaped.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && !$0.properties.isBidiControl
    })
  for length in [0, 1, 3, 15, 16, 255] {
    let cut = text.prefix(utf8Length: length)
    precondition(cut.utf8.count <= length && text.utf8.starts(with: cut.utf8))
    precondition(cut.utf8.count == text.utf8.count || cut.utf8.count + 4 > length)
  }
  _ = ConnectionID(text)
}
