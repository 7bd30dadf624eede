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
    #: The connection was lost or has ended, or the bus did not take a request before its deadline,
    #: or did not answer within 5 s after it.
    #: A request that was sent and not answered may have been carried out.
    CONNECTION_LOST = "connectionLost"
    #: The bus says that the request was taken back.
    CANCELLED = "cancelled"
    #: A name is not dot-separated tokens of ``[A-Za-z0-9_-]``, 1 to 255 bytes in all.
    INVALID_NAME = "invalidName"
    #: A pattern is not a name with ``*`` for one token and ``**``, last, for one token or more.
    INVALID_PATTERN = "invalidPattern"
    #: An object is not UTF-8, has control characters, or is longer than 255 bytes.
    INVALID_OBJECT = "invalidObject"
    #: userInfo is longer than the bus accepts (`BusInfo.payload_max`).
    PAYLOAD_TOO_LONG = "payloadTooLong"
    #: The name starts with ``tribune.``, which only the bus may use.
    RESERVED_NAME = "reservedName"
    #: A limit of the bus or of this library has been reached.
    LIMIT_EXCEEDED = "limitExceeded"
    #: What the request refers to does not exist.
    NOT_FOUND = "notFound"
    #: This library and the bus share no version of the protocol.
    UNSUPPORTED_VERSION = "unsupportedVersion"
    #: One side sent what the protocol does not allow. The connection has ended.
    PROTOCOL_VIOLATION = "protocolViolation"
    #: The bus has ended the connection because this side did not read or write in time.
    TOO_SLOW = "tooSlow"
    #: The bus is shutting down.
    SHUTTING_DOWN = "shuttingDown"
    #: The text is not the address of a bus.
    INVALID_ADDRESS = "invalidAddress"
    #: An enclosing query has the same name and object, or there are more than 32 of them.
    RECURSION = "recursion"
    #: This user may not do that.
    NOT_PERMITTED = "notPermitted"
    #: There is no protocol of that name.
    UNKNOWN_PROTOCOL = "unknownProtocol"
    #: The definitions have mistakes; the message lists them with their lines and columns.
    INVALID_PROTOCOL = "invalidProtocol"
    #: The delegate does not conform to the protocol of the object; the message says how, in full.
    NOT_CONFORMING = "notConforming"
    #: The protocol of the object has no message of that name and kind.
    UNKNOWN_NAME = "unknownName"
    #: userInfo does not fit the parameters in the protocol of the object.
    INVALID_PARAMETER = "invalidParameter"
    #: A different definition or declaration already has that name.
    CONFLICT = "conflict"
    #: The request is refused for a reason that only the message gives.
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


# The codes of the protocol that have another name in this library.
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
# Those whose message has a line for each mistake.
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
    """The bus has broken the protocol."""
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
    """The connection was closed by this side."""
    return TribuneError(Code.CONNECTION_LOST, "the connection was closed")


def unknown_outcome() -> TribuneError:
    """The bus may have received the request, or not."""
    return TribuneError(
        Code.CONNECTION_LOST,
        "the connection to the bus was lost, and the outcome of this request is unknown",
    )


def too_long(length: int, limit: int) -> TribuneError:
    """userInfo is longer than the bus accepts."""
    return TribuneError(
        Code.PAYLOAD_TOO_LONG,
        f"userInfo of {length} bytes is over the bus's limit of {limit} (PayloadMax=)",
    )


def not_answered_in_time() -> TribuneError:
    """The bus hangs."""
    return TribuneError(Code.CONNECTION_LOST, "the bus did not answer in time")


def not_sent_in_time() -> TribuneError:
    """The request has waited for the bus until its deadline."""
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
