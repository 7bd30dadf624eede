// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// A bus's address, such as `unix:/run/tribune/bus`.
public struct Address: Hashable, Sendable, CustomStringConvertible {
  public var path: String { didSet { servers = nil } }
  /// The ids of the users who may serve the bus; nil allows every user.
  var servers: [UInt32]?

  /// Makes an address without checking the path. The socket need not exist.
  public init(path: String) { self.path = path }

  /// Parses `unix:PATH`.
  ///
  /// - Throws: ``TribuneError/Code/invalidAddress`` if the text has another form, or if the path is empty,
  ///   contains a zero byte or is longer than 107 bytes.
  public init(_ text: String) throws(TribuneError) {
    let scheme = "unix:"
    guard text.hasPrefix(scheme) else {
      throw TribuneError(.invalidAddress, "\"\(text)\" is not an address of the form unix:PATH")
    }
    self.init(path: String(text.dropFirst(scheme.count)))
    try validate()
  }

  public var description: String { "unix:\(path)" }

  /// The system's bus: `/run/tribune/bus`.
  public static let system = Address(path: "/run/tribune/bus")

  /// The user's own bus, which the user's service manager runs: `$XDG_RUNTIME_DIR/tribune/bus`.
  ///
  /// Nil if `$XDG_RUNTIME_DIR` is unset or empty. The property does not check whether a bus runs there.
  public static var user: Address? {
    Environment.nonEmptyValue(of: "XDG_RUNTIME_DIR").map(user(in:))
  }

  private static func user(in runtimeDirectory: String) -> Address {
    Address(path: "\(runtimeDirectory)/tribune/bus")
  }

  /// Finds the default address.
  ///
  /// If `$TRIBUNE_ADDRESS` is set and not empty, its value is the default. Otherwise, the default is the
  /// first of these sockets that exists: `$RUNTIME_DIRECTORY/bus`, then `$XDG_RUNTIME_DIR/tribune/bus` unless
  /// this process runs as root. If none of them exists, the default is `/run/tribune/bus`.
  ///
  /// The function ignores a `$RUNTIME_DIRECTORY` or `$XDG_RUNTIME_DIR` that this process's user does not own.
  /// For a bus in one of these directories, connecting throws `notPermitted` unless this user or root serves
  /// the bus. Without these rules, a program that root runs in another user's environment would obey that
  /// user's delegates. If this process runs as root, only root may serve the bus at `$TRIBUNE_ADDRESS`,
  /// unless that bus is the system's.
  ///
  /// - Throws: ``TribuneError/Code/invalidAddress`` for an invalid `$TRIBUNE_ADDRESS`.
  public static func resolve() throws(TribuneError) -> Address {
    try resolve(
      environment: Environment.value(of:), exists: Environment.fileExists, isOwn: Environment.fileIsOwn,
      user: ThisProcess.effectiveUser)
  }

  static func resolve(
    environment: (String) -> String?, exists: (String) -> Bool, isOwn: (String) -> Bool, user: UInt32
  ) throws(TribuneError) -> Address {
    if let text = environment("TRIBUNE_ADDRESS"), !text.isEmpty {
      var address = try Address(text)
      if user == 0, address != system { address.servers = [0] }
      return address
    }
    var candidates: [Address] = []
    // systemd separates several runtime directories with colons.
    for directory in (environment("RUNTIME_DIRECTORY") ?? "").split(separator: ":").map(String.init)
    where isOwn(directory) {
      candidates.append(Address(path: "\(directory)/bus"))
    }
    if user != 0, let directory = environment("XDG_RUNTIME_DIR"), !directory.isEmpty, isOwn(directory) {
      candidates.append(Self.user(in: directory))
    }
    guard var address = candidates.first(where: { exists($0.path) }) else { return system }
    address.servers = [0, user]
    return address
  }

  /// Throws `notPermitted` unless `servers` is nil or contains the user who serves the bus at the other end
  /// of the socket.
  func requireServer(of socket: borrowing FileDescriptor) throws(TribuneError) {
    guard let servers else { return }
    let user: UInt32
    do throws(Errno) {
      user = try UnixSocket.peer(of: socket).uid
    } catch {
      throw TribuneError(.notPermitted, "the user who serves the bus at \(self) is not known: \(error)")
    }
    guard servers.contains(user) else {
      throw TribuneError(
        .notPermitted, "the bus at \(self) is served by another user (uid \(user)), and cannot be trusted")
    }
  }

  public static func == (one: Address, other: Address) -> Bool { one.path == other.path }

  public func hash(into hasher: inout Hasher) { hasher.combine(path) }

  func validate() throws(TribuneError) {
    guard !path.isEmpty, !path.utf8.contains(0), path.utf8.count <= UnixSocket.pathLengthMax else {
      throw TribuneError(
        .invalidAddress,
        "the path of a socket must have 1 to \(UnixSocket.pathLengthMax) bytes, none of them zero; this one has "
          + "\(path.utf8.count)")
    }
  }
}

extension TribuneError {
  /// Makes the error for a failed connect(2). The code is `unreachable` only if the bus is missing. If this
  /// process lacks a permission or a resource, the error has another code.
  init(connecting error: Errno, to address: Address) {
    switch error {
    case .noSuchFile, .connectionRefused:
      let remedy = address == .system ? "; is tribuned.socket running?" : ""
      self.init(.unreachable, "no bus at \(address): \(error)\(remedy)")
    case .accessDenied: self.init(.notPermitted, "no bus at \(address): \(error)")
    default:
      self.init(
        error.isOutOfResources ? .limitExceeded : .refused, "cannot connect to \(address): \(error)")
    }
  }
}
