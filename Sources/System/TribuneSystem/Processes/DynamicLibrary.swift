// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A shared library that is loaded on demand, and stays loaded until the process ends.
@safe package struct DynamicLibrary {
  /// The host has no such library, or one without the function.
  package struct LoadError: Error, CustomStringConvertible {
    package let description: String

    /// The dynamic linker's last error.
    fileprivate static var last: LoadError {
      guard let text = unsafe dlerror() else {
        return LoadError(description: "unknown error of the dynamic linker")
      }
      return LoadError(description: unsafe String(cString: text))
    }
  }

  private let handle: UnsafeMutableRawPointer

  /// - Parameter name: the file's name, such as `libsystemd.so.0`, which is looked up as in dlopen(3).
  package init(_ name: String) throws(LoadError) {
    guard let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else { throw .last }
    unsafe self.handle = unsafe handle
  }

  /// A function of the library. Nothing checks that `F` is its type, with `@convention(c)`.
  @unsafe package func function<F>(_ name: String) throws(LoadError) -> F {
    guard let symbol = unsafe dlsym(handle, name) else { throw .last }
    precondition(MemoryLayout<F>.size == MemoryLayout<Int>.size, "\(F.self) is not the type of a C function")
    return unsafe unsafeBitCast(symbol, to: F.self)
  }
}
