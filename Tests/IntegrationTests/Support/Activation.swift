// SPDX-License-Identifier: Apache-2.0

/// Starts a program with descriptors passed to it, as sd_listen_fds(3) has systemd do it: descriptors 3 and
/// on, and an environment that speaks of them to this very process.
enum Activation {
  private static let script = """
    import fcntl, os, socket, sys
    passed = []
    names = []
    # What was opened is closed with its object.
    kept = []
    arguments = sys.argv[1:]
    while arguments[0] != "--":
        kind, name, path = arguments[:3]
        del arguments[:3]
        if kind == "file":
            passed.append(os.memfd_create("test", os.MFD_ALLOW_SEALING))
            fcntl.fcntl(passed[-1], 1033, 7)  # F_ADD_SEALS
        elif kind == "connected":
            kept += socket.socketpair()
            passed.append(kept[-1].fileno())
        else:
            kept.append(
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM))
            kept[-1].bind(path)
            if kind == "listening":
                kept[-1].listen()
            passed.append(kept[-1].fileno())
        names.append(name)
    # Out of the way of the places that they are to have.
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10 + 3 * len(passed)) for descriptor in passed]
    for index, copy in enumerate(copies):
        os.dup2(copy, 3 + index)
        os.close(copy)
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.environ["LISTEN_FDS"] = str(len(passed))
    os.environ["LISTEN_FDNAMES"] = ":".join(names)
    os.execv(arguments[1], arguments[1:])
    """

  /// What is passed.
  struct Socket {
    enum Kind: String {
      case listening, idle, datagram
      /// One end of a connection whose other end is closed, and a sealed file in memory.
      case connected, file
    }

    var kind = Kind.listening
    var name = "bus"
    /// Of a socket that is none of a connection.
    var path = ""
  }

  /// A command that the program's own is appended to.
  static func wrapper(_ sockets: [Socket]) -> [String] {
    ["/usr/bin/env", "python3", "-c", script] + sockets.flatMap { [$0.kind.rawValue, $0.name, $0.path] }
      + ["--"]
  }
}
