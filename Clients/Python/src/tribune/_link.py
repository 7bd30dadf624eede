# SPDX-License-Identifier: Apache-2.0
"""A connection to the bus that outlives its sockets, with its requests and registrations.

Everything runs on one event loop, and no method awaits while the link's state is inconsistent.
Serials continue over all connections of a link, so a frame of an old connection is never mistaken
for one of the new connection. A registration that is made again keeps its serial, so requests
about it can still name this serial.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import math
import os
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from . import _memory, _wire
from ._address import Address
from ._delegation import AttachedDelegate, Ending
from ._errors import (
    Code,
    TribuneError,
    closed,
    not_answered_in_time,
    not_sent_in_time,
    refusal,
    repeated,
    require_loop,
    too_long,
)
from ._frame import DESCRIPTOR, Fields, Frame, encode
from ._listing import DelegateInfo
from ._messages import BusInfo, ConnectionEvent, Progress, Verdict, shortened
from ._names import Matcher
from ._outbox import Outbox
from ._questions import Questions
from ._receiver import Receiver
from ._registrations import ActionTerm, HoldTerm, ObservationPart, Registration
from ._renewal import Interruption, reconnect
from ._requests import Request
from ._room import Room
from ._stream import Stream
from ._transport import Transport, UserInfoFile, not_greeted, open_socket
from ._wire import ErrorCode

_log: Final = logging.getLogger("tribune")
# The longest time for `close`, in seconds.
_CLOSING: Final = 5.0
# If the bus closes the connection before its welcome, the bus may have been killed, and the next
# bus may already listen. So the link makes several attempts. Each pause is twice the last one.
_ATTEMPTS_MAX: Final = 5
_ATTEMPT_PAUSE: Final = 0.01
_BACKLOG_PAUSE: Final = 0.005
# A request without an answer fails this many seconds after its own deadline.
_REPLY_GRACE: Final = 5.0
# After this many bytes, a caller that posts without a pause yields to the loop.
_TURN: Final = 64 << 10


class Phase(enum.Enum):
    """The state of a link. Behind an arrow are the states that can follow."""

    #: → OPEN, ENDED
    CONNECTING = enum.auto()
    #: → INTERRUPTED, CLOSING, ENDED
    OPEN = enum.auto()
    #: The link reconnects. → OPEN, CLOSING, ENDED
    INTERRUPTED = enum.auto()
    #: The link writes its outbox, then waits until the bus closes the connection. → ENDED
    CLOSING = enum.auto()
    ENDED = enum.auto()


class Link:
    """A connection to the bus; see the beginning of this file."""

    def __init__(
        self,
        address: Address,
        *,
        reconnect_timeout: float,
        greeting: bytes,
        on_event: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.address = address
        self.reconnect_timeout = reconnect_timeout
        self.greeting = greeting
        self.on_event = on_event
        self.phase = Phase.CONNECTING
        self.takes_plain_posts = False
        #: The reason of the end; None after `close`.
        self.error: TribuneError | None = None
        #: The number of lost connections. The bus's ids are valid only until this number changes.
        self.epoch = 0
        self.outbox = Outbox()
        self.transport: Transport | None = None
        self.receiver = Receiver(self)
        self.room = Room(self)
        #: The facts in the last welcome. They stay available after the end of the connection.
        self.bus: BusInfo | None = None
        self.connection = 0
        self.payload_max = _wire.PAYLOAD_LENGTH_FLOOR
        self.accepts_files = False
        self.requests: dict[int, Request] = {}
        #: The registrations by serial, in ascending order of serials.
        self.registrations: dict[int, Registration] = {}
        #: The observations that are being withdrawn, by the serial of the `cancel`.
        self.retirements: dict[int, Matcher] = {}
        #: The frames that post bound notifications again, with their serials, by name and object.
        self.bound: dict[tuple[bytes, bytes], tuple[int, bytes]] = {}
        self.questions = Questions(self)
        self.is_suspended = False
        self.suspensions: dict[int, bool] = {}
        self.interruption: Interruption | None = None
        #: The time of the last reconnection, and the pause before it.
        self.last_reconnection: tuple[float, float] | None = None
        self.last_serial = 0
        self._greeting: asyncio.Future[None] | None = None
        self._capacity_waiters: deque[asyncio.Future[None]] = deque()
        self._idle: asyncio.Future[None] | None = None
        self._ended: asyncio.Future[None] = self.loop.create_future()
        self._end_waiters = 0
        self._reconnecting: asyncio.Task[None] | None = None
        self._restart: TribuneError | None = None
        self._flushes = False
        self._tasks: set[asyncio.Task[None]] = set()
        _links.add(self)

    # Beginning.

    async def connect(self, timeout: float) -> None:
        """Connects, and waits for the welcome. Raises `TribuneError`."""
        try:
            async with asyncio.timeout(timeout):
                for attempt in range(_ATTEMPTS_MAX):
                    if await self._greet():
                        return
                    await asyncio.sleep(_ATTEMPT_PAUSE * (1 << attempt))
            error = self.closed_at_once()
        except TimeoutError:
            error = TribuneError(
                Code.UNREACHABLE, f"the bus at {self.address} accepts no connections"
            )
            if self.transport is not None:
                error = not_greeted(self.address, self.transport.missing_greeting)
        except BaseException:
            self.end(None)
            raise
        self.end(error)
        raise error

    async def _greet(self) -> bool:
        """Connects once. Returns whether the bus has sent its welcome."""
        await self.open_transport()
        self._greeting = self.loop.create_future()
        try:
            await self._greeting
        except ConnectionResetError:
            return False
        return True

    async def open_transport(self) -> None:
        """Opens another socket. Raises `TribuneError` if no bus listens."""
        while True:
            try:
                connected = open_socket(self.address)
                break
            except BlockingIOError:
                # No event reports that a full backlog has space again.
                await asyncio.sleep(_BACKLOG_PAUSE)
        self.receiver = Receiver(self)
        self.transport = Transport(self, connected, self.greeting, self.loop)

    def greeted(self, welcome: _wire.Welcome, accepts_files: bool) -> None:
        """Handles the bus's welcome."""
        self.bus = BusInfo._of(welcome)
        self.connection = welcome.connection
        self.payload_max = self.bus.payload_max
        self.accepts_files = accepts_files
        if self.phase is Phase.CONNECTING:
            self.phase = Phase.OPEN
            self.takes_plain_posts = True
            if self._greeting is not None and not self._greeting.done():
                self._greeting.set_result(None)
        elif self.interruption is not None and self.interruption.renewal is not None:
            self.interruption.renewal.is_welcomed = True

    # Sending.

    def next_serial(self) -> int:
        """A serial that was never used."""
        self.last_serial += 1
        return self.last_serial

    def require_open(self) -> None:
        """Raises `TribuneError` if the link accepts no more requests."""
        if self.phase is Phase.ENDED:
            raise repeated(self.error) if self.error else closed()
        require_loop(self.loop)
        if self.phase is Phase.CLOSING or (self.interruption and self.interruption.is_closing):
            raise closed()

    def require_fitting(self, length: int) -> None:
        """Raises `TribuneError` if userInfo is too long for the bus."""
        if length > self.payload_max:
            raise too_long(length, self.payload_max)

    def send(self, frame: bytes) -> None:
        """Queues a frame, which is sent soon, or over the next connection."""
        if self.phase is Phase.ENDED:
            return
        self.outbox.append(frame)
        self._schedule_flush()

    def send_ahead(self, frame: bytes) -> None:
        """Sends a frame at once, before all frames that wait. The link must be open."""
        self.outbox.prepend(frame)
        self.flush()

    def _schedule_flush(self) -> None:
        if not self._flushes and self.phase is not Phase.INTERRUPTED:
            self._flushes = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushes = False
        self.flush()

    def flush(self) -> None:
        """Writes the frames that wait, if a connection can take them."""
        if self.transport is not None and self.phase in (Phase.OPEN, Phase.CLOSING):
            self.transport.write(self.outbox)
            self.takes_plain_posts = self.phase is Phase.OPEN and self.outbox.size < _TURN
            self.written()

    def writable(self) -> None:
        """Continues to write, because the connection takes more bytes."""
        if self.interruption is not None and self.interruption.renewal is not None:
            self.interruption.renewal.send(self)
        else:
            self.flush()

    def written(self) -> None:
        """Resumes a caller that waits for outbox space, and one that waits for an empty outbox."""
        while self._capacity_waiters and not self.outbox.is_full:
            waiter = self._capacity_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if self._idle is not None and not self.outbox and not self._idle.done():
            self._idle.set_result(None)

    async def wait_for_capacity(self, seconds: float = 0) -> None:
        """Waits while the outbox is full, at most this number of seconds; 0 means no limit.

        Callers are resumed one after the other, each when the outbox has space again.
        """
        waiter = self.loop.create_future()
        self._capacity_waiters.append(waiter)
        try:
            async with asyncio.timeout(seconds or None):
                await waiter
        except TimeoutError:
            raise not_sent_in_time() from None
        finally:
            self.loop.call_soon(self.written)
        self.require_open()

    def send_plain_post(self, frame: bytes) -> None:
        """Sends a post without fields and flags. `takes_plain_posts` must be true."""
        if not self._flushes:
            require_loop(self.loop)
            self._schedule_flush()
        outbox = self.outbox
        outbox.frames.append(frame)
        outbox.size += len(frame)
        if outbox.size >= _TURN:
            self.takes_plain_posts = False

    async def take_turn(self) -> None:
        """Writes, and lets other tasks run, if callers have sent much without waiting."""
        if self.outbox.size >= _TURN:
            self.flush()
            await asyncio.sleep(0)

    def append(
        self, fields: Fields, name: bytes, object: bytes, payload: bytes, flags: int, serial: int
    ) -> None:
        """Sends a frame. Long userInfo of a post goes into a file, if the bus accepts files."""
        may_be_file = isinstance(fields, _wire.Post) and self.accepts_files
        if not may_be_file or len(payload) < _wire.DESCRIPTOR_PAYLOAD_LENGTH:
            frame = encode(
                fields, name=name, object=object, payload=payload, serial=serial, flags=flags
            )
            self.send(frame)
            return
        assert isinstance(fields, _wire.Post)
        try:
            descriptor = _memory.sealed(payload)
        except OSError as error:
            raise TribuneError(
                Code.LIMIT_EXCEEDED, f"there is no file for userInfo: {error}"
            ) from error
        fields.length = len(payload)
        flags |= DESCRIPTOR
        frame = encode(fields, name=name, object=object, serial=serial, flags=flags)
        self.outbox.append_with_file(frame, serial, descriptor, len(payload))
        self._schedule_flush()

    def keep_bound(self, fields: _wire.Post, name: bytes, object: bytes, payload: bytes) -> None:
        """Keeps a bound post for the next bus, until another retained post replaces it."""
        is_bound = payload and fields.options & _wire.PostOptions.BOUND
        if self.reconnect_timeout > 0 and is_bound:
            serial = self.next_serial()
            again = _wire.Post(options=fields.options)
            frame = encode(again, name=name, object=object, payload=payload, serial=serial)
            self.bound[name, object] = serial, frame
        else:
            self.bound.pop((name, object), None)

    # Requests.

    async def request(
        self,
        fields: Fields,
        *,
        name: bytes = b"",
        object: bytes = b"",
        payload: bytes = b"",
        flags: int = 0,
        deadline: int | None = None,
        is_taken_back: bool = False,
        progress: Callable[[Progress], object] | None = None,
        action: ActionTerm | None = None,
    ) -> Any:
        """Sends a request, and returns the bus's reply to it. Raises `TribuneError`.

        `deadline` is in milliseconds; 0 means the bus's default, and None no deadline.

        If the task is cancelled and `is_taken_back` is true, withdraws the request from the bus.
        `action` begins if the verdict allows it.
        """
        self.require_open()
        self.require_fitting(len(payload))
        since = self.loop.time()
        while self.outbox.is_full:
            await self.wait_for_capacity(self._patience(deadline))
        serial = self.next_serial()
        request = Request(self.loop.create_future(), deadline, since)
        request.progress = progress
        if action is not None:
            action.serial = serial
            request.action = action
        if isinstance(fields, _wire.List):
            request.entries = []
        self.append(fields, name, object, payload, flags, serial)
        self.requests[serial] = request
        if self.phase is Phase.INTERRUPTED:
            self.bound_waiting(serial, request)
        else:
            self.bound_reply(serial, request)
        try:
            return await request.future
        except asyncio.CancelledError:
            if self.requests.pop(serial, None) is not None and is_taken_back:
                self._cancel(serial)
            if action is not None:
                self.drop(action)
            raise
        finally:
            if request.timer is not None:
                request.timer.cancel()

    def bound_reply(self, serial: int, request: Request) -> None:
        """Limits the time from a request to its reply, in case the bus hangs."""
        if seconds := self._patience(request.deadline):
            until = self.loop.time() + seconds + _REPLY_GRACE
            request.timer = self.loop.call_at(until, self._fail_unanswered, serial)

    def bound_waiting(self, serial: int, request: Request) -> None:
        """Limits a request's wait for a bus to the request's deadline."""
        if request.timer is not None:
            request.timer.cancel()
        if seconds := self._patience(request.deadline):
            until = request.since + seconds
            request.timer = self.loop.call_at(until, self._fail_overdue, serial)

    def _patience(self, deadline: int | None) -> float:
        """The seconds of a request's deadline, or of the last bus's default; 0 for no limit."""
        if deadline is None or self.bus is None:
            return 0
        return deadline / 1e3 or self.bus.deadline_default

    def fail_waiting(self, serial: int, length: int) -> None:
        """Fails a request whose userInfo the new bus does not accept."""
        if request := self.requests.pop(serial, None):
            error = too_long(length, self.payload_max)
            if length <= self.payload_max:
                error = TribuneError(
                    Code.PAYLOAD_TOO_LONG, "the new bus accepts no userInfo in a file"
                )
            request.settle(error=error)

    def _fail_overdue(self, serial: int) -> None:
        if request := self.requests.pop(serial, None):
            request.settle(error=not_sent_in_time())

    def _fail_unanswered(self, serial: int) -> None:
        if request := self.requests.pop(serial, None):
            request.settle(error=not_answered_in_time())
            self._cancel(serial)

    def _cancel(self, target: int) -> int:
        """Withdraws a registration or request. Returns the serial of the `cancel`."""
        serial = self.next_serial()
        self.send(encode(_wire.Cancel(target=target), serial=serial))
        return serial

    async def suspend(self, is_suspended: bool) -> None:
        """Suspends the notifications of the connection, or resumes them."""
        self.require_open()
        serial = self.next_serial()
        self.suspensions[serial] = is_suspended
        request = self.requests[serial] = Request(self.loop.create_future(), None, 0.0)
        self.send(encode(_wire.Suspend(is_suspended=is_suspended), serial=serial))
        await request.outlasting_caller()

    # Registrations.

    def register(self, registration: Registration) -> None:
        """Makes a registration. Raises `TribuneError` if it cannot be sent."""
        self.require_open()
        self.require_fitting(len(registration.payload))
        registration.serial = self.next_serial()
        frame = registration.frame()
        self.registrations[registration.serial] = registration
        self.send(frame)

    def _forget(self, registration: Registration) -> bool:
        """Forgets a registration. Returns whether it was registered."""
        if self.registrations.get(registration.serial) is not registration:
            return False
        del self.registrations[registration.serial]
        registration.end(None)
        self.receiver.forget_routes()
        if isinstance(registration, AttachedDelegate):
            self.questions.withdraw(registration, None)
        return True

    def drop(self, registration: Registration) -> None:
        """Withdraws a registration without waiting."""
        if not self._forget(registration) or self.phase in (Phase.CLOSING, Phase.ENDED):
            return
        serial = self._cancel(registration.serial)
        if isinstance(registration, ObservationPart) and registration.is_awaited:
            # Until the bus confirms the withdrawal, posters may still wait for this observation.
            self.retirements[serial] = registration.matcher

    async def take_back(self, registration: Registration) -> None:
        """Withdraws a registration. Cancelling the task does not stop the withdrawal."""
        if not self._forget(registration) or self.phase in (Phase.CLOSING, Phase.ENDED):
            return
        serial = self.next_serial()
        request = self.requests[serial] = Request(self.loop.create_future(), None, 0.0)
        request.is_taking_back = True
        self.send(encode(_wire.Cancel(target=registration.serial), serial=serial))
        try:
            await request.outlasting_caller()
        except TribuneError as error:
            if error.code is not Code.NOT_FOUND:
                raise

    def streams(self, last_serial: int | None = None) -> dict[Stream[Any], None]:
        """Returns each stream that gets notifications, once.

        With `last_serial`, returns only the streams of registrations up to this serial.
        """
        return {
            stream: None
            for serial, registration in self.registrations.items()
            if last_serial is None or serial <= last_serial
            for stream in registration.streams()
        }

    # Replies.

    def receive(self, frame: Frame, file: UserInfoFile | None) -> None:
        """Handles a frame."""
        self.receiver.receive(frame, file)

    def received_batch(self) -> None:
        """Handles the end of a batch of frames."""
        self.room.note_batch()

    def okay(self, serial: int, okay: _wire.Okay) -> None:
        """Handles the bus's confirmation."""
        self.retirements.pop(serial, None)
        if registration := self.registrations.get(serial):
            registration.confirm(okay, self)
            self.receiver.forget_routes()
        if serial in self.suspensions:
            self.is_suspended = self.suspensions.pop(serial)
        self.reply(serial, okay)
        self._note_renewed(serial)

    def verdict(self, serial: int, verdict: Verdict) -> None:
        """Handles a verdict, which may begin its query's action."""
        request = self.requests.get(serial)
        if request is not None and request.action is not None and verdict.is_allowed:
            request.action.is_live = True
            request.action.settle()
            self.registrations[serial] = request.action
        self.reply(serial, verdict)

    def late(self, serial: int, count: int) -> None:
        """Handles a change in the number of actions under way that had begun before a hold."""
        term = self.registrations.get(serial)
        if isinstance(term, HoldTerm):
            term.set_late(count)

    def reply(self, serial: int, result: Any) -> None:
        """Passes the bus's answer to the request's caller."""
        if request := self.requests.pop(serial, None):
            request.settle(result if request.entries is None else request.entries)

    def refuse(self, serial: int, number: int, message: str) -> None:
        """Handles the refusal of a frame or, with serial 0, of the connection."""
        error = refusal(number, message)
        if serial == 0:
            self._note_closing_error(error, number)
            return
        self.retirements.pop(serial, None)
        self.suspensions.pop(serial, None)
        if request := self.requests.pop(serial, None):
            request.settle(error=error)
        registration = self.registrations.get(serial)
        renewal = self.interruption.renewal if self.interruption else None
        if registration is not None:
            if registration.ready.done() and not registration.is_over():
                # This registration was in force before the interruption, and may be a veto. Because
                # a lost veto must not go unnoticed, the link ends.
                message = f"after an interruption, the bus refuses a registration: {error.message}"
                self.end(TribuneError(error.code, message))
                return
            self.registrations.pop(serial)
            registration.refuse(error, self)
            self.receiver.forget_routes()
        if renewal is not None and serial in renewal.successions:
            assert self.interruption is not None
            self.interruption.is_loss_known = False
        self._note_renewed(serial)

    def _note_renewed(self, serial: int) -> None:
        if self.interruption is not None and self.interruption.renewal is not None:
            self.interruption.renewal.note_reply(serial)

    def _note_closing_error(self, error: TribuneError, number: int) -> None:
        if self.interruption is not None:
            if self.interruption.renewal is not None and number in _PASSING:
                self.interruption.renewal.fail(error)
                return
        elif self.phase is Phase.OPEN and (
            (number == ErrorCode.RESTARTED and self.reconnect_timeout)
            or (number == ErrorCode.SHUTTING_DOWN and self.reconnect_timeout == math.inf)
        ):
            self._restart = error
            self.stream_ended()
            return
        self.end(error)

    def ended_registration(self, serial: int, ended: _wire.Ended) -> None:
        """Handles the end of a registration by the bus."""
        match ended:
            case _wire.Ended("notPermitted", str(why)):
                # The end of a hold or delegate must not go unnoticed, so the connection ends.
                self.end(TribuneError(Code.NOT_PERMITTED, why))
            case _wire.Ended("expired"):
                term = self.registrations.get(serial)
                if isinstance(term, HoldTerm):
                    del self.registrations[serial]
                    term.expire()
            case _wire.Ended("replaced", _wire.DelegateEntry() as entry):
                attached = self.registrations.get(serial)
                if isinstance(attached, AttachedDelegate):
                    del self.registrations[serial]
                    self.receiver.forget_routes()
                    # The bus does not report the end of queries to a replaced delegate.
                    self.questions.withdraw(attached, Ending.CANCELLED)
                    attached.replace(DelegateInfo._of(entry), self)

    def acknowledge(self, poster: int, post: int, failure: str | None, epoch: int) -> None:
        """Reports to the poster of an awaited notification. A `failure` of None means success.

        Sends nothing if the connection that received the notification has ended, because the bus
        reports this end to the poster.
        """
        if epoch != self.epoch or self.phase not in (Phase.OPEN, Phase.INTERRUPTED):
            return
        fields = _wire.Done(poster=poster, post=post, has_failed=failure is not None)
        payload = shortened(failure) if failure else b""
        self.send(encode(fields, payload=payload, serial=self.next_serial()))

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work in a later turn of the loop. Its exceptions go to the loop's handler."""
        # With `create_task`, a custom task factory could start the task at once, in the middle of a
        # change of state.
        task = asyncio.Task(work, loop=self.loop)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Ends.

    @property
    def is_open(self) -> bool:
        """Whether the link is neither interrupted nor closing."""
        return self.phase is Phase.OPEN

    @property
    def has_ended(self) -> bool:
        """Whether the link has ended. An interrupted link has not ended."""
        return self.phase is Phase.ENDED

    def stream_ended(self) -> None:
        """Handles the end of the socket: the bus closed it, or is gone."""
        if self.transport is not None:
            self.transport.close()
        if self.phase is Phase.CONNECTING:
            if self._greeting is not None and not self._greeting.done():
                self._greeting.set_exception(ConnectionResetError())
        elif self.phase is Phase.INTERRUPTED:
            if self.interruption is not None and self.interruption.renewal is not None:
                self.interruption.renewal.fail(self.closed_at_once())
        elif self.phase is Phase.CLOSING:
            self.end(None)
        elif self.phase is Phase.OPEN:
            cause = self._restart or TribuneError(
                Code.CONNECTION_LOST, "the bus closed the connection"
            )
            self._restart = None
            if not self.reconnect_timeout:
                self.end(cause)
                return
            received = self.receiver.received
            self.phase = Phase.INTERRUPTED
            self.takes_plain_posts = False
            self.interruption = Interruption(self.last_serial, cause)
            self.interruption.begin(self, received)
            self._reconnecting = self.start(reconnect(self))
            self._reconnecting.add_done_callback(self._note_reconnected)

    def closed_at_once(self) -> TribuneError:
        """Returns the error for a listener that closes the connection at once."""
        return TribuneError(
            Code.UNREACHABLE, f"the listener at {self.address} closed the connection at once"
        )

    def _note_reconnected(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self.end(TribuneError(Code.CONNECTION_LOST, f"reconnecting failed: {error!r}"))
            raise error

    def reopened(self) -> None:
        """Opens the link again, because the new bus has all registrations."""
        self.interruption = None
        self.phase = Phase.OPEN
        # Readers may have taken items during the interruption, so the bus may send more.
        self.room.give()
        self.flush()

    def broken(self, error: TribuneError) -> None:
        """Ends the connection, because the bus has sent invalid bytes."""
        self.end(error)

    async def close(self) -> None:
        """Writes the frames that wait, and ends the connection."""
        if self.phase is Phase.ENDED:
            return
        require_loop(self.loop)
        try:
            async with asyncio.timeout(_CLOSING):
                if self.interruption is not None:
                    self.interruption.close(self)
                    if self._reconnecting is not None:
                        await asyncio.wait({self._reconnecting})
                if self.phase is Phase.OPEN:
                    self.phase = Phase.CLOSING
                    self.takes_plain_posts = False
                    self.flush()
                    if self.outbox:
                        self._idle = self.loop.create_future()
                        await asyncio.wait({self._idle, self._ended}, return_when="FIRST_COMPLETED")
                    if self.transport is not None:
                        self.transport.end_writing()
                # Another task may be closing the link, and may still write.
                await asyncio.wait({self._ended})
        except TimeoutError:
            # The bus does not read, so the remaining frames are lost.
            return
        finally:
            self.end(None)

    async def ended(self) -> TribuneError | None:
        """Waits for the end, and returns its reason."""
        self._end_waiters += 1
        try:
            await asyncio.shield(self._ended)
        finally:
            self._end_waiters -= 1
        return self.error

    def _report_missing_vetoes(self, error: TribuneError) -> None:
        """Logs that delegates and holds are no longer in force, unless a task waits for the end."""
        if self._end_waiters:
            return
        count = sum(
            isinstance(one, AttachedDelegate | HoldTerm) for one in self.registrations.values()
        )
        if count:
            _log.error("delegates and holds (%d) are not in force any more: %s", count, error)

    def leave_to_parent(self) -> None:
        """Ends a forked child's copy of the connection. The parent's connection stays open.

        The child's event loop is a copy, but shares its selector with the parent's loop. So this
        method does not use the loop, and resumes no task.
        """
        self.phase = Phase.ENDED
        self.takes_plain_posts = False
        self.error = TribuneError(
            Code.CONNECTION_LOST, "the connection belongs to the process that forked this one"
        )
        self.outbox.clear()
        if self.transport is not None:
            self.transport.leave_to_parent()

    def end(self, error: TribuneError | None) -> None:
        """Ends the connection. Does nothing if it had ended before."""
        if self.phase is Phase.ENDED:
            return
        if error is not None and self.phase is not Phase.CLOSING:
            self._report_missing_vetoes(error)
        self.phase = Phase.ENDED
        self.takes_plain_posts = False
        self.error = error
        failure = error or closed()
        if self.transport is not None:
            self.transport.close()
        if self._greeting is not None and not self._greeting.done():
            self._greeting.set_exception(failure)
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        requests, self.requests = self.requests, {}
        for request in requests.values():
            request.settle(error=repeated(failure))
        for waiter in self._capacity_waiters:
            if not waiter.done():
                waiter.set_exception(repeated(failure))
        self._capacity_waiters.clear()
        self.outbox.clear()
        registrations, self.registrations = self.registrations, {}
        for registration in registrations.values():
            registration.settle(repeated(failure))
            registration.end(error)
        self.receiver.forget_routes()
        self.questions.cancel()
        self._ended.set_result(None)


# All links of this process. A forked child inherits copies of them.
_links: Final[weakref.WeakSet[Link]] = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for link in _links:
        link.leave_to_parent()


os.register_at_fork(after_in_child=_leave_all_to_parent)

# After these errors, the next attempt may succeed.
_PASSING: Final = (
    ErrorCode.RESTARTED,
    ErrorCode.SHUTTING_DOWN,
    ErrorCode.TOO_MANY_CONNECTIONS,
    ErrorCode.OUT_OF_MEMORY,
    ErrorCode.HELLO_TIMEOUT,
)
