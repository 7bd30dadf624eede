// SPDX-License-Identifier: Apache-2.0

import Glibc

extension String {
  /// Copies and frees `text`, which malloc(3) allocated.
  @unsafe package init(freeing text: UnsafeMutablePointer<CChar>) {
    unsafe self.init(cString: text)
    unsafe free(text)
  }
}

extension [String] {
  /// Copies and frees a nil-terminated list from malloc(3), and its texts.
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
