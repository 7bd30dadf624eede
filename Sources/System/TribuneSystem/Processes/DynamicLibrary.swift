// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A library that is never unloaded.
@safe package struct DynamicLibrary {
  package struct LoadError: Error, CustomStringConvertible {
    package let description: String

    fileprivate static var last: LoadError {
      guard let text = unsafe dlerror() else {
        return LoadError(description: "unknown error of the dynamic linker")
      }
      return LoadError(description: unsafe String(cString: text))
    }
  }

  private let handle: UnsafeMutableRawPointer

  package init(_ name: String) throws(LoadError) {
    guard let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else { throw .last }
    unsafe self.handle = unsafe handle
  }

  /// `F` must be the function's type, with `@convention(c)`. This type is not checked.
  @unsafe package func function<F>(_ name: String) throws(LoadError) -> F {
    guard let symbol = unsafe dlsym(handle, name) else { throw .last }
    precondition(MemoryLayout<F>.size == MemoryLayout<Int>.size, "\(F.self) is not the type of a C function")
    return unsafe unsafeBitCast(symbol, to: F.self)
  }
}
