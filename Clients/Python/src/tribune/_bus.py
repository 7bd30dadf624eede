# SPDX-License-Identifier: Apache-2.0
"""The public face of a connection to the bus."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator
from typing import Any, Self

from . import _wire
from ._address import Address
from ._answering import Answering
from ._asking import Asking
from ._errors import TribuneError
from ._frame import Capabilities, Hello, encode
from ._link import Link
from ._lists import Lists
from ._messages import BusInfo, ConnectionEvent, Suspension, connection_name
from ._monitoring import Traffic
from ._observation import Observation, TrafficMonitor
from ._registrations import MonitorPart, ObservationPart
from ._stream import Stream


def connect(
    address: str | None = None,
    *,
    timeout: float = 30.0,
    reconnect_timeout: float = 10.0,
    identify_posters: bool = False,
    pace: float = 0.0,
    on_event: Callable[[ConnectionEvent], object] | None = None,
) -> Connecting:
    """Connects to a bus. Enter the result with ``async with``, or await it.

    - `address`: ``unix:PATH``. By default ``$TRIBUNE_ADDRESS``; else the first of
      ``$RUNTIME_DIRECTORY/bus`` and, except for root, ``$XDG_RUNTIME_DIR/tribune/bus`` that exists,
      if this user owns the folder and this user or root serves the bus; else ``/run/tribune/bus``.
    - `timeout`: seconds until the bus must have introduced itself. While a bus restarts, or hangs
      and is about to be replaced, new connections wait at its socket.
    - `reconnect_timeout`: seconds in which to look for the bus when the connection is lost; 0 for
      never, `math.inf` for ever: then a bus that stops does not end the connection, either.
    - `identify_posters`: whether the bus tells who posts (`Notification.poster`). It does so once
      for each connection that posts, so it costs nothing for each notification.
    - `pace`: seconds for which this connection's posts wait for slow observers, before these lose
      notifications: at most 65; `math.inf` for as long as it takes; 0 as the bus is configured
      (100 ms). Posts, and any other message behind them, wait in this process.
    - `on_event`: called when the connection is lost and when it is back. It must not wait.

    Raises `TribuneError`: `UNREACHABLE`, `INVALID_ADDRESS`, `UNSUPPORTED_VERSION`;
    `NOT_PERMITTED` when this process may not reach the socket, or another user serves the bus;
    `LIMIT_EXCEEDED` when it has no descriptor left; `REFUSED` when connect(2) fails otherwise;
    `PROTOCOL_VIOLATION` when the peer is no bus; from a bus that refuses the connection,
    `LIMIT_EXCEEDED`, `SHUTTING_DOWN`, `TOO_SLOW` or `CONNECTION_LOST`.
    """
    return Connecting(address, timeout, reconnect_timeout, identify_posters, pace, on_event)


def _pace_limit(seconds: float) -> int:
    if seconds == math.inf:
        return 65_535
    if not 0 < seconds <= 65:
        raise ValueError(f"pace is {seconds} s: from 0 to 65, or math.inf")
    return max(round(seconds * 1000), 1)


class Connecting:
    """What `connect` returns: await it, or enter it."""

    def __init__(
        self,
        address: str | None,
        timeout: float,
        reconnect_timeout: float,
        identify_posters: bool,
        pace: float,
        on_event: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._reconnect_timeout = reconnect_timeout
        capabilities = Capabilities.DESCRIPTORS
        if identify_posters:
            capabilities |= Capabilities.POSTERS
        self._greeting = Hello(capabilities=capabilities).encode()
        if pace:
            self._greeting += encode(_wire.Pace(limit=_pace_limit(pace)))
        self._on_event = on_event
        self._bus: Bus | None = None

    async def _connect(self) -> Bus:
        address = Address.resolve() if self._address is None else Address.parse(self._address)
        link = Link(
            address,
            reconnect_timeout=self._reconnect_timeout,
            greeting=self._greeting,
            on_event=self._on_event,
        )
        await link.connect(self._timeout)
        return Bus(link)

    def __await__(self) -> Generator[Any, None, Bus]:
        return self._connect().__await__()

    async def __aenter__(self) -> Bus:
        self._bus = await self._connect()
        return self._bus

    async def __aexit__(self, *_: object) -> None:
        if self._bus is not None:
            await self._bus.close()


class Bus(Asking, Answering, Lists):
    """A connection to the bus: posts, asks, observes and answers.

    Any number of tasks of one event loop may use it at the same time. It belongs to that loop, and
    is not for other threads: elsewhere, its methods raise `RuntimeError`. In a child that this
    process forks, the connection has ended, and everything that is registered stays the parent's.

    **When the bus is restarted.** A planned restart keeps connections open, and nothing is noticed.
    If the connection is lost nevertheless, because the bus is gone or was killed at a bad moment,
    this object reconnects. It then registers again what was registered: observations, delegates,
    holds, declarations, monitors, and whether it is suspended.

    - A request that the bus may have received and has not answered fails with `CONNECTION_LOST`:
      its outcome is unknown. One that the bus cannot have received waits for the new connection;
      queries and awaited posts wait at most until their own deadlines. A `post` that was already
      sent may be lost without notice, as always; `post_acknowledged` would report it.
    - Questions that are being answered are cancelled, and their answers are discarded.
    - Observations and delegates learn what was missed (`Lost`, `Interrupted`).
    - The ids of the connection, of delegates and of holds change.

    If no bus is back in time, or if the new bus refuses a registration, the connection ends, as it
    does for every other error: its owner must know that its registrations are no longer in force.
    """

    def __init__(self, link: Link) -> None:
        """Use `connect`."""
        self._link = link

    def __del__(self) -> None:
        # The loop does this: the garbage collector may run in any thread, at any point.
        link = self._link
        if not link.loop.is_closed() and not link.has_ended:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=1, source=self)
            link.loop.call_soon_threadsafe(link.end, None)

    # The connection.

    @property
    def id(self) -> str:
        """The connection's id, ``:N``, which the bus never uses again.

        It changes after an interruption.
        """
        return connection_name(self._link.connection)

    @property
    def info(self) -> BusInfo:
        """The bus at the other end, and its limits."""
        assert self._link.bus is not None
        return self._link.bus

    @property
    def is_suspended(self) -> bool:
        """Whether the connection is suspended, as the bus last confirmed."""
        return self._link.is_suspended

    @property
    def has_ended(self) -> bool:
        """Whether the connection has ended. An interrupted one has not."""
        return self._link.has_ended

    async def closed(self) -> TribuneError | None:
        """Waits until the connection has ended, and returns the reason; None after `close`.

        If a connection with delegates or holds is lost for good, and nothing waits here then, the
        log says that they are not in force any more.
        """
        return await self._link.ended()

    async def close(self) -> None:
        """Writes what was posted, then ends the connection.

        Observations stop, and unanswered requests fail with `CONNECTION_LOST`. It waits at most 5 s
        for a bus that does not read, or that is gone while posts still wait for it.
        """
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Observations.

    def observe(
        self,
        *patterns: str,
        object: str = "",
        limit: int = 4096,
        suspension: Suspension = Suspension.COALESCE,
        retained: bool = False,
        awaited: bool = False,
    ) -> Observation:
        """Observes notifications: ``async for delivery in bus.observe("backup.**")``.

        Each item is a `Notification`, `Lost` or `Interrupted`. The observation covers what this
        connection posts after it; `Observation.ready` waits until it covers everybody's posts.

        - `patterns`: the names, in which ``*`` stands for one token and a last ``**`` for one or
          more; none for any name. A notification that several match comes once.
        - `object`: what they are about; empty for anything.
        - `limit`: items that wait in this process, one at least; see `Subscription`. Until the
          reader has caught up, there can be as many as the connection had room for before.
        - `suspension`: what happens to them while the connection is suspended.
        - `retained`: whether retained ones come too (`Notification.is_retained`): those that match
          a pattern before all new ones that match it. None is missing between, and none of several
          patterns comes twice.
        - `awaited`: whether awaited posts wait for this observer, which then says of each that it
          is done (`Notification.done`, `failed`, `handling`). A forgotten notification counts as
          failed once it is collected; a loop's variable keeps it until the next one comes.

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`, `CONNECTION_LOST`. A refusal of
        the bus is raised by the first item, and by `Observation.ready`.
        """
        stream: Stream[Any] = Stream(limit, self._link.room)
        parts = [
            ObservationPart(
                stream,
                pattern,
                object,
                suspension=suspension,
                retained=retained,
                awaited=awaited,
            )
            for pattern in dict.fromkeys(patterns or ("",))
        ]
        return Observation(self, stream, parts)

    async def suspend(self) -> None:
        """Suspends this connection's notifications, as Cocoa's distributed center does.

        From when it returns until `resume`, the `suspension` of each observation decides what
        happens to its notifications. Questions and notifications to delegates still arrive. So do
        awaited notifications and those posted as immediate, behind the buffered ones. Suspending
        twice has no further effect. Cancelling the task does not stop it. Raises `TribuneError`.
        """
        await self._link.suspend(True)

    async def resume(self) -> None:
        """Resumes this connection's notifications.

        The buffered ones come first, in the order of posting.
        Cancelling the task does not stop it. Raises `TribuneError`.
        """
        await self._link.suspend(False)

    def monitor(self, *patterns: str) -> TrafficMonitor:
        """Monitors the traffic under names that match any of the patterns; all without patterns.

        The bus sends each frame to a connection once: if it monitors several times, each monitor
        has the frames that any of them asked for. Raises `TribuneError` as `observe` does.
        """
        stream: Stream[Traffic] = Stream(4096, self._link.room)
        parts = [MonitorPart(stream, pattern) for pattern in dict.fromkeys(patterns or ("",))]
        return TrafficMonitor(self, stream, parts)
