# SPDX-License-Identifier: Apache-2.0
"""Why a request failed."""

from __future__ import annotations

import asyncio
import enum
from typing import Final

from ._wire import ErrorCode


class Code(enum.StrEnum):
    """What went wrong, for programs.

    Later versions may add codes: compare with those that you know, and treat the rest alike.
    """

    #: No bus answers at the address.
    UNREACHABLE = "unreachable"
    #: The connection was lost or has ended, or the bus did not accept a request before its
    #: deadline, or did not answer within 5 s after it. An unanswered request may have been carried
    #: out.
    CONNECTION_LOST = "connectionLost"
    #: The request was withdrawn.
    CANCELLED = "cancelled"
    #: A name consists of tokens of ``[A-Za-z0-9_-]``, separated by dots; 1 to 255 bytes.
    INVALID_NAME = "invalidName"
    #: A pattern is a name with ``*`` for one token and a final ``**`` for one or more tokens.
    INVALID_PATTERN = "invalidPattern"
    #: An object is UTF-8 without control characters, at most 255 bytes.
    INVALID_OBJECT = "invalidObject"
    #: userInfo exceeds `BusInfo.payload_max`.
    PAYLOAD_TOO_LONG = "payloadTooLong"
    #: Only the bus may use names with the prefix ``tribune.``.
    RESERVED_NAME = "reservedName"
    #: A limit of the bus or of this library.
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
    #: An enclosing query has the same name and object, or more than 32 queries are nested.
    RECURSION = "recursion"
    #: The policy does not permit this user the request.
    NOT_PERMITTED = "notPermitted"
    UNKNOWN_PROTOCOL = "unknownProtocol"
    #: The message lists the mistakes with lines and columns.
    INVALID_PROTOCOL = "invalidProtocol"
    #: The delegate does not conform to the object's protocol. The message has all details.
    NOT_CONFORMING = "notConforming"
    #: The object's protocol lacks a message of that name and kind.
    UNKNOWN_NAME = "unknownName"
    #: userInfo does not match the parameters in the object's protocol.
    INVALID_PARAMETER = "invalidParameter"
    #: Another definition or declaration has that name, or the connection has such a delegate.
    CONFLICT = "conflict"
    #: Only the message has the reason.
    REFUSED = "refused"


class TribuneError(Exception):
    """A request to the bus failed.

    `code` says why for programs. `message` says it for people: one line without a full stop, but a
    line for each mistake in definitions.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


# Codes with another name in this library.
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
# Codes whose message has a line per mistake.
_OF_LINES: Final = (ErrorCode.INVALID_PROTOCOL, ErrorCode.CONFLICT)


def refusal(number: int, message: str) -> TribuneError:
    """The bus's refusal, with the code of the protocol and a text from others."""
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
    """The error if the bus breaks the protocol."""
    return TribuneError(Code.PROTOCOL_VIOLATION, message)


def repeated(error: TribuneError) -> TribuneError:
    """The same error, to be raised once more.

    An exception that is raised several times keeps the traceback of each time.
    """
    return TribuneError(error.code, error.message)


def require_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Raises `RuntimeError` in another event loop, which would wait for ever."""
    if asyncio.get_running_loop() is not loop:
        raise RuntimeError("a Bus belongs to the event loop in which it was connected")


def closed() -> TribuneError:
    """The error after this side closed the connection."""
    return TribuneError(Code.CONNECTION_LOST, "the connection was closed")


def unknown_outcome() -> TribuneError:
    """The error if the bus may have received the request, or not."""
    return TribuneError(
        Code.CONNECTION_LOST,
        "the connection to the bus was lost, and the outcome of this request is unknown",
    )


def too_long(length: int, limit: int) -> TribuneError:
    """The error if userInfo is longer than the bus accepts."""
    return TribuneError(
        Code.PAYLOAD_TOO_LONG,
        f"userInfo of {length} bytes is over the bus's limit of {limit} (PayloadMax=)",
    )


def not_answered_in_time() -> TribuneError:
    """The error if the bus hangs."""
    return TribuneError(Code.CONNECTION_LOST, "the bus did not answer in time")


def not_sent_in_time() -> TribuneError:
    """The error if a request waited for the bus until its deadline."""
    return TribuneError(
        Code.CONNECTION_LOST,
        "the deadline of this request passed before it could be sent to the bus",
    )


def escaped(text: str) -> str:
    """Text from others, without characters that could act on a terminal."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
