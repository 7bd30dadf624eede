// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// A bus's address, such as `unix:/run/tribune/bus`.
public struct Address: Hashable, Sendable, CustomStringConvertible {
  /// The socket's path.
  public var path: String { didSet { servers = nil } }
  /// The users whose processes may serve the bus; nil for all.
  var servers: [UInt32]?

  /// The socket need not exist.
  public init(path: String) { self.path = path }

  /// Parses `unix:PATH`.
  ///
  /// - Throws: ``TribuneError/Code/invalidAddress`` for another form, and for a path that is empty, contains a zero
  ///   byte or is longer than 107 bytes.
  public init(_ text: String) throws(TribuneError) {
    let scheme = "unix:"
    guard text.hasPrefix(scheme) else {
      throw TribuneError(.invalidAddress, "\"\(text)\" is not an address of the form unix:PATH")
    }
    self.init(path: String(text.dropFirst(scheme.count)))
    try validate()
  }

  /// `unix:PATH`.
  public var description: String { "unix:\(path)" }

  /// The system's bus: `/run/tribune/bus`.
  public static let system = Address(path: "/run/tribune/bus")

  /// The bus of this user's service manager, `$XDG_RUNTIME_DIR/tribune/bus`; nil without the variable. The bus need
  /// not run.
  public static var user: Address? {
    Environment.nonEmptyValue(of: "XDG_RUNTIME_DIR").map(user(in:))
  }

  private static func user(in runtimeDirectory: String) -> Address {
    Address(path: "\(runtimeDirectory)/tribune/bus")
  }

  /// The default: `$TRIBUNE_ADDRESS` if it is set; else the first of `$RUNTIME_DIRECTORY/bus` and, except for root,
  /// `$XDG_RUNTIME_DIR/tribune/bus` that exists; else `/run/tribune/bus`.
  ///
  /// Such a folder must belong to this user, and this user or root must serve its bus: otherwise, if a program ran as
  /// root with another user's environment, that user's delegates would decide. For root, `$TRIBUNE_ADDRESS` must also
  /// lead to a bus that root serves, or to the system's.
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

  /// Requires that a permitted user serves the bus at the other end.
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
  /// A failure of this process (permission, resources) must not look like a missing bus.
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
