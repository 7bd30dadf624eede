# SPDX-License-Identifier: Apache-2.0
"""Bounded queues between the link, which never waits, and readers that may be slow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from ._errors import TribuneError, repeated, require_loop
from ._messages import Interrupted, Lost, Notification

_Item = TypeVar("_Item")

# Bytes of payload.
_BYTES_MAX: Final = 64 << 20


class BoundedQueue(Generic[_Item]):
    """A queue that drops its oldest items beyond its limits, and reports their number.

    It always keeps the newest item. All dropped items precede all queued ones, so one number at the
    head reports them, with `Interrupted` behind it if a report of an unknown loss was among them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = max(limit, 1)
        self._items: deque[tuple[_Item | Lost | Interrupted, int]] = deque()
        self._bytes = 0
        self._lost = 0
        self._is_loss_unknown = False

    def __bool__(self) -> bool:
        return bool(self._items) or self._lost > 0 or self._is_loss_unknown

    def append(self, item: _Item | Lost | Interrupted, weight: int = 0) -> None:
        """Adds an item with that many bytes of payload."""
        items = self._items
        items.append((item, weight))
        self._bytes += weight
        while len(items) > self._limit or (self._bytes > _BYTES_MAX and len(items) > 1):
            oldest, freed = items.popleft()
            self._bytes -= freed
            if isinstance(oldest, Interrupted):
                self._is_loss_unknown = True
            else:
                self._lost += oldest.count if isinstance(oldest, Lost) else 1
            drop(oldest)

    def popleft(self) -> tuple[_Item | Lost | Interrupted, int]:
        """Takes the first item off, with its weight. Raises `IndexError` if there is none."""
        if self._lost:
            lost, self._lost = self._lost, 0
            return Lost(lost), 0
        if self._is_loss_unknown:
            self._is_loss_unknown = False
            return Interrupted(), 0
        item, weight = self._items.popleft()
        self._bytes -= weight
        return item, weight

    def discard(self) -> None:
        """Drops all items without a report."""
        for item, _ in self._items:
            drop(item)
        self._items.clear()
        self._bytes = 0
        self._lost = 0
        self._is_loss_unknown = False


def drop(item: object) -> None:
    """Tells the poster that waits for an item that it will not be read."""
    if isinstance(item, Notification):
        item.failed("not read in time")


class Stream(Generic[_Item]):
    """The queue of one reader, over all connections of a link.

    A reader takes an item off only in the step that returns it, so a reader that is cancelled while
    it waits has lost nothing.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._queue: BoundedQueue[_Item] = BoundedQueue(limit)
        # Items that arrive before the snapshot is complete, and follow it.
        self._changes: BoundedQueue[_Item] | None = None
        # Items behind the reserved position of a loss report.
        self._behind: BoundedQueue[_Item] | None = None
        self._has_ended = False
        self._error: TribuneError | None = None
        self._wakeup = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    # The link's side.

    def deliver(self, item: _Item | Lost | Interrupted, weight: int = 0) -> None:
        """Adds an item, unless the stream has ended."""
        if self._has_ended:
            drop(item)
        elif self._behind is not None:
            self._behind.append(item, weight)
        elif self._changes is not None:
            self._changes.append(item, weight)
        else:
            self._queue.append(item, weight)
            self._wakeup.set()

    def deliver_snapshot(self, item: _Item | Lost | Interrupted, weight: int) -> None:
        """Adds an item of the first snapshot, before all changes; a later one like any other."""
        if self._changes is None:
            self.deliver(item, weight)
        elif not self._has_ended:
            self._queue.append(item, weight)

    def begin_snapshot(self) -> None:
        """Buffers what is delivered until the snapshot is complete."""
        self._changes = BoundedQueue(self._limit)

    def end_snapshot(self) -> None:
        """Completes the snapshot. Does nothing if none was begun."""
        changes, self._changes = self._changes, None
        if changes is not None:
            self._move(changes)

    def restart_snapshot(self) -> None:
        """Discards an incomplete snapshot, which comes again."""
        if self._changes is not None:
            self._queue.discard()
            self._changes.discard()

    def reserve_position(self) -> None:
        """Reserves this position for a loss report: later items wait behind it.

        Those behind an earlier reserved position are dropped.
        """
        if self._behind is not None:
            self._behind.discard()
        elif not self._has_ended:
            self._behind = BoundedQueue(self._limit)

    @property
    def is_reserved(self) -> bool:
        """Whether a position is reserved."""
        return self._behind is not None

    def fill_position(self, reports: Sequence[Lost | Interrupted]) -> None:
        """Adds reports at the reserved position, and then what waits behind it."""
        behind, self._behind = self._behind, None
        for report in reports:
            self.deliver(report)
        if behind is not None:
            self._move(behind)

    def _move(self, items: BoundedQueue[_Item]) -> None:
        while items:
            self.deliver(*items.popleft())
        self._wakeup.set()

    def finish(self, error: TribuneError | None) -> None:
        """Ends the stream. Queued items can still be read, up to a reserved position."""
        if self._has_ended:
            return
        if self._behind is not None:
            self._behind.discard()
            self._behind = None
        self.end_snapshot()
        self._has_ended = True
        self._error = error
        self._wakeup.set()

    def discard(self) -> None:
        """Ends the stream, which nobody reads any more."""
        self.finish(None)
        self._queue.discard()

    # The reader's side.

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is added."""
        return self._has_ended

    async def next(self) -> _Item | Lost | Interrupted | None:
        """The next item; None after an end without an error. Raises the error of the end."""
        while not self._queue or (self._changes is not None and not self._has_ended):
            if self._has_ended:
                if self._error is not None:
                    raise repeated(self._error)
                return None
            require_loop(self._loop)
            self._wakeup.clear()
            await self._wakeup.wait()
        return self._queue.popleft()[0]
