# SPDX-License-Identifier: Apache-2.0
"""Delegates: their questions, their answers and their attachments."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from . import _wire
from ._callbacks import ignore, report
from ._errors import Code, TribuneError
from ._listing import DelegateInfo
from ._messages import (
    Delivery,
    Interrupted,
    Peer,
    UserInfo,
    _WithUserInfo,
)
from ._names import Matcher, can_match_will_or_did, encoded_object, encoded_pattern
from ._registrations import Registration
from ._stream import BoundedStream, Stream

if TYPE_CHECKING:
    from ._link import Link
    from ._questions import OpenQuestion

_log: Final = logging.getLogger("tribune")
_DELIVERIES_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Veto:
    """A veto as a delegate's answer, with a reason of at most 4,096 bytes.

    A reason of another type, such as an exception, is converted to text.
    """

    reason: str


class _Abstention(enum.Enum):
    ABSTAIN = "Abstain"


#: The answer of a delegate without an opinion.
Abstain: Final = _Abstention.ABSTAIN


@dataclass(frozen=True, slots=True)
class Value:
    """A delegate's answer to a question that wants a value (`Question.wants_value`)."""

    value: UserInfo


#: True approves, and False vetoes without a reason. If the delegate raises an exception instead,
#: that is a failure, and the text of the exception is the error.
Answer = bool | Veto | _Abstention | Value


class FailurePolicy(enum.Enum):
    """The effect of a delegate's failure: a timeout, a lost connection or an error."""

    VETO = "veto"
    ABSTAIN = "abstain"


