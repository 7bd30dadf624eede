# SPDX-License-Identifier: Apache-2.0
"""Hellos and frames. A frame has a header, fields, a name, an object and a payload."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import ClassVar, Final, Protocol, Self, TypeVar

from . import _wire
from ._errors import Code, TribuneError
from ._fields import FieldError, Reader, Writer
from ._wire import ErrorCode, FrameFlags, FrameKind

HELLO_LENGTH: Final = 16
HEADER_LENGTH: Final = 32
# These are plain numbers, because arithmetic with enumerations is slow.
ACKNOWLEDGE: Final = int(FrameFlags.ACKNOWLEDGE)
DESCRIPTOR: Final = int(FrameFlags.DESCRIPTOR)
CRITICAL: Final = int(FrameFlags.CRITICAL)
VERSION: Final = 1

_MAGIC: Final = b"\xf1TRIBUNE"
_HELLO: Final = Struct("<8sHHI")
# The length, kind, flags, lengths of name and object, sender, serial, length of the fields, zero.
_HEADER: Final = Struct("<IBBBBQQII")


class FrameError(FieldError):
    """The bytes are not a frame or a hello, so the bytes behind them cannot be read either."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class Capabilities(enum.IntFlag):
    """The capabilities of the sender of a hello."""

    DESCRIPTORS = 1
    POSTERS = 2


