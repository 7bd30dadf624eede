// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// The attributes and file actions of posix_spawn(3).
@safe struct SpawnRequest: ~Copyable {
  private var attributes = posix_spawnattr_t()
  private var actions = unsafe posix_spawn_file_actions_t()
  private var flags: Int32 = 0
  private var given: [CInt] = []

  init() throws(Errno) {
    try check(unsafe posix_spawnattr_init(&attributes))
    let error = unsafe posix_spawn_file_actions_init(&actions)
    guard error == 0 else {
      unsafe posix_spawnattr_destroy(&attributes)
      throw Errno(rawValue: error)
    }
  }

  deinit {
    var attributes = self.attributes
    var actions = unsafe self.actions
    unsafe posix_spawnattr_destroy(&attributes)
    unsafe posix_spawn_file_actions_destroy(&actions)
    for descriptor in given { FileDescriptor(owning: descriptor).close() }
  }

  mutating func setSignalMask(_ mask: SignalMask) throws(Errno) {
    var set = mask.set
    try check(unsafe posix_spawnattr_setsigmask(&attributes, &set))
    flags |= Int32(POSIX_SPAWN_SETSIGMASK)
  }

  mutating func setOwnGroup() throws(Errno) {
    try check(unsafe posix_spawnattr_setpgroup(&attributes, 0))
    flags |= Int32(POSIX_SPAWN_SETPGROUP)
  }

  /// Gives the descriptor to the child, under another number. `deinit` closes this process's copy.
  mutating func give(_ descriptor: consuming FileDescriptor, as number: CInt) throws(Errno) {
    let rawValue = descriptor.release()
    given.append(rawValue)
    try check(unsafe posix_spawn_file_actions_adddup2(&actions, rawValue, number))
  }

  /// Makes a pipe and gives its write end to the child. Returns the read end.
  mutating func givePipe(as number: CInt) throws(Errno) -> FileDescriptor {
    let pipe = try Pipe()
    try give(pipe.writeEnd, as: number)
    return pipe.readEnd
  }

  mutating func inherit(_ descriptor: CInt) throws(Errno) {
    // If both numbers are equal, adddup2 clears close-on-exec in the child.
    try check(unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor))
  }

  mutating func start(_ arguments: [[UInt8]], environment: [[UInt8]]) throws(Errno) -> pid_t {
    try check(unsafe posix_spawnattr_setflags(&attributes, Int16(flags)))
    var pid: pid_t = 0
    let error = unsafe withCStrings(arguments) { argumentList in
      unsafe withCStrings(environment) { environmentList in
        guard let program = unsafe argumentList.pointee else { return EINVAL }
        return unsafe posix_spawnp(&pid, program, &actions, &attributes, argumentList, environmentList)
      }
    }
    try check(error)
    return pid
  }
}

/// posix_spawn's functions return their error instead of setting errno.
private func check(_ error: CInt) throws(Errno) {
  guard error == 0 else { throw Errno(rawValue: error) }
}

/// Returns a copy that the caller must free.
private func copy(of bytes: [UInt8]) -> UnsafeMutablePointer<CChar>? {
  unsafe bytes.withUnsafeBufferPointer { bytes in
    unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
      unsafe characters.baseAddress.flatMap { unsafe strndup($0, bytes.count) } ?? strdup("")
    }
  }
}

private func withCStrings<R>(
  _ strings: [[UInt8]], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
  let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
  for (index, string) in strings.enumerated() { unsafe list[index] = copy(of: string) }
  unsafe list[strings.count] = nil
  defer {
    for index in strings.indices { unsafe free(list[index]) }
    unsafe list.deallocate()
  }
  return unsafe body(list)
}
