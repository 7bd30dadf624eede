// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

package enum ProgramText {
  /// Releases the program's pages of code. If the program uses a page again, the kernel maps it again from
  /// its cache. Without this call, half of an idle daemon's memory would be code that only its start needs.
  package static func release() throws(Errno) {
    var failure: CInt = 0
    _ = unsafe dl_iterate_phdr(
      { object, _, failure in
        guard let failure = unsafe failure?.assumingMemoryBound(to: CInt.self) else { return 0 }
        unsafe ProgramText.release(object.pointee, failure: &failure.pointee)
        return 0
      }, &failure)
    if failure != 0 { throw Errno(rawValue: failure) }
  }

  private static func release(_ object: tribune_program_object, failure: inout CInt) {
    if let name = unsafe object.name, unsafe String(cString: name).hasPrefix("linux-vdso") { return }
    let pageMask = UInt(sysconf(CInt(_SC_PAGESIZE))) - 1
    for index in 0..<Int(unsafe object.header_count) {
      guard let header = unsafe object.headers?[index] else { return }
      guard header.p_type == UInt32(PT_LOAD), header.p_flags == UInt32(PF_R | PF_X) else { continue }
      let begin = UInt(unsafe object.address) + UInt(header.p_vaddr)
      let start = begin & ~pageMask
      let length = Int(begin + UInt(header.p_memsz) - start)
      let result = unsafe madvise(UnsafeMutableRawPointer(bitPattern: start), length, MADV_DONTNEED)
      if result == -1, failure == 0 { failure = errno }
    }
  }
}