@dataclass(slots=True)
class Hello:
    """The first bytes that each side sends."""

    version: int = VERSION
    minimum: int = VERSION
    capabilities: int = 0

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Reads the first 16 bytes of `data`.

        Raises `FrameError` if these are not a hello, or are incomplete.
        """
        if data[:8] != _MAGIC[: len(data)]:
            raise FrameError(ErrorCode.BAD_MAGIC, "the first bytes are not a Tribune hello")
        if len(data) < HELLO_LENGTH:
            raise FrameError(ErrorCode.MALFORMED_FRAME, "the hello is not complete")
        _, version, minimum, capabilities = _HELLO.unpack_from(data)
        return cls(int(version), int(minimum), int(capabilities))

    @classmethod
    def is_partial(cls, data: bytes) -> bool:
        """Returns whether the bytes are only the beginning of a hello."""
        return len(data) < HELLO_LENGTH and data[:8] == _MAGIC[: len(data)]

    def encode(self) -> bytes:
        return _HELLO.pack(_MAGIC, self.version, self.minimum, self.capabilities)

    def require_common_version(self) -> None:
        """Raises `FrameError` unless the sender speaks version 1."""
        if not self.minimum <= VERSION <= self.version:
            raise FrameError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the bus speaks versions {self.minimum} to {self.version}, this client {VERSION}",
            )


@dataclass(slots=True)
class Limits:
    """The longest parts of a frame that a reader accepts, in bytes."""

    fields: int
    payload: int


# The limits after the welcome. Verdicts can be long, and `traffic` contains a whole frame.
FROM_BUS: Final = Limits(fields=1 << 30, payload=(1 << 30) + 1_048_576)
# The limits before the welcome.
GREETING: Final = Limits(fields=65_536, payload=65_536)


class Frame:
    """A frame that has arrived as a whole. Each property but `reader` copies a part."""

    __slots__ = (
        "data",
        "fields_length",
        "flags",
        "kind",
        "length",
        "name_length",
        "object_length",
        "sender",
        "serial",
        "start",
    )

    data: bytes
    start: int
    length: int
    # The kind is a number, because later versions have more kinds.
    kind: int
    flags: int
    name_length: int
    object_length: int
    sender: int
    serial: int
    fields_length: int

    @classmethod
    def decode(cls, data: bytes, start: int = 0, limits: Limits = FROM_BUS) -> Self | int:
        """Reads the frame that begins at `start`.

        If the frame is incomplete, returns its length, or 0 if the header is incomplete. Raises
        `FrameError` if the lengths in the header are invalid.
        """
        available = len(data) - start
        if available < HEADER_LENGTH:
            return 0
        frame = cls()
        (length, frame.kind, frame.flags, names, objects, frame.sender, frame.serial, fields, _) = (
            _HEADER.unpack_from(data, start)
        )
        payload = length - HEADER_LENGTH - fields - names - objects
        if payload < 0:
            raise FrameError(
                ErrorCode.MALFORMED_FRAME, "a frame is shorter than its parts together"
            )
        if fields > limits.fields or payload > limits.payload:
            raise FrameError(ErrorCode.FRAME_TOO_LONG, f"a frame of {length} bytes is too long")
        if length > available:
            return int(length)
        frame.data, frame.start, frame.length = data, start, length
        frame.name_length, frame.object_length, frame.fields_length = names, objects, fields
        return frame

    def _part(self, offset: int, count: int) -> bytes:
        start = self.start + HEADER_LENGTH + self.fields_length + offset
        return self.data[start : start + count]

    @property
    def reader(self) -> Reader:
        """A reader for the fields."""
        start = self.start + HEADER_LENGTH
        return Reader(self.data, start, start + self.fields_length)

    @property
    def name(self) -> str:
        return self._part(0, self.name_length).decode(errors="replace")

    @property
    def object(self) -> str:
        return self._part(self.name_length, self.object_length).decode(errors="replace")

    @property
    def route(self) -> tuple[bytes, int]:
        """The bytes of name and object, and the length of the name, for use as a key."""
        start = self.start + HEADER_LENGTH + self.fields_length
        return self.data[start : start + self.name_length + self.object_length], self.name_length

    @property
    def payload(self) -> bytes:
        offset = HEADER_LENGTH + self.fields_length + self.name_length + self.object_length
        return self.data[self.start + offset : self.start + self.length]

    @property
    def text(self) -> str:
        """The payload as text."""
        return self.payload.decode(errors="replace")


class Fields(Protocol):
    """The fields of one kind of frame."""

    KIND: ClassVar[FrameKind]

    @classmethod
    def read(cls, reader: Reader) -> Self: ...

    def write(self, writer: Writer) -> None: ...


_AnyFields = TypeVar("_AnyFields", bound=Fields)


def decode_fields(fields: type[_AnyFields], frame: Frame) -> _AnyFields:
    """Reads the fields of a frame. Raises `FrameError` if they are incomplete or invalid."""
    try:
        return fields.read(frame.reader)
    except ValueError as error:
        raise FrameError(
            ErrorCode.MALFORMED_FRAME, f"a frame of kind {frame.kind} is not valid: {error}"
        ) from error


def encode(
    fields: Fields,
    *,
    name: bytes = b"",
    object: bytes = b"",
    payload: bytes | bytearray | memoryview = b"",
    serial: int = 0,
    flags: int = 0,
    sender: int = 0,
) -> bytes:
    """Returns a whole frame. Name and object have at most 255 bytes each.

    Raises `TribuneError` with `LIMIT_EXCEEDED` if a number or a text does not fit into its field.
    """
    writer = Writer()
    try:
        fields.write(writer)
    except struct_error as error:
        kind = fields.KIND.name.lower()
        raise TribuneError(
            Code.LIMIT_EXCEEDED, f"a value of this {kind} does not fit: {error}"
        ) from error
    length = HEADER_LENGTH + len(writer.data) + len(name) + len(object) + len(payload)
    header = _HEADER.pack(
        length, fields.KIND, flags, len(name), len(object), sender, serial, len(writer.data), 0
    )
    return b"".join((header, writer.data, name, object, payload))


PLAIN_HEADER: Final = Struct("<II8xQ8x")


def route_word(name_length: int, object_length: int) -> int:
    """Returns the second word of the header of a post without fields and flags."""
    return FrameKind.POST | name_length << 16 | object_length << 24


class SentFrame:
    """The facts about a frame that waits to be written."""

    __slots__ = ("deadline", "flags", "is_plain_post", "kind", "serial")

    def __init__(self, frame: bytes) -> None:
        self.kind = frame[4]
        self.flags = frame[5]
        self.serial = int.from_bytes(frame[16:24], "little")
        at = _DEADLINES.get(self.kind)
        # The deadline in milliseconds; 0 for none. A post without fields has no deadline.
        self.deadline = 0
        has_fields = frame[24:28] != b"\0\0\0\0"
        if at is not None and has_fields:
            self.deadline = int.from_bytes(frame[at : at + 4], "little")

        # True for a post to which no caller awaits a reply.
        self.is_plain_post = (
            self.kind == FrameKind.POST
            and not self.flags & ACKNOWLEDGE
            and not (has_fields and frame[HEADER_LENGTH] & _wire.PostOptions.AWAITED)
        )


_DEADLINES: Final[dict[int, int]] = {
    FrameKind.POST: HEADER_LENGTH + 2,
    FrameKind.ASK: HEADER_LENGTH,
}


def with_deadline(frame: bytes, milliseconds: int) -> bytes:
    """Returns the same `ask` or `post` with another deadline."""
    at = _DEADLINES[frame[4]]
    return frame[:at] + milliseconds.to_bytes(4, "little") + frame[at + 4 :]
