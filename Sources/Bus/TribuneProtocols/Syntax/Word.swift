// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The kinds of words in a source. The rules for types and fields are the same as in Varlink.
enum Word {
  case protocolName, typeName, fieldName, enumValue, methodName

  func fits(_ text: String) -> Bool {
    let bytes = text.utf8
    guard let first = bytes.first, bytes.count <= ProtocolLimits.nameLength else { return false }
    switch self {
    case .methodName: return NameSyntax.isName(text.utf8Bytes)
    case .protocolName: return first.isLetter && bytes.allSatisfy { $0.isLetterOrDigit || $0.isUnderscore }
    case .typeName: return first.isUpperCaseLetter && bytes.allSatisfy(\.isLetterOrDigit)
    case .fieldName, .enumValue:
      // Underscores must be single, and between letters or digits.
      var wasUnderscore = false
      for byte in bytes {
        guard byte.isLetterOrDigit || byte.isUnderscore, !(wasUnderscore && byte.isUnderscore)
        else { return false }
        wasUnderscore = byte.isUnderscore
      }
      return first.isLetter && !wasUnderscore
    }
  }

  var expected: String {
    switch self {
    case .protocolName: "a protocol's name (a letter, then letters, digits and _)"
    case .typeName: "a type's name (an upper case letter, then letters and digits)"
    case .fieldName: "a field's name (a letter, then letters and digits, with single _ between)"
    case .enumValue: "a value (a letter, then letters and digits, with single _ between)"
    case .methodName: "a method's name (letters, digits, _ and -, with dots between)"
    }
  }
}

extension UInt8 {
  var isUpperCaseLetter: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
  fileprivate var isLetter: Bool {
    isUpperCaseLetter || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
  }
  fileprivate var isLetterOrDigit: Bool { isLetter || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  fileprivate var isUnderscore: Bool { self == UInt8(ascii: "_") }
}
