// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Conversions of malloc(3)'s memory that a C function returned.
extension String {
  /// Frees the original.
  @unsafe package init(freeing text: UnsafeMutablePointer<CChar>) {
    unsafe self.init(cString: text)
    unsafe free(text)
  }
}

extension [String] {
  /// Frees a nil-terminated list and its texts.
  @unsafe package init(freeing list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
    self = []
    var next = unsafe list
    while let text = unsafe next.pointee {
      unsafe append(String(freeing: text))
      unsafe next += 1
    }
    unsafe free(list)
  }
}
