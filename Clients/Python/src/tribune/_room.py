# SPDX-License-Identifier: Apache-2.0
"""Flow control: the bus sends notifications while each reader of a connection has room for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _wire
from ._frame import encode

if TYPE_CHECKING:
    from ._link import Link
    from ._stream import Stream


class Room:
    """The limit up to which the bus may send notifications over the connection.

    The limit is the number of received notifications, plus the number for which the fullest stream
    has room (`Stream.room`). The limit never falls.

    If all readers go on reading, the bus never stops for good. A reader raises the limit when its
    stream gets down to exactly half of `Stream.limit`, or to the high mark of bytes. Suppose that
    the bus has sent all that the limit allows, and that the last batch has not raised the limit.
    Some streams are then over half full, or above the high mark. When the last of these streams has
    got down to half and to the high mark, every stream has room, and the limit rises.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._streams: dict[Stream[Any], None] = {}
        # The least `limit` of all streams, in items.
        self._least = 0
        # The present limit; -1 before the first one of a connection.
        self._limit = -1
        # The limit that the bus knows.
        self._known = -1

    def add(self, stream: Stream[Any]) -> None:
        """Adds a stream. Must run before the bus learns of the stream's observation."""
        self._streams[stream] = None
        if len(self._streams) == 1:
            self.give()
        else:
            self._least = min(self._least, stream.limit)

    def remove(self, stream: Stream[Any]) -> None:
        """Removes a stream that has ended. Does nothing if the stream is not known."""
        if stream in self._streams:
            del self._streams[stream]
            self.give()

    def give(self, step: int = 1) -> None:
        """Raises the limit if the connection is open, and the limit grows by at least `step`."""
        if self._link.is_open and (frame := self._raised(step)):
            self._link.send_ahead(frame)

    def note_batch(self) -> None:
        """Handles the end of a batch of frames. Raises the limit if it grows enough."""
        step = max(self._least // 4, 1)
        if self._link.receiver.received + self._least - self._known >= step:
            self.give(step)

    def answer(self) -> None:
        """Repeats the limit, because the bus has forgotten it."""
        self._known = -1
        self.give()

    def begin(self) -> bytes:
        """Returns the first `room` frame for a new connection; empty without streams."""
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
