// SPDX-License-Identifier: Apache-2.0

/// The reason why a request to the bus failed.
public struct TribuneError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of an error, for programs. Later versions may add codes, so treat all unknown codes alike.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private let name: String

    private init(_ name: String) { self.name = name }

    /// The library cannot reach a bus at the address.
    public static let unreachable = Code("unreachable")
    /// The connection to the bus was lost or has ended, or the library could not send the request before its
    /// deadline. If the library had sent the request, the bus has possibly carried it out.
    public static let connectionLost = Code("connectionLost")
    /// The task was cancelled. The library has withdrawn the task's request, if that was possible.
    public static let cancelled = Code("cancelled")
    /// A name is invalid. It must be 1 to 255 bytes of tokens of `[A-Za-z0-9_-]`, separated by dots.
    public static let invalidName = Code("invalidName")
    /// A pattern is invalid. It must be a name, in which `*` can replace one token, and a final `**` one or
    /// more tokens.
    public static let invalidPattern = Code("invalidPattern")
    /// An object is not UTF-8, has control characters, or is longer than 255 bytes.
    public static let invalidObject = Code("invalidObject")
    /// userInfo is longer than the bus accepts (``BusInfo/payloadMax``).
    public static let payloadTooLong = Code("payloadTooLong")
    /// The name starts with `tribune.`, which only the bus may use.
    public static let reservedName = Code("reservedName")
    /// A limit of the bus, of this library or of this process has been reached.
    public static let limitExceeded = Code("limitExceeded")
    /// The request refers to something that does not exist.
    public static let notFound = Code("notFound")
    /// This library and the bus share no version of the wire protocol.
    public static let unsupportedVersion = Code("unsupportedVersion")
    /// The bus or this library broke the wire protocol. In most cases, the connection then ends.
    public static let protocolViolation = Code("protocolViolation")
    /// The bus has ended the connection because this process did not read or write in time.
    public static let tooSlow = Code("tooSlow")
    /// The bus is shutting down.
    public static let shuttingDown = Code("shuttingDown")
    /// The text is not the address of a bus.
    public static let invalidAddress = Code("invalidAddress")
    /// A query with the same name and object is an ancestor of this query (`parent`), or this query has more
    /// than 32 ancestors.
    public static let recursion = Code("recursion")
    /// This user lacks a permission, or an untrusted user serves the bus.
    public static let notPermitted = Code("notPermitted")
    /// The bus does not know a protocol that the request names.
    public static let unknownProtocol = Code("unknownProtocol")
    /// The definitions of protocols have mistakes; the message has the mistakes' lines and columns.
    public static let invalidProtocol = Code("invalidProtocol")
    /// The delegate does not conform to the object's protocol; the message has all reasons.
    public static let notConforming = Code("notConforming")
    /// The object's protocol has no message of that name and kind.
    public static let unknownName = Code("unknownName")
    /// userInfo does not fit the parameters that the object's protocol defines; the message names the field.
    public static let invalidParameter = Code("invalidParameter")
    /// The request conflicts with an existing definition, declaration or attachment.
    public static let conflict = Code("conflict")
    /// The bus or this library refused the request for another reason, which the message gives.
    public static let refused = Code("refused")

    public var description: String { name }
  }

  public var code: Code
  /// The message for people: one line without a full stop. For mistakes in definitions, it has one line for
  /// each mistake.
  public var message: String

  /// Makes an error. This initializer is public for delegates and tests.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) (\(code))" }

  /// True if the bus was unreachable or shut down, or if the connection to the bus was lost.
  package var meansNoBus: Bool { [.unreachable, .connectionLost, .shuttingDown].contains(code) }
}
