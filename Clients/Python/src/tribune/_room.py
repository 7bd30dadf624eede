# SPDX-License-Identifier: Apache-2.0
"""Flow control: the bus sends notifications while every reader of a connection has room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _wire
from ._frame import encode

if TYPE_CHECKING:
    from ._link import Link
    from ._stream import Stream


class Room:
    """The limit up to which the bus sends notifications over the connection.

    It is what was received, and the room of the stream with the least. It is never lowered.

    Readers that go on reading are never stuck. Say that the bus has reached the limit. After that
    batch, the limit was not raised only because some streams gave less than a quarter of the least
    limit. Each of them was more than half full, so its reader takes it to exactly half. When the
    last one gets there, every stream gives at least one, and the limit is raised at once. Streams
    that are half full at most, but hold too many bytes, raise it when they hold few enough.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._streams: dict[Stream[Any], None] = {}
        # The least limit of a stream.
        self._least = 0
        # -1 before the first of a connection.
        self._limit = -1
        # The limit that the bus knows.
        self._known = -1

    def add(self, stream: Stream[Any]) -> None:
        """Takes a stream into account, from before the bus learns of its observation."""
        self._streams[stream] = None
        if len(self._streams) == 1:
            self.give()
        else:
            self._least = min(self._least, stream.limit)

    def remove(self, stream: Stream[Any]) -> None:
        """Forgets a stream that has ended, or does nothing."""
        if stream in self._streams:
            del self._streams[stream]
            self.give()

    def give(self, step: int = 1) -> None:
        """Raises the limit at once, if that is by so many and the connection is open."""
        if self._link.is_open and (frame := self._raised(step)):
            self._link.send_ahead(frame)

    def note_batch(self) -> None:
        """Raises the limit if it is worth a frame: a batch of frames was received."""
        step = max(self._least // 4, 1)
        if self._link.receiver.received + self._least - self._known >= step:
            self.give(step)

    def answer(self) -> None:
        """Repeats the limit, because the bus has forgotten it."""
        self._known = -1
        self.give()

    def begin(self) -> bytes:
        """The first frame of a new connection; empty without streams."""
        self._limit = self._known = -1
        return self._raised(1)

    def _raised(self, step: int) -> bytes:
        limit = self._limit
        if self._streams:
            self._least = min(stream.limit for stream in self._streams)
            room = min(stream.room for stream in self._streams)
            limit = max(limit, self._link.receiver.received + room)
        if limit - self._known < step:
            return b""
        self._limit = self._known = limit
        return encode(_wire.Room(limit=limit))
