# SPDX-License-Identifier: Apache-2.0
"""Queues between the link, which never waits, and readers that may be slow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ._errors import TribuneError, repeated, require_loop
from ._messages import Interrupted, Lost, Notification

if TYPE_CHECKING:
    from ._room import Room

_Item = TypeVar("_Item")

# The bus accepts no higher limit.
_LIMIT_MAX: Final = (1 << 31) - 1
# The payload in bytes above which a stream has no room.
_HIGH_MARK: Final = 32 << 20
_BYTES_MAX: Final = 64 << 20


class Stream(Generic[_Item]):
    """The queue of one reader, over all connections of a link.

    The link drops nothing, because the bus sends only as much as the readers have room for
    (`Room`). A stream without a `room` does not limit the bus.

    A reader removes an item only in the step that returns the item. So if a reader is cancelled
    while it waits, no item is lost.
    """

    def __init__(self, limit: int, room: Room | None = None) -> None:
        self.limit = min(max(limit, 1), _LIMIT_MAX)
        self._room = room
        self._items: deque[tuple[_Item | Lost | Interrupted, int]] = deque()
        # The items behind the position that is reserved for a report of losses; None if no position
        # is reserved.
        self._behind: deque[tuple[_Item | Lost | Interrupted, int]] | None = None
        self._bytes = 0
        self._has_ended = False
        self._error: TribuneError | None = None
        self._wakeup = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    # The link's side.

    def deliver(self, item: _Item | Lost | Interrupted, weight: int = 0) -> None:
        """Adds an item with `weight` bytes of payload, unless the stream has ended."""
        if self._has_ended:
            return
        if self._behind is not None:
            self._behind.append((item, weight))
        else:
            self._items.append((item, weight))
            self._wakeup.set()
        self._bytes += weight

    def lose(self, count: int) -> None:
        """Reports that notifications are missing here. Adjacent reports become one."""
        items = self._items if self._behind is None else self._behind
        if items and isinstance(items[-1][0], Lost):
            items[-1] = (Lost(items[-1][0].count + count), 0)
        else:
            self.deliver(Lost(count))

    def reserve_position(self) -> None:
        """Reserves the position at the end for a report of losses. Later items wait behind it.

        Items behind an earlier reserved position are dropped.
        """
        self._drop_behind()
        if not self._has_ended:
            self._behind = deque()

    def _drop_behind(self) -> None:
        if self._behind is not None:
            self._bytes -= sum(weight for _, weight in self._behind)
            self._behind = None

    @property
    def is_reserved(self) -> bool:
        """Whether a position is reserved."""
        return self._behind is not None

    def fill_position(self, reports: Sequence[Lost | Interrupted]) -> None:
        """Adds reports at the reserved position, and releases the items behind it."""
        behind, self._behind = self._behind, None
        for report in reports:
            self.deliver(report)
        if behind:
            self._items.extend(behind)
            self._wakeup.set()

    def finish(self, error: TribuneError | None) -> None:
        """Ends the stream. Queued items can still be read, up to a reserved position."""
        if self._has_ended:
            return
        self._drop_behind()
        self._has_ended = True
        self._error = error
        self._wakeup.set()
        if self._room is not None:
            self._room.remove(self)

    def discard(self) -> None:
        """Ends the stream, and drops its items, because it has no reader any more."""
        self.finish(None)
        self._items.clear()
        self._bytes = 0

    # The reader's side.

    @property
    def has_ended(self) -> bool:
        """Whether the stream has ended, and takes no more items."""
        return self._has_ended

    @property
    def waiting(self) -> int:
        """The number of items that wait for the reader."""
        return len(self._items) + (len(self._behind) if self._behind else 0)

    @property
    def room(self) -> int:
        """The number of items for which the stream has room."""
        return max(self.limit - self.waiting, 0) if self._bytes <= _HIGH_MARK else 0

    async def next(self) -> _Item | Lost | Interrupted | None:
        """Returns the next item, or None after the end. Raises the error of the end, if any."""
        while not self._items:
            if self._has_ended:
                if self._error is not None:
                    raise repeated(self._error)
                return None
            require_loop(self._loop)
            self._wakeup.clear()
            await self._wakeup.wait()
        item, weight = self._items.popleft()
        was_heavy = self._bytes > _HIGH_MARK
        self._bytes -= weight
        if self._room is not None and (
            len(self._items) == self.limit // 2 or (was_heavy and self._bytes <= _HIGH_MARK)
        ):
            self._room.give()
        return item


class BoundedStream(Stream[Any]):
    """A stream that the bus does not pace. Above its limits, the stream drops new notifications."""

    def deliver(self, item: Any, weight: int = 0) -> None:
        is_full = self.waiting >= self.limit or self._bytes + weight > _BYTES_MAX
        if is_full and self.waiting and isinstance(item, Notification):
            self.lose(1)
        else:
            super().deliver(item, weight)
