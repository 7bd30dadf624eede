// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Text that a C function has allocated by malloc(3), for its caller to free.
extension String {
  /// Copies the text, and frees the original.
  @unsafe package init(freeing text: UnsafeMutablePointer<CChar>) {
    unsafe self.init(cString: text)
    unsafe free(text)
  }
}

extension [String] {
  /// Copies a list that ends with nil, and frees the original list and its texts.
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
