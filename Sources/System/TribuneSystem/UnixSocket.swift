// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

/// A peer's credentials, as the kernel recorded them at the peer's connect(2) or listen(2).
package struct PeerCredentials: Equatable, Sendable {
  package var pid: Int32
  package var uid: UInt32
  package var gid: UInt32

  package init(pid: Int32, uid: UInt32, gid: UInt32) { (self.pid, self.uid, self.gid) = (pid, uid, gid) }
}

package enum Received: Equatable, Sendable {
  /// The number of bytes appended to the buffer.
  case bytes(Int)
  /// The socket has no data now.
  case nothing
  case end
  /// The peer sent descriptors where they are forbidden, or more of them than one read accepts.
  case descriptors
}

/// Functions for Unix sockets. All sockets are close-on-exec, and no call raises SIGPIPE.
package enum UnixSocket {
  /// The largest length of a path, in bytes.
  package static let pathLengthMax = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size - 1

  package static func make(nonblocking: Bool) throws(Errno) -> FileDescriptor {
    try make(CInt(SOCK_STREAM.rawValue), nonblocking: nonblocking)
  }

  /// Makes a socket on which each send arrives as one packet.
  package static func makeForPackets() throws(Errno) -> FileDescriptor {
    try make(CInt(SOCK_SEQPACKET.rawValue), nonblocking: true)
  }

  static func make(_ type: CInt, nonblocking: Bool) throws(Errno) -> FileDescriptor {
    let flags = CInt(SOCK_CLOEXEC.rawValue) | (nonblocking ? CInt(SOCK_NONBLOCK.rawValue) : 0)
    return FileDescriptor(owning: try retrying { socket(AF_UNIX, type | flags, 0) })
  }

  package static func makePair() throws(Errno) -> SocketPair {
    var pair: (CInt, CInt) = (-1, -1)
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    _ = try retrying {
      unsafe withUnsafeMutablePointer(to: &pair) { pair in
        unsafe pair.withMemoryRebound(to: CInt.self, capacity: 2) { unsafe socketpair(AF_UNIX, type, 0, $0) }
      }
    }
    return SocketPair(one: FileDescriptor(owning: pair.0), other: FileDescriptor(owning: pair.1))
  }

  package struct SocketPair: ~Copyable {
    package let one: FileDescriptor
    package let other: FileDescriptor
  }

  package static func bind(_ descriptor: borrowing FileDescriptor, to path: String) throws(Errno) {
    let socket = descriptor.rawValue
    unsafe try withAddress(path) { address, length throws(Errno) in
      _ = try retrying { unsafe Glibc.bind(socket, address, length) }
    }
  }

  /// Binds the socket to a file. The file never has permission bits outside `mode`. bind(2) takes the bits
  /// from the socket, without those in the umask. chmod(2) then adds the missing ones.
  package static func bind(
    _ descriptor: borrowing FileDescriptor, to path: String, mode: UInt32
  ) throws(Errno) {
    let socket = descriptor.rawValue
    _ = try retrying { fchmod(socket, mode) }
    try bind(descriptor, to: path)
    try SocketFile.setMode(mode, at: path)
  }

  /// The number of clients that can wait. Further clients block in connect(2); a longer backlog would not
  /// serve them sooner. The systemd units of the bus have the same number.
  private static let backlog: CInt = 1024

  package static func listen(_ descriptor: borrowing FileDescriptor) throws(Errno) {
    let socket = descriptor.rawValue
    _ = try retrying { Glibc.listen(socket, backlog) }
  }

  /// Returns the path to which the socket is bound, or an empty text.
  package static func path(of descriptor: borrowing FileDescriptor) -> String {
    let socket = descriptor.rawValue
    guard var address = unsafe address(by: { unsafe getsockname(socket, $0, $1) }) else { return "" }
    return unsafe withUnsafeBytes(of: &address.sun_path) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  package static func connect(_ descriptor: borrowing FileDescriptor, to path: String) throws(Errno) {
    let socket = descriptor.rawValue
    unsafe try withAddress(path) { address, length throws(Errno) in
      _ = try retrying { unsafe Glibc.connect(socket, address, length) }
    }
  }

  /// Returns nil if no connection waits, or the waiting one is gone already.
  package static func accept(_ descriptor: borrowing FileDescriptor) throws(Errno) -> FileDescriptor? {
    let socket = descriptor.rawValue
    let flags = CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    do throws(Errno) {
      return FileDescriptor(owning: try retrying { accept4(socket, nil, nil, flags) })
    } catch  where error == .again || error == .connectionAborted {
      return nil
    }
  }

  package static func peer(of descriptor: borrowing FileDescriptor) throws(Errno) -> PeerCredentials {
    let socket = descriptor.rawValue
    var credentials = tribune_ucred()
    var length = socklen_t(MemoryLayout<tribune_ucred>.size)
    _ = try retrying { unsafe getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) }
    return PeerCredentials(pid: credentials.pid, uid: credentials.uid, gid: credentials.gid)
  }

  /// Returns the groups that the peer had at its connect(2), or nil if they are more than `countMax`.
  package static func groups(
    ofPeer descriptor: borrowing FileDescriptor, countMax: Int
  ) throws(Errno) -> [UInt32]? {
    let socket = descriptor.rawValue
    var groups = [UInt32](repeating: 0, count: 64)
    while true {
      let size = MemoryLayout<UInt32>.size
      var length = socklen_t(groups.count * size)
      do throws(Errno) {
        _ = try retrying { unsafe getsockopt(socket, SOL_SOCKET, TRIBUNE_SO_PEERGROUPS, &groups, &length) }
        return Array(groups.prefix(Int(length) / size))
      } catch  where error == .outOfRange {
        let count = max(groups.count + 1, Int(length) / size)
        guard count <= countMax else { return nil }
        groups = [UInt32](repeating: 0, count: count)
      }
    }
  }

  /// Ends the connection even for copies of the descriptor in other processes.
  package static func shutdown(_ descriptor: borrowing FileDescriptor) {
    // This fails with ENOTCONN if the peer has disconnected.
    _ = Glibc.shutdown(descriptor.rawValue, CInt(SHUT_RDWR))
  }

  /// Ends writing. This side can still read.
  package static func endWriting(_ descriptor: borrowing FileDescriptor) {
    // This fails with ENOTCONN if the peer has disconnected.
    _ = Glibc.shutdown(descriptor.rawValue, CInt(SHUT_WR))
  }

  /// Receives bytes into the buffer, which must have free space.
  package static func receive(
    from descriptor: borrowing FileDescriptor, into buffer: ByteBuffer
  ) throws(Errno) -> Received {
    var passed = PassedDescriptors()
    let received = try receive(from: descriptor, into: buffer, &passed)
    return passed.isEmpty ? received : .descriptors
  }

  /// Receives bytes into the buffer, which must have free space. `passed` gets the descriptors of one send at
  /// most. If this process reaches its limit of descriptors, the remaining descriptors are lost, and `passed`
  /// gets one stand-in, `PassedDescriptors.lost`.
  package static func receive(
    from descriptor: borrowing FileDescriptor, into buffer: ByteBuffer, _ passed: inout PassedDescriptors,
    descriptorsMax: Int = PassedDescriptors.countPerReadMax
  ) throws(Errno) -> Received {
    let socket = descriptor.rawValue
    precondition(buffer.capacity > buffer.count)
    var control = ControlMessage()
    var controlLength = 0
    var flags: CInt = 0
    var count = 0
    do throws(Errno) {
      unsafe try buffer.appendFilling { free throws(Errno) in
        var vector = unsafe iovec(iov_base: free.baseAddress, iov_len: free.count)
        var message = unsafe msghdr()
        count = unsafe try withUnsafeMutablePointer(to: &vector) { vector throws(Errno) in
          unsafe message.msg_iov = vector
          unsafe message.msg_iovlen = 1
          return unsafe try control.withBytes { control throws(Errno) in
            unsafe message.msg_control = control.baseAddress
            unsafe message.msg_controllen = control.count
            let flags = CInt(MSG_DONTWAIT) | CInt(MSG_CMSG_CLOEXEC)
            return try retrying { unsafe recvmsg(socket, &message, flags) }
          }
        }
        controlLength = unsafe message.msg_controllen
        flags = unsafe message.msg_flags
        return count
      }
    } catch  where error == .again {
      return .nothing
    }
    let before = passed.count
    if controlLength > 0 { control.takeDescriptors(length: controlLength, into: &passed) }
    guard passed.count - before <= descriptorsMax else { return .descriptors }
    // The control buffer has space for all descriptors, so only this process's limit of descriptors truncates
    // them.
    if flags & CInt(MSG_CTRUNC) != 0 { passed.appendLost() }
    return count == 0 ? .end : .bytes(count)
  }

  /// If `value` is false, a peer gets EPERM when it sends descriptors to this socket, or to a connection
  /// accepted from it. Before Linux 6.16, the call has no effect.
  package static func setCanReceiveDescriptors(
    _ value: Bool, _ descriptor: borrowing FileDescriptor
  ) throws(Errno) {
    do throws(Errno) {
      try set(TRIBUNE_SO_PASSRIGHTS, to: value, on: descriptor)
    } catch  where error == .noProtocolOption {
      return
    }
  }

  /// Makes reads return urgent data (MSG_OOB). By default, a read skips urgent data, and closes the
  /// descriptors that came with the data. Closing them can take long.
  package static func receiveUrgentDataInPlace(on descriptor: borrowing FileDescriptor) throws(Errno) {
    try set(SO_OOBINLINE, to: true, on: descriptor)
  }

  private static func set(
    _ option: CInt, to value: Bool, on descriptor: borrowing FileDescriptor
  ) throws(Errno) {
    var value: CInt = value ? 1 : 0
    let socket = descriptor.rawValue
    _ = try retrying {
      unsafe setsockopt(socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }
  }

  package static func isDrained(_ descriptor: borrowing FileDescriptor) throws(Errno) -> Bool {
    try unreceivedMemory(of: descriptor) == 0
  }

  /// Returns the kernel's memory for data that the peer has not read, in bytes. The data itself is shorter.
  package static func unreceivedMemory(of descriptor: borrowing FileDescriptor) throws(Errno) -> Int {
    var unread: CInt = 0
    let socket = descriptor.rawValue
    _ = try retrying { unsafe ioctl(socket, UInt(SIOCOUTQ), &unread) }
    return Int(unread)
  }

  /// True if this side has unread data, which may include descriptors.
  package static func hasUnread(_ descriptor: borrowing FileDescriptor) throws(Errno) -> Bool {
    try unreadLength(of: descriptor) > 0
  }

  private static func unreadLength(of descriptor: borrowing FileDescriptor) throws(Errno) -> Int {
    var unread: CInt = 0
    let socket = descriptor.rawValue
    _ = try retrying { unsafe ioctl(socket, UInt(FIONREAD), &unread) }
    return Int(unread)
  }

  /// True if unread data can include descriptors. The caller must first shut the socket down, or more data
  /// could arrive. This function only peeks: receiving would also deliver descriptors, and closing them can
  /// take long. Peeking stops at the first descriptors, and at urgent data, which can have descriptors too.
  package static func canHaveUnreadDescriptors(_ descriptor: borrowing FileDescriptor) -> Bool {
    // All parts together are larger than a socket's default buffer.
    let (partLength, partCountMax) = (16_384, 64)
    let socket = descriptor.rawValue
    do throws(Errno) {
      let unread = try unreadLength(of: descriptor)
      guard unread > 0 else { return false }
      let partCount = (unread + partLength - 1) / partLength
      guard partCount <= partCountMax else { return true }
      // The bytes do not matter, so all parts share one buffer.
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: partLength, alignment: 1)
      defer { unsafe bytes.deallocate() }
      let part = unsafe iovec(iov_base: bytes.baseAddress, iov_len: partLength)
      var parts = unsafe [iovec](repeating: part, count: partCount)
      var message = unsafe msghdr()
      let length = unsafe try parts.withUnsafeMutableBufferPointer { parts throws(Errno) in
        unsafe message.msg_iov = parts.baseAddress
        unsafe message.msg_iovlen = parts.count
        return try retrying { unsafe recvmsg(socket, &message, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) }
      }
      // There is no control buffer, so the kernel reports descriptors as truncated control data.
      return unsafe length < unread || message.msg_flags & CInt(MSG_CTRUNC) != 0
    } catch {
      return true
    }
  }

  static func address(
    by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  ) -> sockaddr_un? {
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, &length) }
    }
    return result == 0 ? address : nil
  }

  /// - Parameter isAbstract: if true, a zero byte replaces the first byte of `path`.
  static func withAddress(
    _ path: String, isAbstract: Bool = false,
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void
  ) throws(Errno) {
    guard !path.isEmpty, path.utf8.count <= pathLengthMax, !path.utf8.contains(0) else { throw .nameTooLong }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
      unsafe field.copyBytes(from: path.utf8)
      if isAbstract { unsafe field[0] = 0 }
    }
    // The length ends an abstract name, and a zero byte ends a path.
    let length =
      isAbstract ? MemoryLayout<sa_family_t>.size + path.utf8.count : MemoryLayout<sockaddr_un>.size
    try unsafe withUnsafePointer(to: &address) { pointer throws(Errno) in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(Errno) in
        try unsafe body(pointer, socklen_t(length))
      }
    }
  }
}
