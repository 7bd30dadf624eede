// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

extension RawClient {
  func send(_ bytes: [UInt8], with descriptors: [CInt]) throws {
    let space = MemoryLayout<cmsghdr>.size + descriptors.count * MemoryLayout<CInt>.size
    var control = [UInt8](repeating: 0, count: (space + 7) & ~7)
    unsafe control.withUnsafeMutableBytes { control in
      // The fields of a cmsghdr.
      unsafe control.storeBytes(of: space, as: Int.self)
      unsafe control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
      unsafe control.storeBytes(of: CInt(SCM_RIGHTS), toByteOffset: 12, as: CInt.self)
      for (index, descriptor) in descriptors.enumerated() {
        unsafe control.storeBytes(
          of: descriptor, toByteOffset: MemoryLayout<cmsghdr>.size + index * MemoryLayout<CInt>.size,
          as: CInt.self)
      }
    }
    let sent = unsafe bytes.withUnsafeBytes { bytes in
      var vector = unsafe iovec(
        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      return unsafe control.withUnsafeMutableBytes { control in
        unsafe withUnsafeMutablePointer(to: &vector) { vector in
          var message = unsafe msghdr()
          unsafe message.msg_iov = vector
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          return unsafe sendmsg(rawDescriptor, &message, CInt(MSG_NOSIGNAL))
        }
      }
    }
    guard sent == bytes.count else { throw Errno.current }
  }

  func post(
    _ name: String, object: String = "", options: PostOptions = [], file: borrowing FileDescriptor,
    length: Int, serial: Serial, flags: FrameFlags = []
  ) throws {
    try send(
      Self.post(name, object: object, options: options, length: length, serial: serial, flags: flags),
      with: [file.rawValue])
  }

  static func post(
    _ name: String, object: String = "", options: PostOptions = [], length: Int, serial: Serial,
    flags: FrameFlags = []
  ) -> [UInt8] {
    bytes {
      $0.appendFrame(
        Post(options: options, length: UInt32(length)), flags: flags.union(.descriptor), serial: serial,
        name: name, object: object)
    }
  }
}

extension FileDescriptor {
  func setTimeouts(seconds: Int) throws {
    var timeout = timeval(tv_sec: seconds, tv_usec: 0)
    let descriptor = rawValue
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      _ = try retrying {
        unsafe setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
      }
    }
  }
}

extension Pipe {
  /// Waits until all other owners of its writing end have closed it.
  func expectClosed() throws {
    try fileHandleForWriting.close()
    #expect(try fileHandleForReading.readToEnd() == nil)
  }
}

enum SharedFile {
  static let seals = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW | TRIBUNE_F_SEAL_WRITE

  static func make(_ bytes: [UInt8], seals: CInt = seals) throws -> FileDescriptor {
    let flags = CUnsignedInt(MFD_CLOEXEC) | CUnsignedInt(MFD_ALLOW_SEALING)
    let file = FileDescriptor(owning: try retrying { unsafe memfd_create("test", flags) })
    let descriptor = file.rawValue
    var written = 0
    while written < bytes.count {
      let offset = off_t(written)
      written += try retrying {
        unsafe bytes.withUnsafeBytes { bytes in
          let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...])
          return unsafe pwrite(descriptor, rest.baseAddress, rest.count, offset)
        }
      }
    }
    if seals != 0 { _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, seals) } }
    return file
  }

  /// Bytes in which all pages differ.
  static func bytes(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
    let part = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(seed)) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + part.count)
    while bytes.count < count { bytes += part }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
