# SPDX-License-Identifier: Apache-2.0
"""The class `Bus`, which is a connection to the bus."""

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

    - `address`: ``unix:PATH``. The default is ``$TRIBUNE_ADDRESS``. If this variable is unset, the
      default is the first socket that exists of ``$RUNTIME_DIRECTORY/bus`` and, except for root,
      ``$XDG_RUNTIME_DIR/tribune/bus``. This user must own the folder, and the bus must run as this
      user or root. Without such a socket, the default is ``/run/tribune/bus``.
    - `timeout`: seconds in which the bus must send its welcome. While the bus restarts, or hangs
      and is not replaced yet, new connections wait at its socket.
    - `reconnect_timeout`: seconds in which to look for a bus after the connection is lost. With 0,
      the connection ends at once. With `math.inf`, the connection outlives even a stop of the bus.
    - `identify_posters`: whether the bus identifies posters (`Notification.poster`). The bus does
      so once for each connection that posts, and not for each notification.
    - `pace`: the longest time in seconds that this connection's posts wait for slow observers.
      Observers that are still slow after that lose notifications. `pace` is at most 65, or
      `math.inf` for no limit. 0 means the bus's configuration, by default 100 ms. While posts wait,
      they and the messages behind them stay in this process.
    - `on_event`: a function that is called when the connection is lost, and when it is back. It
      must not block.

    Raises `TribuneError`: `UNREACHABLE`, `INVALID_ADDRESS`, `UNSUPPORTED_VERSION`;
    `NOT_PERMITTED` if this process may not reach the socket, or the bus runs as another user;
    `LIMIT_EXCEEDED` if this process has no free descriptor; `REFUSED` if connect(2) fails for
    another reason; `PROTOCOL_VIOLATION` if the peer is not a bus. If the bus refuses the
    connection: `LIMIT_EXCEEDED`, `SHUTTING_DOWN`, `TOO_SLOW` or `CONNECTION_LOST`.
    """
    return Connecting(address, timeout, reconnect_timeout, identify_posters, pace, on_event)


def _pace_limit(seconds: float) -> int:
    if seconds == math.inf:
        return 65_535
    if not 0 < seconds <= 65:
        raise ValueError(f"pace is {seconds} s: from 0 to 65, or math.inf")
    return max(round(seconds * 1000), 1)


class Connecting:
    """The result of `connect`: await it, or enter it with ``async with``."""

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

    Any number of tasks of one event loop may use a `Bus` at the same time. In another loop or
    thread, its methods raise `RuntimeError`. In a forked child, the connection has ended. The
    parent keeps the connection, with all registrations.

    **When the bus is restarted.** A planned restart keeps connections open, and the program notices
    nothing. The connection can still be lost, because the bus is gone or was killed at a bad
    moment. This object then reconnects, and makes its registrations again: observations, delegates,
    holds, declarations, monitors, actions, and the suspension.

    - A request that the bus may have received, but has not answered, fails with `CONNECTION_LOST`:
      its outcome is unknown. A request that was not sent waits for the new connection; queries and
      awaited posts wait until their own deadlines at most. A `post` that was already sent may be
      lost without an error. `post_acknowledged` raises an error in this case.
    - Questions that delegates are answering are cancelled, and their answers are discarded.
    - Observations and delegates learn how much they have missed (`Lost`, `Interrupted`).
    - The ids of the connection, of delegates and of holds change.

    If no bus is found in time, or the new bus refuses a registration, the connection ends. The
    program must learn that its registrations are not in force.
    """

    def __init__(self, link: Link) -> None:
        """Use `connect`."""
        self._link = link

    def __del__(self) -> None:
        # The garbage collector may run in any thread, at any point, so the loop ends the link.
        link = self._link
        if not link.loop.is_closed() and not link.has_ended:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=1, source=self)
            link.loop.call_soon_threadsafe(link.end, None)

    # The connection.

    @property
    def id(self) -> str:
        """The connection's id, ``:N``, which the bus never reuses.

        The id changes after an interruption.
        """
        return connection_name(self._link.connection)

    @property
    def info(self) -> BusInfo:
        """The bus at the other end, and its limits."""
        assert self._link.bus is not None
        return self._link.bus

    @property
    def is_suspended(self) -> bool:
        """Whether the connection is suspended, according to the bus's last confirmation."""
        return self._link.is_suspended

    @property
    def has_ended(self) -> bool:
        """Whether the connection has ended. An interrupted connection has not ended."""
        return self._link.has_ended

    async def closed(self) -> TribuneError | None:
        """Waits until the connection has ended, and returns the reason; None after `close`.

        If no task waits here when the connection is lost for good, the log reports that its
        delegates and holds are no longer in force.
        """
        return await self._link.ended()

    async def close(self) -> None:
        """Writes everything that was posted, then ends the connection.

        Observations stop, and unanswered requests fail with `CONNECTION_LOST`. If the bus does not
        read, or is gone while posts still wait for it, this method waits for at most 5 s.
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

        Each item is a `Notification`, `Lost` or `Interrupted`. The observation receives everything
        that this connection posts after this call. After `Observation.ready`, it receives the posts
        of all connections.

        - `patterns`: patterns for names, in which ``*`` matches one token, and ``**`` at the end
          one or more. Without patterns, any name matches. A notification that matches several
          patterns comes once.
        - `object`: the object of the notifications; empty for any.
        - `limit`: the number of items that may wait in this process, at least 1; see
          `Subscription`. If the bus already had permission to send more items, more may come until
          the reader has caught up.
        - `suspension`: what the bus does with notifications while the connection is suspended.
        - `retained`: whether retained notifications come too (`Notification.is_retained`). For each
          pattern, the matching retained notifications come before all new ones. No notification is
          missing in between, and none comes twice.
        - `awaited`: whether the posters of awaited notifications wait for this observer. The
          observer must then report on each of them (`Notification.done`, `failed`, `handling`). If
          the program drops a notification without a report, that is a failure. In a loop, the
          loop's variable keeps the notification until the next one comes.

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`, `CONNECTION_LOST`. If the bus
        refuses the observation, `Observation.ready` and the first item raise the refusal.
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

        After this method returns, and until `resume`, each observation's `suspension` decides what
        happens to its notifications. Questions, and notifications to delegates, still arrive. So do
        awaited and immediate notifications, after the buffered ones. A second suspension has no
        effect. Cancelling the task does not stop the request. Raises `TribuneError`.
        """
        await self._link.suspend(True)

    async def resume(self) -> None:
        """Resumes this connection's notifications.

        The buffered notifications come first, in the order of posting. Cancelling the task does not
        stop the request. Raises `TribuneError`.
        """
        await self._link.suspend(False)

    def monitor(self, *patterns: str) -> TrafficMonitor:
        """Monitors frames whose names match one of the patterns; without patterns, all frames.

        The bus sends each frame to a connection once. If a connection has several monitors, each
        monitor gets the frames that match any of them. Raises `TribuneError` as `observe` does.
        """
        stream: Stream[Traffic] = Stream(4096, self._link.room)
        parts = [MonitorPart(stream, pattern) for pattern in dict.fromkeys(patterns or ("",))]
        return TrafficMonitor(self, stream, parts)
