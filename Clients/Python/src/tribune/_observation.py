# SPDX-License-Identifier: Apache-2.0
"""Observations and monitors, over which a program iterates."""

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
    """An asynchronous iterator over notifications or monitored frames.

    **If its reader is slow**, at most `limit` items wait in this process, by default 4,096. While
    these items have over 32 MiB of userInfo, the bus sends no more. Further items wait on the bus,
    which then pauses their posters. If the pause is too short, the bus drops the oldest items, and
    `Lost` reports their number in their place. This process drops no items.

    All subscriptions of a connection share its flow control: if one is full and its reader stops,
    the others stop too. For an independent pace, use another connection. Flow control does not
    limit answers, questions, and deliveries to delegates.

    **If a task is cancelled** while it waits for the next item, no item is lost. The next reader
    gets the item.

    **If the connection is interrupted**, the subscription continues over the next connection.
    `Lost` has the number of missed items. If this number is unknown, `Interrupted` comes instead.
    Retained notifications come again.

    **At its end**, the items that wait in this process come first. Then the iterator raises
    `TribuneError` if the connection is lost for good, and stops after `cancel` or `Bus.close`. If
    the program drops a subscription, it is withdrawn.

    ``async with`` waits until the bus has confirmed the subscription, and withdraws it at the end.
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
        """Waits until the bus has confirmed the subscription.

        Even before this confirmation, the subscription is in force for everything that this
        connection sends after subscribing. Cancelling the task ends only the waiting. If the bus
        refuses the subscription, this method and reading raise `TribuneError`.
        """
        for part in self._parts:
            try:
                await asyncio.shield(part.ready)
            except TribuneError:
                self.cancel()
                raise
        return self

    def cancel(self) -> None:
        """Withdraws the subscription. Iterating stops after the items that wait in this process."""
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
        # The garbage collector may run in any thread, at any point, so the loop does the work.
        link = getattr(self, "_link", None)
        if link is not None and not link.has_ended and not link.loop.is_closed():
            self._link.loop.call_soon_threadsafe(_discard, self._link, self._stream, self._parts)


class Observation(Subscription[Notification]):
    """The notifications of an observation; see `Bus.observe` and `Subscription`."""


class TrafficMonitor(Subscription[Traffic]):
    """The frames of a monitor; see `Bus.monitor` and `Subscription`."""


def _take_back(link: Link, stream: Stream[_Item], parts: Sequence[Registration]) -> None:
    for part in parts:
        link.drop(part)
    stream.finish(None)


def _discard(link: Link, stream: Stream[_Item], parts: Sequence[Registration]) -> None:
    _take_back(link, stream, parts)
    # A poster may wait for a report that a reader can no longer make. Discarding the items reports
    # a failure to the poster.
    stream.discard()
