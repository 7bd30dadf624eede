// SPDX-License-Identifier: Apache-2.0

/// Starts a program with sockets passed to it, as sd_listen_fds(3) has systemd do it: descriptors 3 and
/// on, and an environment that speaks of them to this very process.
enum Activation {
  private static let script = """
    import os, socket, sys
    sockets = []
    names = []
    arguments = sys.argv[1:]
    while arguments[0] != "--":
        kind, name, path = arguments[:3]
        del arguments[:3]
        passed = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM)
        passed.bind(path)
        if kind == "listening":
            passed.listen()
        sockets.append(passed)
        names.append(name)
    # Out of the way of the places that they are to have.
    copies = [os.dup2(passed.fileno(), 100 + index) for index, passed in enumerate(sockets)]
    for index, copy in enumerate(copies):
        os.dup2(copy, 3 + index)
        os.close(copy)
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.environ["LISTEN_FDS"] = str(len(sockets))
    os.environ["LISTEN_FDNAMES"] = ":".join(names)
    os.execv(arguments[1], arguments[1:])
    """

  /// What is passed.
  struct Socket {
    enum Kind: String {
      case listening, idle, datagram
    }

    var kind = Kind.listening
    var name = "bus"
    var path: String
  }

  /// A command that the program's own is appended to.
  static func wrapper(_ sockets: [Socket]) -> [String] {
    ["/usr/bin/env", "python3", "-c", script] + sockets.flatMap { [$0.kind.rawValue, $0.name, $0.path] }
      + ["--"]
  }
}
