# SPDX-License-Identifier: Apache-2.0
"""Observations and monitors: what a program iterates over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from ._errors import TribuneError
from ._messages import Interrupted, Lost, Notification
from ._monitoring import Traffic
from ._registrations import Registration
from ._stream import Stream

if TYPE_CHECKING:
    from ._bus import Bus
    from ._link import Link

_Item = TypeVar("_Item")


class Subscription(Generic[_Item]):
    """An asynchronous iterator over what a connection receives.

    **When its reader is slow**, at most `limit` items (4,096 unless said otherwise) wait in this
    process; while they have over 32 MiB of userInfo, the bus gets no more room. Everything else
    waits on the bus, which then pauses its posters. If that is not enough, the bus drops the
    oldest, and `Lost` reports their number in their place. This process drops nothing.

    All subscriptions of a connection share its room: one that nobody reads stops the others once it
    is full. For an independent pace, use another connection. Answers, questions, and what delegates
    receive need no room.

    **When a task is cancelled** while it waits for the next item, nothing is lost: the next reader
    gets it.

    **When the connection is interrupted**, the subscription continues over the next one. `Lost`, or
    `Interrupted` if the number is not known, says what was missed. Retained notifications come
    again.

    **When it ends.** It raises `TribuneError` when the connection is lost for good, and stops after
    `cancel` or `Bus.close`, behind what waits in this process. A subscription that nothing refers
    to any more is taken back.

    Used with ``async with``, it waits until the bus has confirmed it, and is taken back at the end.
    """

    def __init__(self, bus: Bus, stream: Stream[_Item], parts: Sequence[Registration]) -> None:
        self._bus = bus
        self._link = bus._link
        self._stream = stream
        self._parts = list(parts)
        self._link.require_open()
        self._link.room.add(stream)
        for part in self._parts:
            self._link.register(part)

    async def ready(self) -> Self:
        """Waits until the bus has confirmed it.

        Even without this, it is in force for all that is sent after it was made. Cancelling the
        task ends only the waiting. Raises `TribuneError` if the bus refuses it, as reading does.
        """
        for part in self._parts:
            try:
                await asyncio.shield(part.ready)
            except TribuneError:
                self.cancel()
                raise
        return self

    def cancel(self) -> None:
        """Takes it back. It stops behind what waits in this process."""
        _take_back(self._link, self._stream, self._parts)

    async def __aenter__(self) -> Self:
        try:
            return await self.ready()
        except asyncio.CancelledError:
            self.cancel()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.cancel()
        self._stream.discard()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item | Lost | Interrupted:
        item = await self._stream.next()
        if item is None:
            raise StopAsyncIteration
        return item

    def __del__(self) -> None:
        # The loop does this: the garbage collector may run in any thread, at any point.
        link = getattr(self, "_link", None)
        if link is not None and not link.has_ended and not link.loop.is_closed():
            self._link.loop.call_soon_threadsafe(_discard, self._link, self._stream, self._parts)


class Observation(Subscription[Notification]):
    """The notifications of an observation; see `Bus.observe` and `Subscription`."""


class TrafficMonitor(Subscription[Traffic]):
    """The frames that a monitor is shown; see `Bus.monitor` and `Subscription`."""


def _take_back(link: Link, stream: Stream[_Item], parts: Sequence[Registration]) -> None:
    for part in parts:
        link.drop(part)
    stream.finish(None)


def _discard(link: Link, stream: Stream[_Item], parts: Sequence[Registration]) -> None:
    _take_back(link, stream, parts)
    # A poster may wait for an acknowledgement that the reader can no longer give.
    stream.discard()
