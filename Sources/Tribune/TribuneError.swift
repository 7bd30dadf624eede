// SPDX-License-Identifier: Apache-2.0

/// Why something that was asked of the bus did not happen.
public struct TribuneError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What went wrong, for programs. More codes may come; so compare, and treat the rest alike.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name, as `description` shows it.
    private let name: String

    private init(_ name: String) { self.name = name }

    /// No bus answers at the address.
    public static let unreachable = Code("unreachable")
    /// The connection has ended; what had been asked on it is not known to have happened.
    public static let connectionLost = Code("connectionLost")
    /// The task was cancelled, and what it had asked for was taken back.
    public static let cancelled = Code("cancelled")
    /// A name is not dot-separated tokens of `[A-Za-z0-9_-]`, 1 to 255 bytes in all.
    public static let invalidName = Code("invalidName")
    /// A pattern is not a name with `*` for one token and `**`, last, for one token or more.
    public static let invalidPattern = Code("invalidPattern")
    /// An object is not UTF-8 without control characters, 255 bytes at most.
    public static let invalidObject = Code("invalidObject")
    /// userInfo is longer than the bus accepts (``BusInfo/payloadMax``).
    public static let payloadTooLong = Code("payloadTooLong")
    /// Names that start with `tribune.` are the bus's own.
    public static let reservedName = Code("reservedName")
    /// The bus, or this library, holds no more of these for one connection.
    public static let limitExceeded = Code("limitExceeded")
    /// There is no such thing.
    public static let notFound = Code("notFound")
    /// This library and the bus have no version of the protocol in common.
    public static let unsupportedVersion = Code("unsupportedVersion")
    /// One side sent what the protocol does not allow. The connection has ended.
    public static let protocolViolation = Code("protocolViolation")
    /// The bus has ended the connection because this side did not read or write in time.
    public static let tooSlow = Code("tooSlow")
    /// The bus is shutting down.
    public static let shuttingDown = Code("shuttingDown")
    /// The text is not the address of a bus.
    public static let invalidAddress = Code("invalidAddress")
    /// The query is already being asked: one of the same name and object is among the queries that it is asked
    /// within, or those are more than 32.
    public static let recursion = Code("recursion")
    /// This user may not do that.
    public static let notPermitted = Code("notPermitted")
    /// No protocol is so called.
    public static let unknownProtocol = Code("unknownProtocol")
    /// The definitions have mistakes, which the message names with their lines and columns.
    public static let invalidProtocol = Code("invalidProtocol")
    /// The delegate does not conform to the protocol of the object, which the message tells in full.
    public static let notConforming = Code("notConforming")
    /// The protocol of the object has no message of that name.
    public static let unknownName = Code("unknownName")
    /// userInfo does not fit the parameters that the protocol of the object says; the message names the field.
    public static let invalidParameter = Code("invalidParameter")
    /// Something else is defined or declared under the same name already.
    public static let conflict = Code("conflict")
    /// The bus refuses it for a reason that only the message tells.
    public static let refused = Code("refused")

    /// The code's name.
    public var description: String { name }
  }

  /// What went wrong, for programs.
  public var code: Code
  /// What went wrong, for people: one line, no full stop.
  public var message: String

  /// Makes an error, as a delegate or a test may want to.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message with its code.
  public var description: String { "\(message) (\(code))" }
}
