# SPDX-License-Identifier: Apache-2.0
"""The errors of requests."""

from __future__ import annotations

import asyncio
import enum
from typing import Final

from ._wire import ErrorCode


class Code(enum.StrEnum):
    """The reason of an error, for programs.

    Later versions may add codes. Compare with the codes that you know, and treat all others alike.
    """

    #: No bus answers at the address.
    UNREACHABLE = "unreachable"
    #: The connection was lost or has ended. Or the request was not sent before its deadline, or was
    #: not answered within 5 s after its deadline. The bus may have carried out an unanswered
    #: request.
    CONNECTION_LOST = "connectionLost"
    #: The request was withdrawn.
    CANCELLED = "cancelled"
    #: The text is not a name. A name has tokens of ``[A-Za-z0-9_-]``, separated by dots, and at
    #: most 255 bytes.
    INVALID_NAME = "invalidName"
    #: The text is not a pattern. A pattern is a name in which ``*`` matches one token, and ``**``
    #: at the end one or more tokens.
    INVALID_PATTERN = "invalidPattern"
    #: The text is not an object. An object is UTF-8 without control characters, at most 255 bytes.
    INVALID_OBJECT = "invalidObject"
    #: userInfo exceeds `BusInfo.payload_max`.
    PAYLOAD_TOO_LONG = "payloadTooLong"
    #: Only the bus may use names with the prefix ``tribune.``.
    RESERVED_NAME = "reservedName"
    #: A limit of the bus or of this library is exceeded.
    LIMIT_EXCEEDED = "limitExceeded"
    #: The target of the request does not exist.
    NOT_FOUND = "notFound"
    #: This library and the bus have no common version of the protocol.
    UNSUPPORTED_VERSION = "unsupportedVersion"
    #: One side violated the protocol. The connection has ended.
    PROTOCOL_VIOLATION = "protocolViolation"
    #: The bus ended the connection, because this side did not read or write in time.
    TOO_SLOW = "tooSlow"
    SHUTTING_DOWN = "shuttingDown"
    #: The text is not a bus address.
    INVALID_ADDRESS = "invalidAddress"
    #: An outer query (`parent`) has the same name and object, or more than 32 queries are nested.
    RECURSION = "recursion"
    #: The policy does not allow this user the request.
    NOT_PERMITTED = "notPermitted"
    UNKNOWN_PROTOCOL = "unknownProtocol"
    #: The definitions have mistakes. The message lists them with lines and columns.
    INVALID_PROTOCOL = "invalidProtocol"
    #: The delegate does not conform to the object's protocol. The message has all details.
    NOT_CONFORMING = "notConforming"
    #: The object's protocol lacks a message of that name and kind.
    UNKNOWN_NAME = "unknownName"
    #: userInfo does not match the parameters in the object's protocol.
    INVALID_PARAMETER = "invalidParameter"
    #: There is another definition of this name, or another declaration of this object. Or the
    #: connection already has a delegate with the same object, names and label.
    CONFLICT = "conflict"
    #: The request was refused. Only the message has the reason.
    REFUSED = "refused"


class TribuneError(Exception):
    """A request to the bus failed.

    `code` is the reason for programs, and `message` the reason for people. The message is one line
    without a full stop. For mistakes in definitions, it has one line for each mistake.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


# The bus's codes that have another name in this library.
_RENAMED: Final = {
    ErrorCode.BAD_MAGIC: Code.PROTOCOL_VIOLATION,
    ErrorCode.FRAME_TOO_LONG: Code.PROTOCOL_VIOLATION,
    ErrorCode.MALFORMED_FRAME: Code.PROTOCOL_VIOLATION,
    ErrorCode.UNKNOWN_CRITICAL_KIND: Code.PROTOCOL_VIOLATION,
    ErrorCode.UNEXPECTED_DESCRIPTORS: Code.PROTOCOL_VIOLATION,
    ErrorCode.MISSING_DESCRIPTOR: Code.PROTOCOL_VIOLATION,
    ErrorCode.AFTER_LAST: Code.PROTOCOL_VIOLATION,
    ErrorCode.HELLO_TIMEOUT: Code.TOO_SLOW,
    ErrorCode.FRAME_TIMEOUT: Code.TOO_SLOW,
    ErrorCode.TOO_MANY_CONNECTIONS: Code.LIMIT_EXCEEDED,
    ErrorCode.OUT_OF_MEMORY: Code.LIMIT_EXCEEDED,
    ErrorCode.RESTARTED: Code.CONNECTION_LOST,
    ErrorCode.NOT_ASKED: Code.NOT_FOUND,
}
# Codes whose message has one line for each mistake.
_OF_LINES: Final = (ErrorCode.INVALID_PROTOCOL, ErrorCode.CONFLICT)


def refusal(number: int, message: str) -> TribuneError:
    """Returns the error for a refusal. Escapes the message, which can contain foreign text."""
    code = Code.REFUSED
    with_lines = False
    if number in ErrorCode.__members__.values():
        known = ErrorCode(number)
        with_lines = known in _OF_LINES
        code = _RENAMED.get(known) or Code.__members__.get(known.name, Code.REFUSED)
    lines = message.split("\n") if with_lines else [message]
    text = "\n".join(escaped(line) for line in lines)
    return TribuneError(code, text or "the bus gave no reason")


def violation(message: str) -> TribuneError:
    """Returns the error for a bus that breaks the protocol."""
    return TribuneError(Code.PROTOCOL_VIOLATION, message)


def repeated(error: TribuneError) -> TribuneError:
    """Returns a copy of an error, to be raised again.

    An exception that is raised several times would collect a longer traceback each time.
    """
    return TribuneError(error.code, error.message)


def require_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Raises `RuntimeError` outside this event loop: the caller would wait there forever."""
    if asyncio.get_running_loop() is not loop:
        raise RuntimeError("a Bus belongs to the event loop in which it was connected")


def closed() -> TribuneError:
    """Returns the error of a request after this side has closed the connection."""
    return TribuneError(Code.CONNECTION_LOST, "the connection was closed")


def unknown_outcome() -> TribuneError:
    """Returns the error of a request that the bus may or may not have received."""
    return TribuneError(
        Code.CONNECTION_LOST,
        "the connection to the bus was lost, and the outcome of this request is unknown",
    )


def too_long(length: int, limit: int) -> TribuneError:
    """Returns the error for userInfo that is longer than the bus accepts."""
    return TribuneError(
        Code.PAYLOAD_TOO_LONG,
        f"userInfo of {length} bytes is over the bus's limit of {limit} (PayloadMax=)",
    )


def not_answered_in_time() -> TribuneError:
    """Returns the error of a request that the bus has not answered in time."""
    return TribuneError(Code.CONNECTION_LOST, "the bus did not answer in time")


def not_sent_in_time() -> TribuneError:
    """Returns the error of a request that waited for the bus until its deadline."""
    return TribuneError(
        Code.CONNECTION_LOST,
        "the deadline of this request passed before it could be sent to the bus",
    )


def escaped(text: str) -> str:
    """Escapes characters that could act on a terminal, in a text from other processes."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
