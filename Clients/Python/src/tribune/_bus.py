# SPDX-License-Identifier: Apache-2.0
"""The public face of a connection to the bus."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from typing import Any, Final, Self

from . import _wire
from ._address import Address
from ._delegation import (
    Answer,
    AttachedDelegate,
    Attachment,
    Delegate,
    FailurePolicy,
    FunctionDelegate,
    Question,
)
from ._errors import Code, TribuneError, violation
from ._frame import HEADER_LENGTH, PLAIN_HEADER, Capabilities
from ._link import Link
from ._lists import Lists
from ._messages import (
    AwaitedReply,
    BusInfo,
    ConnectionEvent,
    Mode,
    Progress,
    QueryReply,
    Style,
    Suspension,
    UserInfo,
    Verdict,
    Vetoed,
    connection_name,
    described,
    encoded_user_info,
    milliseconds,
    shortened,
)
from ._monitoring import Traffic
from ._names import ActionNames, encoded_name, encoded_object, plain_route
from ._observation import Observation, TrafficMonitor
from ._registrations import DeclarationTerm, HoldTerm, MonitorPart, ObservationPart
from ._stream import Stream
from ._terms import Declaration, Hold
from ._wire import FrameFlags

_log: Final = logging.getLogger("tribune")
# Seconds in which the end of a guarded action must be announced.
_ANNOUNCING: Final = 5.0
# Bytes of userInfo that need not travel as a file.
_SHORT: Final = _wire.DESCRIPTOR_PAYLOAD_LENGTH
_NOW: Final = Style.NOW

_STYLES: Final = {
    Style.NOW: _wire.PostingStyle.NOW,
    Style.ASAP: _wire.PostingStyle.AS_SOON_AS_POSSIBLE,
    Style.IDLE: _wire.PostingStyle.WHEN_IDLE,
}


def connect(
    address: str | None = None,
    *,
    timeout: float = 30.0,
    reconnect_timeout: float = 10.0,
    identify_posters: bool = False,
    on_event: Callable[[ConnectionEvent], object] | None = None,
) -> Connecting:
    """Connects to a bus. Enter the result with ``async with``, or await it.

    - `address`: ``unix:PATH``. By default ``$TRIBUNE_ADDRESS``; else the first of
      ``$RUNTIME_DIRECTORY/bus`` and ``$XDG_RUNTIME_DIR/tribune/bus`` that exists, if this user owns
      the folder and this user or root serves the bus; else ``/run/tribune/bus``.
    - `timeout`: seconds until the bus must have introduced itself. While a bus restarts, or hangs
      and is about to be replaced, new connections wait at its socket.
    - `reconnect_timeout`: seconds in which to look for the bus when the connection is lost; 0 for
      never.
    - `identify_posters`: whether the bus tells who posts (`Notification.poster`). It does so once
      for each connection that posts, so it costs nothing for each notification.
    - `on_event`: called when the connection is lost and when it is back. It must not wait.

    Raises `TribuneError`: `UNREACHABLE`, `INVALID_ADDRESS`, `UNSUPPORTED_VERSION`;
    `PROTOCOL_VIOLATION` when the peer is no bus; from a bus that refuses the connection,
    `LIMIT_EXCEEDED`, `SHUTTING_DOWN`, `TOO_SLOW` or `CONNECTION_LOST`.
    """
    return Connecting(address, timeout, reconnect_timeout, identify_posters, on_event)


class Connecting:
    """What `connect` returns: await it, or enter it."""

    def __init__(
        self,
        address: str | None,
        timeout: float,
        reconnect_timeout: float,
        identify_posters: bool,
        on_event: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._reconnect_timeout = reconnect_timeout
        self._capabilities = Capabilities.DESCRIPTORS
        if identify_posters:
            self._capabilities |= Capabilities.POSTERS
        self._on_event = on_event
        self._bus: Bus | None = None

    async def _connect(self) -> Bus:
        address = Address.resolve() if self._address is None else Address.parse(self._address)
        link = Link(
            address,
            reconnect_timeout=self._reconnect_timeout,
            capabilities=self._capabilities,
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


class Bus(Lists):
    """A connection to the bus: posts, asks, observes and answers.

    Any number of tasks of one event loop may use it at the same time. It belongs to that loop, and
    is not for other threads. A process that is forked from this one connects itself: there, this
    connection has ended, and its registrations stay this process's.

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
        # Not from here: the collector may run in any thread, and in the middle of anything.
        link = self._link
        if not link.loop.is_closed() and not link.has_ended:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=1, source=self)
            link.loop.call_soon_threadsafe(link.end, None)

    # The connection.

    @property
    def id(self) -> str:
        """The connection's id, ``:N``, which no other one of that bus ever has.

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

        If a connection with delegates or holds is lost for good, and nothing has called this, the
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

    # Notifications.

    async def post(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        style: Style = Style.NOW,
        coalesce_name: bool = False,
        coalesce_object: bool = False,
        retain: bool = False,
        immediate: bool = False,
    ) -> None:
        """Posts a notification without waiting for the bus.

        It is queued behind what was sent before. Waits only while more than 1 MiB waits to be
        written. Nothing reports that the bus refuses it, as it does if its policy does not allow
        it: `post_acknowledged` would.

        - `user_info`: bytes as they are, text as UTF-8, None for nothing, all else as JSON.
        - `object`: what it is about, such as ``window/42``; empty for nothing.
        - `style`: when the bus delivers it.
        - `coalesce_name`, `coalesce_object`: it replaces those of this user that wait on the bus
          and have the same name, the same object, or with both, the same of both.
        - `retain`: the bus keeps it for later observers, as the last of its name and object.
          Without userInfo, it clears the one that is kept.
        - `immediate`: suspended connections receive it, too.

        Raises `TribuneError`: `INVALID_NAME`, `RESERVED_NAME`, `INVALID_OBJECT`,
        `PAYLOAD_TOO_LONG`, `CONNECTION_LOST`; `TypeError` or `ValueError` for userInfo that cannot
        be JSON.
        """
        link = self._link
        payload = user_info if type(user_info) is bytes else encoded_user_info(user_info)
        word, route = plain_route(name, object)
        is_plain = not (coalesce_name or coalesce_object or retain or immediate)
        if is_plain and style is _NOW and len(payload) < _SHORT and link.takes_plain_posts:
            # Every bus accepts so much, and there is room: this is the way of nearly all posts.
            link.last_serial = serial = link.last_serial + 1
            header = PLAIN_HEADER.pack(HEADER_LENGTH + len(route) + len(payload), word, serial)
            link.send_plain_post(header + route + payload)
            return
        link.require_open()
        link.require_fitting(len(payload))
        while link.outbox.is_full:
            await link.wait_for_capacity()
        fields = _post(style, coalesce_name, coalesce_object, retain, immediate)
        encoded = encoded_name(name), encoded_object(object)
        link.append(fields, *encoded, payload, 0, link.next_serial())
        await link.take_turn()

    async def post_acknowledged(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        style: Style = Style.NOW,
        coalesce_name: bool = False,
        coalesce_object: bool = False,
        retain: bool = False,
        immediate: bool = False,
    ) -> None:
        """Posts a notification, and returns when the bus has accepted it.

        With the style `NOW`, it is then in the queues of all receivers. The parameters are those of
        `post`. Raises `TribuneError` as `post` does, and any refusal of the bus, such as
        `NOT_PERMITTED`; `LIMIT_EXCEEDED` when it is to be retained and this user has too much
        retained.
        """
        await self._link.request(
            _post(style, coalesce_name, coalesce_object, retain, immediate),
            name=encoded_name(name),
            object=encoded_object(object),
            payload=encoded_user_info(user_info),
            flags=FrameFlags.ACKNOWLEDGE,
        )

    async def post_awaited(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        retain: bool = False,
        immediate: bool = False,
    ) -> AwaitedReply:
        """Posts a notification, and waits until its awaited observers are done.

        This is the barrier that a ``will`` needs. An observer that fails, disconnects or is too
        slow is no error: the reply names it. If there are no awaited observers, the reply comes at
        once. Cancelling the task ends the waiting; the notification stays posted.

        `deadline` is the longest time to wait, in seconds; by default the bus's (30 s unless
        configured otherwise). The rest is as for `post`. Raises `TribuneError` as
        `post_acknowledged` does.
        """
        fields = _post(Style.NOW, False, False, retain, immediate)
        fields.options |= _wire.PostOptions.AWAITED
        fields.deadline = milliseconds(deadline)
        reply = await self._link.request(
            fields,
            name=encoded_name(name),
            object=encoded_object(object),
            payload=encoded_user_info(user_info),
            deadline=fields.deadline,
            is_taken_back=True,
        )
        if not isinstance(reply, AwaitedReply):
            raise violation("the bus answered an awaited post without a list of its observers")
        return reply

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

        Each item is a `Notification`, `Lost` or `Interrupted`. It covers everything that is posted
        behind it over this connection; `Observation.ready` waits until it covers everything.

        - `patterns`: the names, in which ``*`` stands for one token and a last ``**`` for one or
          more; none for any name. A notification that several match comes once.
        - `object`: what they are about; empty for anything.
        - `limit`: items that are buffered for the reader, one at least; see `Subscription`.
        - `suspension`: what happens to them while the connection is suspended.
        - `retained`: whether the matching retained ones come first (`Notification.is_retained`).
          None is missing between those and new ones, and none comes twice.
        - `awaited`: whether awaited posts wait for this observer, which then says of each that it
          is done (`Notification.done`, `failed`, `handling`).

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`, `CONNECTION_LOST`. A refusal of
        the bus is raised by the first item, and by `Observation.ready`.
        """
        stream: Stream[Any] = Stream(limit)
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

        When it returns, the buffered ones are in the observations, in the order of posting.
        Cancelling the task does not stop it. Raises `TribuneError`.
        """
        await self._link.suspend(False)

    def monitor(self, *patterns: str) -> TrafficMonitor:
        """Monitors the traffic under names that match any of the patterns; all without patterns.

        The bus sends each frame to a connection once: if it monitors several times, each monitor
        has the frames that any of them asked for. Raises `TribuneError` as `observe` does.
        """
        stream: Stream[Traffic] = Stream(4096)
        parts = [MonitorPart(stream, pattern) for pattern in dict.fromkeys(patterns or ("",))]
        return TrafficMonitor(self, stream, parts)

    # Queries.

    async def ask(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        mode: Mode = Mode.PARALLEL,
        default: bool = True,
        override: str | None = None,
        dry_run: bool = False,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Verdict:
        """Asks the delegates of an object, and those of any object, before something is done.

        If no delegate responds, the verdict is the default, at once. A matching hold is a veto, and
        so is a delegate that the configuration requires and that is not attached. Cancelling the
        task cancels the query on the bus.

        - `name`: such as ``window.shouldClose``.
        - `object`: whose delegates are asked; if it is empty, only those of any object.
        - `deadline`: seconds until the verdict; by default the bus's (30 s unless configured
          otherwise), and at most `BusInfo.deadline_max`.
        - `mode`: how the query goes through the chain.
        - `default`: whether it is allowed when no delegate approves or vetoes.
        - `override`: the reason for overriding vetoes, at most 4,096 bytes; None to respect them.
        - `dry_run`: whether to tell the delegates that no action will follow.
        - `parent`: the query that the caller is answering meanwhile (`Question.query`).
        - `progress`: called when a delegate is asked, when it defers, and with its outcome. It must
          not wait.

        Raises `TribuneError`: `INVALID_NAME`, `RESERVED_NAME`, `INVALID_OBJECT`,
        `PAYLOAD_TOO_LONG`, `LIMIT_EXCEEDED`, `RECURSION`, `NOT_PERMITTED`, `UNKNOWN_NAME`,
        `INVALID_PARAMETER`, `CONNECTION_LOST`; `REFUSED` for an override without a reason or a
        deadline that is too long.
        """
        if override == "":
            raise TribuneError(Code.REFUSED, "an override needs a reason")
        flags = _wire.QueryFlags(0)
        if dry_run:
            flags |= _wire.QueryFlags.IS_DRY_RUN
        if override is not None:
            flags |= _wire.QueryFlags.OVERRIDES
        fields = _wire.Ask(
            deadline=milliseconds(deadline),
            mode=_wire.QueryMode[mode.name],
            fallback=_wire.VerdictKind.ALLOWED if default else _wire.VerdictKind.VETOED,
            parent=parent or 0,
            flags=flags,
            override_reason=shortened(override).decode() if override else "",
        )
        return await self._ask(fields, name, user_info, object, progress)

    async def query(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> QueryReply:
        """Asks the delegates for a value, one after the other until one gives it.

        A missing value is no error: `QueryReply.value` is None then, and the outcomes say why.
        Holds do not matter. The parameters and the errors are those of `ask`.
        """
        fields = self._value_query(_wire.QueryMode.FIRST, deadline, parent)
        return await self._query(fields, name, user_info, object, progress)

    async def collect(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> QueryReply:
        """Asks the delegates for a value, all at once, and collects every value.

        All else is as with `query`.
        """
        fields = self._value_query(_wire.QueryMode.COLLECT, deadline, parent)
        return await self._query(fields, name, user_info, object, progress)

    @staticmethod
    def _value_query(
        mode: _wire.QueryMode, deadline: float | None, parent: int | None
    ) -> _wire.Ask:
        return _wire.Ask(deadline=milliseconds(deadline), mode=mode, parent=parent or 0)

    async def _query(
        self,
        fields: _wire.Ask,
        name: str,
        user_info: UserInfo,
        object: str,
        progress: Callable[[Progress], object] | None,
    ) -> QueryReply:
        verdict = await self._ask(fields, name, user_info, object, progress)
        return QueryReply(verdict.query, verdict.outcomes, verdict.omitted_count)

    async def _ask(
        self,
        fields: _wire.Ask,
        name: str,
        user_info: UserInfo,
        object: str,
        progress: Callable[[Progress], object] | None,
    ) -> Verdict:
        if progress is not None:
            fields.flags |= _wire.QueryFlags.WANTS_PROGRESS
        verdict = await self._link.request(
            fields,
            name=encoded_name(name),
            object=encoded_object(object),
            payload=encoded_user_info(user_info),
            deadline=fields.deadline,
            is_taken_back=True,
            progress=progress,
        )
        if not isinstance(verdict, Verdict):
            raise violation("the bus answered a query without a verdict")
        return verdict

    @contextlib.asynccontextmanager
    async def guard(
        self,
        action: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        mode: Mode = Mode.ALL,
        default: bool = True,
        wait: float | None = None,
        on_missing: Callable[[AwaitedReply], object] | None = None,
    ) -> AsyncIterator[Verdict]:
        """Does an action as Cocoa does: should, will, the body, did.

        ``async with bus.guard("window.close"): ...`` asks ``window.shouldClose``, and raises
        `Vetoed` without running the body if that is vetoed. Else it posts ``window.willClose``,
        runs the body, and posts ``window.didClose``; or ``window.didFailToClose``, with at most
        4,096 bytes of the exception under ``error``, if the body raises one. It can decorate a
        coroutine function, too.

        With `wait`, it waits so many seconds at most for the awaited observers of ``will``; it goes
        on in any case, and `on_missing` is called with a reply in which some are missing. The rest
        is as for `ask`. If the end cannot be announced within 5 s, the log says so.

        Raises `Vetoed`, and `TribuneError` as `ask` and `post_awaited` do.
        """
        names = ActionNames(action)
        payload = encoded_user_info(user_info)
        verdict = await self.ask(
            names.should, payload, object=object, deadline=deadline, mode=mode, default=default
        )
        if not verdict:
            raise Vetoed(action, verdict)
        try:
            if wait is None:
                await self.post_acknowledged(names.will, payload, object=object)
            else:
                reply = await self.post_awaited(names.will, payload, object=object, deadline=wait)
                if not reply and on_missing is not None:
                    on_missing(reply)
            yield verdict
        except BaseException as error:
            # Also if nobody knows whether ``will`` was announced.
            failure = {"error": shortened(described(error)).decode()}
            await self._announce(names.did_fail, failure, object)
            raise
        await self._announce(names.did, payload, object)

    async def _announce(self, name: str, user_info: UserInfo, object: str) -> None:
        try:
            async with asyncio.timeout(_ANNOUNCING):
                try:
                    await self.post_acknowledged(name, user_info, object=object)
                except TribuneError as error:
                    # If the bus was killed before it confirmed, the announcement is repeated.
                    if error.code is not Code.CONNECTION_LOST or self.has_ended:
                        raise
                    await self.post_acknowledged(name, user_info, object=object)
        except (TribuneError, TimeoutError) as error:
            _log.warning("%s could not be posted: %s", name, error or "the bus did not answer")

    # Delegates.

    def delegate(
        self,
        *patterns: str,
        object: str = "",
        order: int = 0,
        on_failure: FailurePolicy = FailurePolicy.VETO,
        timeout: float | None = None,
        label: str = "",
        protocols: Sequence[str] = (),
    ) -> Callable[[Callable[[Question], Awaitable[Answer]]], Attachment]:
        """Attaches the decorated coroutine function, which answers the questions under these names.

        ``@bus.delegate("host.shouldReboot")`` makes the function's name an `Attachment`. It is in
        force for all that is sent behind it over this connection; `Attachment.ready` waits until it
        is in force for everybody. If the bus refuses it and nobody waits, the connection ends with
        the reason: a veto that is missing must not go unnoticed. The parameters are those of
        `attach`, and so are the errors of wrong ones.
        """
        if not all(isinstance(pattern, str) for pattern in patterns):
            # Without parentheses, nothing would be attached, and no veto would come.
            raise TypeError('patterns are text: @bus.delegate("host.shouldReboot")')

        def attach(function: Callable[[Question], Awaitable[Answer]]) -> Attachment:
            attached = AttachedDelegate(
                FunctionDelegate(function),
                patterns,
                object,
                order=order,
                on_failure=on_failure,
                timeout_ms=milliseconds(timeout),
                label=label,
                protocols=protocols,
                is_set=False,
            )
            self._link.register(attached)
            return Attachment(attached, self._link)

        return attach

    async def attach(
        self,
        delegate: Delegate | Callable[[Question], Awaitable[Answer]],
        *patterns: str,
        object: str = "",
        order: int = 0,
        on_failure: FailurePolicy = FailurePolicy.VETO,
        timeout: float | None = None,
        label: str = "",
        protocols: Sequence[str] = (),
        replace: bool = False,
    ) -> Attachment:
        """Attaches a delegate to an object's chain, until it is detached or the connection ends.

        - `delegate`: a `Delegate`, or a coroutine function that answers questions.
        - `patterns`: the names that it responds to, 1 to 128.
        - `object`: whose chain it joins; empty for any object's.
        - `order`: the place in the chain: lower is earlier, and equals go by time of attaching.
        - `on_failure`: what a timeout, a lost connection or an error counts as.
        - `timeout`: seconds that it may be silent; by default the bus's (5 s unless configured
          otherwise).
        - `label`: its name in verdicts, at most 255 bytes.
        - `protocols`: the protocols that it conforms to, at most 32.
        - `replace`: makes it the only one of the object, as Cocoa's ``setDelegate:`` does. The
          others learn it (`Delegate.replaced`).

        Attaching the same delegate in the same way twice changes nothing. Raises `TribuneError`:
        `INVALID_PATTERN`, `INVALID_OBJECT`, `LIMIT_EXCEEDED`, `NOT_PERMITTED`, `UNKNOWN_PROTOCOL`,
        `NOT_CONFORMING`, `CONNECTION_LOST`; `REFUSED` when another delegate of this connection
        responds to exactly these names of the object under this label.
        """
        attached = AttachedDelegate(
            delegate if isinstance(delegate, Delegate) else FunctionDelegate(delegate),
            patterns,
            object,
            order=order,
            on_failure=on_failure,
            timeout_ms=milliseconds(timeout),
            label=label,
            protocols=protocols,
            is_set=replace,
        )
        self._link.register(attached)
        return await Attachment(attached, self._link).__aenter__()

    async def defer(
        self, query: int, extension: float, *, delegate: int = 0, status: str = ""
    ) -> None:
        """Asks for more time on behalf of a delegate of this user, perhaps of another connection.

        It is meant for programs that a delegate runs; a delegate itself uses `Question.defer`.
        `delegate` 0 is the only delegate of this user that the query waits for. Raises
        `TribuneError` with `NOT_FOUND` when the query does not wait for that delegate.
        """
        await self._link.request(
            _wire.Defer(query=query, delegate=delegate, extension=milliseconds(extension)),
            payload=shortened(status),
            flags=FrameFlags.ACKNOWLEDGE,
        )

    def hold(
        self,
        pattern: str = "",
        *,
        why: str,
        object: str = "",
        label: str = "",
        expires_in: float | None = None,
    ) -> Hold:
        """A standing veto: ``async with bus.hold("host.shouldReboot", why="a restore"): ...``.

        It vetoes at once every query for permission whose name matches `pattern` (any if it is
        empty) and whose object is `object` (any if it is empty), until it is released, until it
        expires, or until the connection ends.

        - `why`: the reason in verdicts, at most 4,096 bytes.
        - `label`: who holds, in verdicts and lists; at most 255 bytes.
        - `expires_in`: seconds until it expires; None for never.

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`; `REFUSED` without a reason, or
        if the time is not positive. Entering raises the refusals of the bus, too.
        """
        if not why:
            raise TribuneError(Code.REFUSED, "a hold needs a reason")
        if expires_in is not None and not expires_in > 0:
            raise TribuneError(Code.REFUSED, "a hold must expire in the future")
        return Hold(HoldTerm(pattern, object, why, label, expires_in), self._link)

    def declare(self, object: str, protocol: str, definitions: str = "") -> Declaration:
        """Declares the protocol of an object's delegates, used as ``async with bus.declare(...)``.

        From when it is entered until its end, delegates that attach to the object must conform to
        the protocol, and queries and notifications about the object must be in it.

        `definitions` are protocols in the language of ``.protocol`` files, at most 65,536 bytes;
        they last as long as the declaration. Raises `TribuneError`: `INVALID_OBJECT`, also for an
        empty one; entering raises `UNKNOWN_PROTOCOL`, `INVALID_PROTOCOL`, `CONFLICT`,
        `NOT_PERMITTED`.
        """
        if not object:
            raise TribuneError(Code.INVALID_OBJECT, "a declaration needs an object")
        return Declaration(DeclarationTerm(object, protocol, definitions), self._link)

    def define(self, definitions: str) -> Declaration:
        """Defines protocols without declaring an object; else as `declare`."""
        if not definitions:
            raise TribuneError(Code.INVALID_PROTOCOL, "the definitions are empty")
        return Declaration(DeclarationTerm("", "", definitions), self._link)


def _post(
    style: Style, coalesce_name: bool, coalesce_object: bool, retain: bool, immediate: bool
) -> _wire.Post:
    options = _wire.PostOptions(0)
    if coalesce_name:
        options |= _wire.PostOptions.COALESCE_BY_NAME
    if coalesce_object:
        options |= _wire.PostOptions.COALESCE_BY_OBJECT
    if retain:
        options |= _wire.PostOptions.RETAIN
    if immediate:
        options |= _wire.PostOptions.IMMEDIATELY
    return _wire.Post(options=options, style=_STYLES[style])
