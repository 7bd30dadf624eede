// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Text that a C function has allocated by malloc(3), for its caller to free.
extension String {
  /// A copy of the text, which is freed.
  @unsafe package init(freeing text: UnsafeMutablePointer<CChar>) {
    unsafe self.init(cString: text)
    unsafe free(text)
  }
}

extension [String] {
  /// A copy of a list that ends with nil, which is freed with its texts.
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
