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
        if kind == "stored":
            given = socket.recv_fds(socket.socket(fileno=0), 65536, 253)
            names += given[0].decode().split()
            passed += given[1]
            for descriptor in given[1]:
                os.set_inheritable(descriptor, False)
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            continue
        else:
            types = {"datagram": socket.SOCK_DGRAM, "packets": socket.SOCK_SEQPACKET}
            kept.append(socket.socket(socket.AF_UNIX, types.get(kind, socket.SOCK_STREAM)))
            kept[-1].bind(path)
            if kind in ("listening", "packets"):
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
      case listening, packets, idle, datagram
      /// What comes over the standard input, with its names.
      case stored
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
