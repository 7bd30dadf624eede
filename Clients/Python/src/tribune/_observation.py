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

    **What it buffers.** The connection reads from the bus however slow its readers are. A
    subscription buffers at most `limit` items (4,096 unless said otherwise) with 64 MiB of userInfo
    together. Beyond either, the oldest are dropped, and `Lost` reports their number in their place.
    An awaited notification that is dropped has failed, because it was not read in time.

    **When a task is cancelled** while it waits for the next item, nothing is lost: the next reader
    gets it.

    **When the connection is interrupted**, the subscription continues over the next one. `Lost`, or
    `Interrupted` if the number is not known, says what was missed. Retained notifications come
    again.

    **When it ends.** It raises `TribuneError` when the connection is lost for good, and stops after
    `cancel` or `Bus.close`, behind what it has buffered. A subscription that nothing refers to any
    more is taken back.

    Used with ``async with``, it waits until the bus has confirmed it, and is taken back at the end.
    """

    def __init__(self, bus: Bus, stream: Stream[_Item], parts: Sequence[Registration]) -> None:
        self._bus = bus
        self._link = bus._link
        self._stream = stream
        self._parts = list(parts)
        if self._parts[0].brings_snapshot:
            stream.begin_snapshot()
            _register_next(self._link, stream, self._parts, 0)
            return
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
        """Takes it back. It stops behind what it has buffered."""
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


def _register_next(
    link: Link, stream: Stream[_Item], parts: Sequence[Registration], place: int
) -> None:
    """Registers one part after the other, and completes the snapshot after the last one.

    The bus refuses retained notifications while much waits to be read, so those of each part are
    read before the next part is registered.
    """
    if place == len(parts):
        stream.end_snapshot()
        return

    def go_on(ready: asyncio.Future[Registration]) -> None:
        if ready.exception() is not None or stream.has_ended:
            for part in parts[place + 1 :]:
                part.settle(ready.exception())  # type: ignore[arg-type]
            _take_back(link, stream, parts)
        else:
            _register_next(link, stream, parts, place + 1)

    try:
        link.register(parts[place])
    except Exception as error:
        if place == 0:
            raise
        parts[place].settle(error)  # type: ignore[arg-type]
        return
    parts[place].ready.add_done_callback(go_on)