class Ending(enum.Enum):
    """How a query has ended."""

    #: The action may go ahead.
    ALLOWED = "allowed"
    VETOED = "vetoed"
    #: The asker withdrew the query or left, or this delegate cannot learn the result.
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The end of a query, for a delegate that was asked."""

    query: int
    ending: Ending


@dataclass(slots=True)
class Question(_WithUserInfo):
    """The question that a query asks one delegate."""

    #: The name, such as ``window.shouldClose``.
    name: str
    #: The object; empty for none.
    object: str = ""
    #: The asker's data, by convention JSON in UTF-8.
    user_info: bytes = b""
    #: The query's id. Pass it as the `parent` of a query that the delegate asks before it answers.
    query: int = 1
    #: Seconds for the answer, unless the delegate defers.
    timeout: float = 5.0
    asker: Peer = Peer()
    #: The asking connection, ``:N``.
    connection: str = ":0"
    #: True if no action follows, whatever the verdict.
    is_dry_run: bool = False
    #: True if the asker wants a value (`Value`) instead of permission.
    wants_value: bool = False
    delegate: int = 1
    _open: OpenQuestion | None = field(default=None, repr=False, compare=False)

    def defer(self, extension: float, status: str = "") -> None:
        """Asks for more time, and tells the asker why. Never waits.

        The delegate then has `extension` seconds from now, unless it already had more time. It
        never gets more time than the asker allows. The status has at most 4,096 bytes. If a test
        has made the question, this method does nothing. Raises `TribuneError` with `NOT_FOUND` if
        the question was answered or withdrawn.
        """
        if self._open is not None:
            self._open.defer(extension, status)


class Delegate:
    """An object that the bus asks before an action, and that can veto it.

    Override the methods that you need. Questions to one delegate may overlap.
    """

    async def answer(self, question: Question) -> Answer:
        """Answers a question; abstains unless overridden.

        If the question is withdrawn before the answer, or the connection is interrupted, the
        library cancels the task that runs this method, and discards the answer. An exception is a
        failure, and the logger ``tribune`` reports it. A `CancelledError` of a task that the method
        awaits is a failure too.
        """
        return Abstain

    async def concluded(self, conclusion: Conclusion) -> None:
        """Learns how a query has ended, so the delegate can undo what `answer` prepared.

        The library calls this method once for each question, after `answer` has returned, except
        for questions that were open when the delegate was detached.
        """

    async def received(self, delivery: Delivery) -> None:
        """Receives a notification that an action is about to happen, or has happened.

        The delegate gets the notifications that match its patterns, and whose last token is `will`
        or `did`, followed by a verb. It also gets reports of lost notifications. Notifications come
        one at a time, in the order in which each poster sent them. Before a notification comes,
        `answer` has started for all questions that the bus sent earlier. At most 4,096
        notifications wait, with at most 64 MiB of userInfo. Beyond that, the library drops new
        ones, and reports them as `Lost`.
        """

    async def replaced(self, delegate: DelegateInfo) -> None:
        """Learns that another delegate has replaced this one, which is no longer attached.

        By default, this method logs an error, because a lost veto must not go unnoticed.
        """
        _log.error("a delegate is not in force any more: %s", _replacement(delegate))


def _replacement(by: DelegateInfo) -> str:
    who = by.label or by.peer.process or "another delegate"
    return f"{who} (pid {by.peer.pid}) was set in its place"


class FunctionDelegate(Delegate):
    """A delegate whose method `answer` is a coroutine function."""

    def __init__(self, function: Callable[[Question], Awaitable[Answer]]) -> None:
        self.answer = function  # type: ignore[assignment, method-assign]


@dataclass(frozen=True, slots=True)
class _Replaced:
    by: DelegateInfo


class AttachedDelegate(Registration):
    """The registration of a delegate, and the deliveries that wait for the delegate."""

    def __init__(
        self,
        delegate: Delegate,
        patterns: Sequence[str],
        object: str,
        *,
        order: int,
        on_failure: FailurePolicy,
        timeout_ms: int,
        label: str,
        protocols: Sequence[str],
        is_set: bool,
    ) -> None:
        if not patterns:
            raise TribuneError(Code.INVALID_PATTERN, "a delegate must respond to at least one name")
        for what, found, most in (
            ("patterns in one attachment", len(patterns), _wire.PATTERNS_PER_DELEGATE),
            ("protocols in one attachment", len(protocols), _wire.PROTOCOLS_PER_DELEGATE),
            ("bytes in a label", len(label.encode(errors="replace")), _wire.LABEL_LENGTH),
        ):
            if found > most:
                raise TribuneError(Code.LIMIT_EXCEEDED, f"{found} {what}, at most {most}")
        for pattern in patterns:
            encoded_pattern(pattern)
        self._attach = _wire.Attach(
            order=order,
            failure_policy=_wire.FailurePolicy[on_failure.name],
            timeout=timeout_ms,
            label=label,
            patterns=list(patterns),
            is_set=is_set,
            protocols=list(protocols),
        )
        super().__init__(self._attach, object=encoded_object(object))
        self.delegate = delegate
        #: The delegate's id, which changes with the connection; 0 before the bus has assigned one.
        self.id = 0
        self.receives = any(can_match_will_or_did(pattern) for pattern in patterns)
        self.matchers = [Matcher(pattern, object) for pattern in patterns]
        self._deliveries = BoundedStream(_DELIVERIES_MAX)
        self._delivering: asyncio.Task[None] | None = None
        #: True if a caller waits for the bus, and so learns of a refusal.
        self.is_awaited = False

    def confirm(self, okay: _wire.Okay, link: Link) -> None:
        self.id = okay.delegate
        # When this delegate attaches again after an interruption, it must not replace others.
        self._attach.is_set = False
        if self.receives and self._delivering is None:
            self._delivering = link.start(self._deliver())
        super().confirm(okay, link)

    def refuse(self, error: TribuneError, link: Link) -> None:
        super().refuse(error, link)
        if not self.is_awaited:
            # A lost veto must not go unnoticed, so the connection ends.
            link.end(error)

    def replace(self, by: DelegateInfo, link: Link) -> None:
        """Reports to the delegate, as its last delivery, that another delegate has replaced it."""
        self.settle()
        self.ready = link.loop.create_future()
        self.ready.add_done_callback(ignore)
        self.ready.set_exception(TribuneError(Code.NOT_FOUND, _replacement(by)))
        if self._deliveries.is_reserved:
            # The position is reserved for a report of the losses in an interruption. The number of
            # losses is not known yet, and the delegate gets no report after its replacement. So it
            # now gets a report of an unknown number.
            self._deliveries.fill_position([Interrupted()])
        self._deliveries.deliver(_Replaced(by))
        self._deliveries.finish(None)
        if self._delivering is None:
            self._delivering = link.start(self._deliver())

    def end(self, error: TribuneError | None) -> None:
        super().end(error)
        self._deliveries.discard()

    def streams(self) -> list[Stream[Any]]:
        return [self._deliveries] if self.receives else []

    async def _deliver(self) -> None:
        while (item := await self._deliveries.next()) is not None:
            # Tasks start in the order of their creation. So after one iteration of the loop,
            # `answer` has started for every earlier question.
            await asyncio.sleep(0)
            try:
                if isinstance(item, _Replaced):
                    await self.delegate.replaced(item.by)
                else:
                    await self.delegate.received(item)
            except (Exception, asyncio.CancelledError) as error:
                if self._delivering is not None and self._delivering.cancelling():
                    # This task itself is cancelled, not only a task that the delegate awaits.
                    raise
                report("a delegate failed to receive a notification", error)


class Attachment:
    """A delegate in the chain of an object, until it is detached or the connection ends.

    The delegate stays attached, and keeps the connection open, even if the program drops this
    object and the `Bus`.

    After an interruption, the library attaches the delegate again. The delegate then has another
    id, and is behind the other delegates of the same order.
    """

    def __init__(self, attached: AttachedDelegate, link: Link, bus: object) -> None:
        self._attached = attached
        self._link = link
        # Keeps the connection open until `detach` has returned.
        self._bus = attached.bus = bus

    @property
    def id(self) -> int:
        """The delegate's id in verdicts; 0 until the bus has attached the delegate."""
        return self._attached.id

    async def ready(self) -> Self:
        """Waits until the bus has attached the delegate.

        Raises `TribuneError` if the bus refuses the delegate; `NOT_FOUND` if another delegate has
        replaced it (`Delegate.replaced`).

        Cancelling the task ends only the waiting: the delegate stays attached.
        """
        self._attached.is_awaited = True
        try:
            await asyncio.shield(self._attached.ready)
        except asyncio.CancelledError:
            self._attached.is_awaited = False
            raise
        return self

    async def detach(self) -> None:
        """Takes the delegate out of the chain. Does nothing if it is no longer attached."""
        try:
            await self._link.take_back(self._attached)
        finally:
            self._bus = None

    async def __aenter__(self) -> Self:
        self._attached.is_awaited = True
        await self._attached.wait(self._link)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.detach()
