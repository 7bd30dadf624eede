// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TribuneSystem

final class Gate: Sendable {
  private let readEnd: FileDescriptor
  private let writeEnd: FileDescriptor

  init() {
    var ends: (CInt, CInt) = (-1, -1)
    let result = unsafe withUnsafeMutablePointer(to: &ends) { both in
      unsafe both.withMemoryRebound(to: CInt.self, capacity: 2) { unsafe pipe($0) }
    }
    precondition(result == 0, "no pipe")
    readEnd = FileDescriptor(owning: ends.0)
    writeEnd = FileDescriptor(owning: ends.1)
  }

  func open() {
    var byte: UInt8 = 1
    let count = unsafe write(writeEnd.rawValue, &byte, 1)
    precondition(count == 1, "a pipe does not take a byte")
  }

  /// Returns once for each `open()`.
  func wait() {
    var byte: UInt8 = 0
    while unsafe read(readEnd.rawValue, &byte, 1) == -1 {}
  }

  func opened() async {
    await withCheckedContinuation { done in
      do {
        try Thread.start { [self] in
          wait()
          done.resume()
        }
      } catch {
        preconditionFailure("no thread: \(error)")
      }
    }
  }
}
