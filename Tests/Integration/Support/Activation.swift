// SPDX-License-Identifier: Apache-2.0

/// Passes descriptors to a program as systemd does (sd_listen_fds(3)): from number 3 on.
enum Activation {
  private static let script = """
    import fcntl, os, socket, sys
    passed = []
    names = []
    # These objects would close their sockets.
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
        type = socket.SOCK_SEQPACKET if kind == "packets" else socket.SOCK_STREAM
        kept.append(socket.socket(socket.AF_UNIX, type))
        kept[-1].bind(path)
        kept[-1].listen()
        passed.append(kept[-1].fileno())
        names.append(name)
    # The copies have numbers above those that they will get.
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10 + 3 * len(passed)) for descriptor in passed]
    for index, copy in enumerate(copies):
        os.dup2(copy, 3 + index)
        os.close(copy)
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.environ["LISTEN_FDS"] = str(len(passed))
    os.environ["LISTEN_FDNAMES"] = ":".join(names)
    os.execv(arguments[1], arguments[1:])
    """

  struct Socket {
    enum Kind: String {
      case listening, packets
      case stored
    }

    var kind = Kind.listening
    var name = "bus"
    var path = ""
  }

  /// The program's command line is appended to it.
  static func wrapper(_ sockets: [Socket]) -> [String] {
    ["/usr/bin/env", "python3", "-c", script] + sockets.flatMap { [$0.kind.rawValue, $0.name, $0.path] }
      + ["--"]
  }
}
