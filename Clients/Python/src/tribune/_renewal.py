# SPDX-License-Identifier: Apache-2.0
"""Reconnects: looks for the bus, registers again, and reports missed notifications."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

from . import _wire
from ._callbacks import call
from ._errors import Code, TribuneError, unknown_outcome
from ._frame import DESCRIPTOR, SentFrame, encode, with_deadline
from ._messages import Disconnected, Interrupted, Lost, Reconnected
from ._outbox import Outbox
from ._registrations import Reports
from ._transport import not_greeted
from ._wire import FrameKind

if TYPE_CHECKING:
    from ._link import Link

# Pauses between attempts, in seconds. They grow to the maximum. The first attempt has no pause,
# unless the last connection was too short (`_SETTLING`).
_PAUSE_MIN: Final = 0.01
_PAUSE_MAX: Final = 1.0
# If a connection lasts for fewer seconds than this, the pauses continue to grow.
_SETTLING: Final = 1.0
# The link asks the next bus about the losses of at most this many lost connections. The losses of
# older connections stay unknown.
_PREDECESSORS_MAX: Final = 4
_REGISTERING: Final = (
    FrameKind.OBSERVE,
    FrameKind.ATTACH,
    FrameKind.HOLD,
    FrameKind.DECLARE,
    FrameKind.MONITOR,
    FrameKind.BEGIN,
)
_ASKING: Final = (FrameKind.POST, FrameKind.ASK, FrameKind.LIST, FrameKind.AMEND)


class Renewal:
    """The steps that make a new connection equivalent to the last one."""

    def __init__(self, link: Link, interruption: Interruption) -> None:
        self._outbox = Outbox()
        self.successions: set[int] = set()
        self.is_welcomed = False
        self.done: asyncio.Future[None] = link.loop.create_future()
        if room := link.room.begin():
            self._outbox.append(room)
        if link.is_suspended:
            self._add(_wire.Suspend(is_suspended=True), link.next_serial())
        frames = [
            (serial, registration.frame())
            for serial, registration in link.registrations.items()
            if serial <= interruption.last_serial
        ]
        frames += [
            (serial, encode(_wire.Suspend(is_suspended=value), serial=serial))
            for serial, value in link.suspensions.items()
            if serial <= interruption.last_serial
        ]
        frames += [one for one in link.bound.values() if one[0] <= interruption.last_serial]
        for _, frame in sorted(frames):
            self._outbox.append(frame)
        for predecessor in interruption.predecessors:
            serial = link.next_serial()
            self.successions.add(serial)
            self._add(predecessor, serial)

    def _add(self, fields: _wire.Suspend | _wire.Succeed, serial: int) -> None:
        self._outbox.append(encode(fields, serial=serial))

    def send(self, link: Link) -> None:
        """Writes as much as the connection takes."""
        if link.transport is not None:
            link.transport.write(self._outbox)

    def note_reply(self, serial: int) -> None:
        """Handles an answer of the bus. The last awaited answer completes the renewal."""
        self.successions.discard(serial)
        if not self.successions and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: TribuneError) -> None:
        """Handles the end of the new connection before it was equivalent to the last one."""
        if not self.done.done():
            self.done.set_exception(error)


class Interruption:
    """The state between two connections."""

    def __init__(self, last_serial: int, cause: TribuneError) -> None:
        #: The last serial before the connection was lost. Registrations with later serials are in
        #: the outbox, and are not renewed.
        self.last_serial = last_serial
        self.cause = cause
        #: Lost connections, and the number of notifications that each received.
        self.predecessors: list[_wire.Succeed] = []
        self.renewal: Renewal | None = None
        #: False if the losses of a lost connection are unknown.
        self.is_loss_known = True
        self.missed = 0
        self.is_closing = False

    def begin(self, link: Link, received: int) -> None:
        """Fails requests whose outcome is unknown, and keeps requests that were not sent."""
        self._note_lost_connection(link)
        self._note_predecessor(link, received)
        link.outbox.interrupt()
        unsent: set[int] = set()

        def fate(sent: SentFrame, frame: bytes, _: int) -> bytes | None:
            if sent.is_plain_post:
                return frame
            if sent.kind in _ASKING and sent.serial in link.requests:
                unsent.add(sent.serial)
                return frame
            # The frame is dropped: `Renewal` makes registrations again, and other frames refer to
            # ids of the old bus.
            return None

        link.outbox.sift(fate)
        link.retirements.clear()
        for serial, request in list(link.requests.items()):
            if serial in unsent:
                link.bound_waiting(serial, request)
            elif request.is_taking_back:
                # The registration is not renewed, so it need not be withdrawn.
                del link.requests[serial]
                request.settle(None)
            elif serial not in link.suspensions:
                del link.requests[serial]
                request.settle(error=unknown_outcome())
        link.questions.cancel()
        link.written()

    @staticmethod
    def _note_lost_connection(link: Link) -> None:
        link.epoch += 1
        for registration in link.registrations.values():
            registration.is_live = False

    def _note_predecessor(self, link: Link, received: int) -> None:
        self.predecessors.append(_wire.Succeed(predecessor=link.connection, received=received))
        if len(self.predecessors) > _PREDECESSORS_MAX:
            self.predecessors.pop(0)
            self.is_loss_known = False

    def close(self, link: Link) -> None:
        """Closes the link. From now on, only posts wait for a bus."""
        self.is_closing = True
        link.outbox.sift(lambda sent, frame, _: frame if sent.kind == FrameKind.POST else None)
        if not link.outbox:
            link.end(None)

    async def attempt(self, link: Link) -> None:
        """Makes a connection that is equivalent to the last one. Raises `TribuneError`."""
        await link.open_transport()
        for stream in link.streams(self.last_serial):
            stream.reserve_position()
        self.renewal = Renewal(link, self)
        self.renewal.send(link)
        await self.renewal.done
        if link.transport is None or not link.transport.is_open:
            raise link.closed_at_once()

    def abandon(self, link: Link) -> None:
        """Handles the end of the new connection before it was equivalent to the last one."""
        if self.renewal is None:
            return
        if link.transport is not None:
            link.transport.close()
        self._note_lost_connection(link)
        # The notifications of the failed connection are behind the reserved positions, and are
        # dropped. So the failed connection counts as one that has received none.
        if self.renewal.is_welcomed:
            self._note_predecessor(link, 0)
        for serial in self.renewal.successions:
            link.requests.pop(serial, None)
        # The next bus reports the losses in `missed` again, as losses of the failed connection.
        self.missed = 0
        self.renewal = None
        stale = (FrameKind.ANSWER, FrameKind.DONE, FrameKind.DEFER)
        link.outbox.sift(lambda sent, frame, _: None if sent.kind in stale else frame)
        link.questions.cancel()

    def finish(self, link: Link) -> None:
        """Completes the renewal. Keeps only those frames in the outbox that are still wanted."""
        now = link.loop.time()
        dropped: set[int] = set()
        refused: list[tuple[int, int]] = []

        def fate(sent: SentFrame, frame: bytes, file_length: int) -> bytes | None:
            serial = sent.serial
            request = link.requests.get(serial)
            length = file_length or _payload_length(frame)
            if length > link.payload_max or (sent.flags & DESCRIPTOR and not link.accepts_files):
                refused.append((serial, length))
            elif sent.kind in _REGISTERING:
                if serial in link.registrations:
                    return frame
            elif sent.kind == FrameKind.CANCEL:
                if serial in link.requests or _target(frame) not in dropped:
                    return frame
            elif sent.kind not in _ASKING or sent.is_plain_post:
                return frame
            elif request is not None and sent.deadline:
                spent = int((now - request.since) * 1000)
                return with_deadline(frame, max(sent.deadline - spent, 1))
            elif request is not None:
                return frame
            dropped.add(serial)
            return None

        link.outbox.sift(fate)
        for serial, request in link.requests.items():
            if request.timer is not None:
                request.timer.cancel()
            link.bound_reply(serial, request)
        for serial, length in refused:
            link.fail_waiting(serial, length)
        reports: Reports = [Lost(self.missed)] if self.missed else []
        if not self.is_loss_known:
            reports.append(Interrupted())
        for stream in link.streams():
            # Streams that were added during the interruption have missed nothing.
            if stream.is_reserved:
                stream.fill_position(reports)


def _payload_length(frame: bytes) -> int:
    fields = int.from_bytes(frame[24:28], "little")
    return len(frame) - 32 - fields - frame[6] - frame[7]


def _target(frame: bytes) -> int:
    """Returns the serial that a `cancel` withdraws."""
    return int.from_bytes(frame[32:40], "little")


async def reconnect(link: Link) -> None:
    """Looks for the bus, until the link is restored or its time is over."""
    interruption = link.interruption
    assert interruption is not None
    started = link.loop.time()
    deadline = started + link.reconnect_timeout
    pause = 0.0
    if link.last_reconnection is not None:
        moment, last_pause = link.last_reconnection
        if started - moment < _SETTLING:
            # A connection that is lost at once must not cause a busy loop.
            pause = _longer(last_pause)
    call(link.on_event, Disconnected(interruption.cause.message))
    failure: TribuneError | None = None
    while True:
        await asyncio.sleep(max(min(pause, deadline - link.loop.time()), 0))
        try:
            async with asyncio.timeout_at(None if deadline == math.inf else deadline):
                await interruption.attempt(link)
            break
        except TimeoutError:
            failure = TribuneError(
                Code.UNREACHABLE,
                f"the listener at {link.address} has not confirmed all registrations",
            )
            if link.transport is not None and not link.transport.is_greeted:
                failure = not_greeted(link.address, link.transport.missing_greeting)
        except TribuneError as error:
            failure = error
        interruption.abandon(link)
        if link.loop.time() >= deadline:
            link.end(_not_found(link, interruption, failure))
            return
        pause = _longer(pause)
    link.last_reconnection = (link.loop.time(), pause)
    interruption.finish(link)
    link.reopened()
    call(link.on_event, Reconnected(interruption.missed if interruption.is_loss_known else None))


def _longer(pause: float) -> float:
    return min(max(pause * 2, _PAUSE_MIN), _PAUSE_MAX)


def _not_found(
    link: Link, interruption: Interruption, failure: TribuneError | None
) -> TribuneError:
    why = f": {failure.message}" if failure else ""
    return TribuneError(
        Code.CONNECTION_LOST,
        f"{interruption.cause.message}, and no bus was found "
        f"within {link.reconnect_timeout:g} s{why}",
    )
