# SPDX-License-Identifier: Apache-2.0
"""The registrations of a connection. After an interruption, the link makes them again."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from . import _wire
from ._callbacks import ignore
from ._errors import TribuneError
from ._frame import Fields, encode
from ._messages import Interrupted, Lost, Suspension, shortened
from ._names import Matcher, encoded_object, encoded_pattern
from ._stream import Stream

if TYPE_CHECKING:
    from ._link import Link

# The limit of a hold's lifetime in nanoseconds. Its sum with the clock still fits into 64 bits.
_EXPIRY_MAX: Final = 1 << 62


class Registration:
    """A registration, under way or confirmed. It keeps its serial over all connections.

    Its states: new → registered with a link → confirmed (perhaps several times) → over.
    """

    #: This reference to the `Bus` keeps the connection open, even if the program drops its own.
    bus: object = None

    def __init__(
        self, fields: Fields, *, name: bytes = b"", object: bytes = b"", payload: bytes = b""
    ) -> None:
        self._fields = fields
        self._name, self._object, self.payload = name, object, payload
        self.serial = 0
        #: True if the bus of the present connection has confirmed the registration.
        self.is_live = False
        #: This future is done after the first confirmation, or after the refusal.
        self.ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(ignore)

    def start(self) -> None:
        """Starts times that count from the first attempt to register, such as a hold's expiry."""

    def frame(self) -> bytes:
        """Returns the frame that makes the registration."""
        return encode(
            self._fields,
            name=self._name,
            object=self._object,
            payload=self.payload,
            serial=self.serial,
        )

    def confirm(self, okay: _wire.Okay, link: Link) -> None:
        """Handles the bus's confirmation."""
        self.is_live = True
        self.settle()

    def settle(self, error: TribuneError | None = None) -> None:
        """Resumes callers that wait for the first confirmation."""
        if self.ready.done():
            return
        if error is None:
            self.ready.set_result(self)
        else:
            self.ready.set_exception(error)

    def refuse(self, error: TribuneError, link: Link) -> None:
        """Handles the bus's refusal."""
        self.settle(error)

    def is_over(self) -> bool:
        """Returns whether the registration is over, so a refusal by the next bus does no harm."""
        return False

    def end(self, error: TribuneError | None) -> None:
        """Ends the registration, because it was withdrawn, or its connection has ended."""
        self.settle(error)
        self.bus = None

    def streams(self) -> list[Stream[Any]]:
        """Returns the streams that get notifications through this registration."""
        return []

    async def wait(self, link: Link) -> None:
        """Waits for the first confirmation. Cancelling the task withdraws the registration."""
        try:
            await asyncio.shield(self.ready)
        except asyncio.CancelledError:
            link.drop(self)
            raise


class _StreamPart(Registration):
    """One pattern of an observation or a monitor, whose patterns share a stream."""

    stream: Stream[Any]

    def refuse(self, error: TribuneError, link: Link) -> None:
        super().refuse(error, link)
        self.stream.finish(error)

    def end(self, error: TribuneError | None) -> None:
        super().end(error)
        self.stream.finish(error)

    def streams(self) -> list[Stream[Any]]:
        return [self.stream]


class ObservationPart(_StreamPart):
    """One pattern of an observation. All parts of an observation share its stream."""

    def __init__(
        self,
        stream: Stream[Any],
        pattern: str,
        object: str,
        *,
        suspension: Suspension = Suspension.COALESCE,
        retained: bool = False,
        awaited: bool = False,
    ) -> None:
        options = _wire.ObserveOptions(0)
        if retained:
            options |= _wire.ObserveOptions.RETAINED
        if awaited:
            options |= _wire.ObserveOptions.AWAITED
        super().__init__(
            _wire.Observe(options=options, suspension=_wire.SuspensionBehavior[suspension.name]),
            name=encoded_pattern(pattern) if pattern else b"",
            object=encoded_object(object),
        )
        self.stream = stream
        self.matcher = Matcher(pattern, object)
        self.is_awaited = awaited


class MonitorPart(_StreamPart):
    """One pattern of a monitor."""

    def __init__(self, stream: Stream[Any], pattern: str) -> None:
        super().__init__(_wire.Monitor(), name=encoded_pattern(pattern) if pattern else b"")
        self.stream = stream


class DeclarationTerm(Registration):
    """A declaration, or only definitions."""

    def __init__(self, object: str, protocol: str, definitions: str) -> None:
        super().__init__(
            _wire.Declare(protocol_name=protocol),
            object=encoded_object(object),
            payload=definitions.encode(errors="replace"),
        )


class ActionTerm(Registration):
    """An action under way. After an interruption, the next bus learns of it."""

    def __init__(self, name: bytes, object: bytes) -> None:
        super().__init__(_wire.Begin(query=0), name=name, object=object)


class HoldTerm(Registration):
    """A hold, from its beginning to its end."""

    def __init__(
        self, pattern: str, object: str, why: str, label: str, expires_in: float | None
    ) -> None:
        self._hold = _wire.Hold(label=label)
        super().__init__(
            self._hold,
            name=encoded_pattern(pattern) if pattern else b"",
            object=encoded_object(object),
            payload=shortened(why),
        )
        self._expires_in = expires_in
        self.id = 0
        #: The number of actions under way that had begun before the hold.
        self.late = 0
        self.is_shortened = False
        self._settling: set[asyncio.Future[bool]] = set()
        #: This future is done when the hold has ended. Its result is true if the hold has expired.
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def start(self) -> None:
        if self._expires_in is not None:
            span = int(min(self._expires_in * 1e9, _EXPIRY_MAX))
            self._hold.expiry = time.monotonic_ns() + span

    def confirm(self, okay: _wire.Okay, link: Link) -> None:
        self.id = okay.delegate
        # A renewal must not lengthen a hold that the bus has shortened.
        self.is_shortened = self.is_shortened or okay.expiry != self._hold.expiry
        self._hold.expiry = okay.expiry
        self.set_late(okay.late)
        super().confirm(okay, link)

    def set_late(self, count: int) -> None:
        """Handles the number of actions under way that had begun before the hold."""
        self.late = count
        if count == 0:
            self.finish_settling(True)

    def finish_settling(self, is_settled: bool) -> None:
        """Handles the end of the hold, or of the last action that had begun before the hold."""
        self.late = 0
        settling, self._settling = self._settling, set()
        for waiter in settling:
            if not waiter.done():
                waiter.set_result(is_settled)

    async def settled(self) -> bool:
        """Waits for `finish_settling`. Returns false if the hold has ended."""
        if self.ended.done() or self.late == 0:
            return not self.ended.done()
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._settling.add(waiter)
        try:
            return await waiter
        finally:
            self._settling.discard(waiter)

    @property
    def expires_in(self) -> float | None:
        if self._hold.expiry == 0:
            return None
        return max(0, self._hold.expiry - time.monotonic_ns()) / 1e9

    def is_over(self) -> bool:
        if self._hold.expiry == 0 or self._hold.expiry > time.monotonic_ns():
            return False
        self.expire()
        return True

    def refuse(self, error: TribuneError, link: Link) -> None:
        super().refuse(error, link)
        self.end(error)

    def expire(self) -> None:
        """Handles the expiry of the hold, perhaps before the bus has confirmed it."""
        self.settle()
        if not self.ended.done():
            self.ended.set_result(True)
        self.finish_settling(False)

    def end(self, error: TribuneError | None) -> None:
        super().end(error)
        if not self.ended.done():
            self.ended.set_result(False)
        self.finish_settling(False)


Reports = list[Lost | Interrupted]
