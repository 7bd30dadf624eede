# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the fields of frames.

A reader checks each length against the bytes that are left, before it uses the length. So a hostile
peer can make a reader fail, but cannot do more harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, Protocol

U8: Final = Struct("<B")
U16: Final = Struct("<H")
U32: Final = Struct("<I")
U64: Final = Struct("<Q")
I32: Final = Struct("<i")


class FieldError(ValueError):
    """The fields of a frame are incomplete, or have a value that their type does not allow."""


class Writable(Protocol):
    """A record of fields."""

    def write(self, writer: Writer) -> None: ...


class Reader:
    """Reads fields from the beginning of some bytes.

    Bytes that are left at the end are fields of later versions.
    """

    __slots__ = ("_data", "_end", "_position")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self._data = data
        self._position = start
        self._end = len(data) if end is None else end

    @property
    def left(self) -> int:
        """The number of bytes that have not been read."""
        return self._end - self._position

    def _take(self, count: int) -> int:
        """Steps over `count` bytes, and returns the position at which they begin."""
        start = self._position
        if count > self._end - start:
            raise FieldError("the fields of a frame end in the middle of one")
        self._position = start + count
        return start

    def u8(self) -> int:
        return self._data[self._take(1)]

    def u16(self) -> int:
        value: int = U16.unpack_from(self._data, self._take(2))[0]
        return value

    def u32(self) -> int:
        value: int = U32.unpack_from(self._data, self._take(4))[0]
        return value

    def u64(self) -> int:
        value: int = U64.unpack_from(self._data, self._take(8))[0]
        return value

    def i32(self) -> int:
        value: int = I32.unpack_from(self._data, self._take(4))[0]
        return value

    def flag(self) -> bool:
        return self.u8() != 0

    def text(self) -> str:
        return self._bytes(self.u16()).decode(errors="replace")

    def blob(self) -> bytes:
        return self._bytes(self.u32())

    def _bytes(self, count: int) -> bytes:
        start = self._take(count)
        return self._data[start : start + count]

    def texts(self) -> list[str]:
        return [self.text() for _ in range(self.u16())]

    def integers(self) -> list[int]:
        count = self._count(4)
        return [self.u32() for _ in range(count)]

    def records(self) -> Iterator[Reader]:
        """Yields a reader for each record of a list."""
        for _ in range(self._count(4)):
            count = self.u32()
            start = self._take(count)
            yield Reader(self._data, start, start + count)

    def _count(self, least: int) -> int:
        """Reads the number of elements of a list. Each element has at least `least` bytes."""
        count = self.u32()
        if count * least > self.left:
            raise FieldError("a list has more elements than its frame has bytes for")
        return count


class Writer:
    """Appends fields to some bytes."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def u8(self, value: int) -> None:
        self.data.append(value)

    def u16(self, value: int) -> None:
        self.data += U16.pack(value)

    def u32(self, value: int) -> None:
        self.data += U32.pack(value)

    def u64(self, value: int) -> None:
        self.data += U64.pack(value)

    def i32(self, value: int) -> None:
        self.data += I32.pack(value)

    def flag(self, value: bool) -> None:
        self.data.append(value)

    def text(self, value: str) -> None:
        encoded = value.encode(errors="replace")
        self.u16(len(encoded))
        self.data += encoded

    def blob(self, value: bytes) -> None:
        self.u32(len(value))
        self.data += value

    def texts(self, values: Sequence[str]) -> None:
        self.u16(len(values))
        for value in values:
            self.text(value)

    def integers(self, values: Sequence[int]) -> None:
        self.u32(len(values))
        for value in values:
            self.u32(value)

    def records(self, values: Sequence[Writable]) -> None:
        self.u32(len(values))
        for value in values:
            record = Writer()
            value.write(record)
            self.blob(bytes(record.data))
