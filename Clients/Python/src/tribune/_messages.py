# SPDX-License-Identifier: Apache-2.0
"""What is sent and received over the bus, as programs see it. All times are in seconds."""

from __future__ import annotations

import contextlib
import enum
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from . import _wire
from ._errors import Code, TribuneError

#: userInfo to send: bytes unchanged, None for nothing, and anything else as JSON by `json.dumps`,
#: including text.
UserInfo = Any

_UNKNOWN_USER: Final = 0xFFFFFFFF


def encoded_user_info(value: UserInfo) -> bytes:
    """The payload of a frame. Raises `TypeError` or `ValueError` as `json.dumps` does."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(errors="replace")


def milliseconds(seconds: float | None) -> int:
    """A time in the protocol's unit, rounded up; 0 for None.

    Raises `TribuneError` with `REFUSED` if it is not more than 0.
    """
    if seconds is None:
        return 0
    if not seconds > 0:
        raise TribuneError(
            Code.REFUSED, f"a time must be more than 0, not {seconds}; None is the default"
        )
    return math.ceil(min(seconds * 1000, 0xFFFFFFFF))


def connection_name(number: int) -> str:
    """The id of a connection, in print."""
    return f":{number}"


def shortened(text: str, length: int = _wire.REASON_LENGTH) -> bytes:
    """UTF-8 of a reason or a status, cut at the limit, between two characters."""
    encoded = text.encode(errors="replace")
    return encoded if len(encoded) <= length else encoded[:length].decode(errors="ignore").encode()


def described(error: BaseException) -> str:
    """An exception as the last line of Python's traceback has it, for others."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


class _WithUserInfo:
    __slots__ = ()

    user_info: bytes

    @property
    def text(self) -> str:
        """UserInfo as text, with U+FFFD for what is no UTF-8."""
        return self.user_info.decode(errors="replace")

    def json(self) -> Any:
        """UserInfo as a value; None if there is none. Raises `ValueError` if it is no JSON."""
        return json.loads(self.user_info) if self.user_info else None


@dataclass(frozen=True, slots=True)
class Units:
    """The systemd units that a process runs in: two facts, as in systemd's journal."""

    #: Of the system's service manager, vouched for by the system; empty if none.
    system: str = ""
    #: Of a user's service manager, with a name that the user chose; empty if none.
    user: str = ""

    @property
    def primary(self) -> str:
        """The system's unit, or the user's if there is none; empty if there is neither."""
        return self.system or self.user


@dataclass(frozen=True, slots=True)
class Peer:
    """A process, as the kernel and systemd identified it when it connected."""

    #: None if unknown, or meaningless where the bus runs.
    pid: int | None = None
    #: None if unknown.
    uid: int | None = None
    #: The comm, at most 15 bytes; empty if unknown.
    process: str = ""
    units: Units = Units()

    @property
    def unit(self) -> str:
        """`units.primary`."""
        return self.units.primary

    @classmethod
    def _of(cls, identity: _wire.PeerIdentity) -> Peer:
        system, _, user = identity.units.partition("/")
        return cls(
            identity.pid or None,
            None if identity.uid == _UNKNOWN_USER else identity.uid,
            identity.process,
            Units(system, user),
        )


class Acknowledgement:
    """One observation's report to the poster of an awaited notification."""

    __slots__ = ("_awaited",)

    def __init__(self, awaited: AwaitedNotification) -> None:
        self._awaited: AwaitedNotification | None = awaited

    def settle(self, failure: str | None) -> None:
        """Reports success, or the reason of a failure. Only the first call counts."""
        awaited, self._awaited = self._awaited, None
        if awaited is not None:
            awaited.settle(failure)

    def __del__(self) -> None:
        if self._awaited is not None:
            self._awaited.abandon(
                "the observer released the notification without an acknowledgement"
            )


class AwaitedNotification:
    """An awaited notification, about which this connection makes one report."""

    def settle(self, failure: str | None) -> None:
        """Takes one observation's report."""
        raise NotImplementedError

    def abandon(self, failure: str) -> None:
        """Reports for an observation that cannot. The collector calls this, in any thread."""
        raise NotImplementedError


@dataclass(slots=True)
class Notification(_WithUserInfo):
    """A message that something has happened, or will."""

    #: Such as ``window.willClose``.
    name: str
    #: Such as ``window/42``; empty for none.
    object: str = ""
    #: The posting connection, ``:N``; None for the bus itself.
    sender: str | None = None
    #: The posting process, if the connection asked for posters.
    poster: Peer | None = None
    #: By convention JSON, in UTF-8.
    user_info: bytes = b""
    #: Posted before the observation began.
    is_retained: bool = False
    _acknowledgement: Acknowledgement | None = field(default=None, repr=False, compare=False)

    @property
    def is_awaited(self) -> bool:
        """Whether its poster waits for this observation."""
        return self._acknowledgement is not None

    def done(self) -> None:
        """Tells the poster that this observer is done. Does nothing if it does not wait.

        Only the first report counts. A notification that is forgotten without one has failed. If
        several observations of a connection have received it, the poster gets one report, after
        the last of them; it is a failure if any of them failed.
        """
        if self._acknowledgement is not None:
            self._acknowledgement.settle(None)

    def failed(self, reason: str) -> None:
        """Tells the poster that this observer has failed, and why; at most 4,096 bytes."""
        if self._acknowledgement is not None:
            self._acknowledgement.settle(reason)

    @contextlib.contextmanager
    def handling(self) -> Iterator[None]:
        """Reports to the poster that the body is done, or the exception that it raised."""
        try:
            yield
        except BaseException as error:
            self.failed(described(error))
            raise
        self.done()


@dataclass(frozen=True, slots=True)
class Lost:
    """This many notifications were dropped at this place in the stream.

    They were not read in time, or too much was buffered while the connection was suspended. The bus
    counts drops for the connection as a whole, so not all need have matched this observation.
    """

    count: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The connection was interrupted here, and nobody knows how much was missed; perhaps nothing.

    If the bus knows the number, `Lost` comes instead, or nothing if none was missed.
    """


Delivery = Notification | Lost | Interrupted


class Mode(enum.Enum):
    """How a query for permission goes through the delegate chain."""

    #: Asks all at once; the first veto decides and cancels the other questions.
    PARALLEL = "parallel"
    #: Asks all at once, and collects every veto.
    ALL = "all"
    #: Asks one at a time, in the chain's order, until a veto.
    ORDER = "order"


class OutcomeKind(enum.Enum):
    """The outcome of one delegate, or of a hold."""

    APPROVED = "approved"
    VETOED = "vetoed"
    #: No opinion.
    ABSTAINED = "abstained"
    #: No answer in time.
    TIMED_OUT = "timedOut"
    #: Left before it answered, or required and not attached.
    GONE = "gone"
    #: The reason is its error.
    FAILED = "failed"
    #: A hold, a standing veto.
    HELD = "held"
    #: Gave a value.
    ANSWERED = "answered"

    @classmethod
    def _of(cls, kind: _wire.OutcomeKind) -> OutcomeKind:
        return cls[kind.name]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one delegate, or of a hold."""

    #: The id of the delegate or hold, never reused; 0 for a missing required delegate.
    delegate: int
    kind: OutcomeKind
    #: Empty if none.
    label: str = ""
    #: The reason or error; empty if none.
    reason: str = ""
    #: The delegate's process.
    peer: Peer = Peer()
    #: Seconds from the question to the outcome.
    elapsed: float = 0.0
    #: None unless the kind is `ANSWERED`.
    value: bytes | None = None

    def json(self) -> Any:
        """The value of the answer, which is JSON; None if there is none."""
        return json.loads(self.value) if self.value else None

    @classmethod
    def _of(cls, outcome: _wire.Outcome) -> Outcome:
        kind = OutcomeKind._of(outcome.outcome)
        return cls(
            outcome.delegate.id,
            kind,
            outcome.delegate.label,
            outcome.reason,
            Peer._of(outcome.delegate.peer),
            outcome.elapsed / 1e6,
            outcome.value if kind is OutcomeKind.ANSWERED else None,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a query for permission."""

    #: The action may go ahead: without vetoes, or by an override.
    is_allowed: bool
    #: Never reused.
    query: int = 0
    #: No delegate approved or vetoed, so the verdict is the asker's default.
    is_unanswered: bool = False
    #: Holds, missing required delegates, and delegates, in the chain's order.
    outcomes: tuple[Outcome, ...] = ()
    #: The asker overrode vetoes, which are among the outcomes.
    is_overridden: bool = False
    #: The delegates knew that no action would follow.
    is_dry_run: bool = False
    #: Outcomes beyond those listed. At least one veto is listed.
    omitted_count: int = 0
    #: If only patterns of delegates and holds match the name: a similar name in use, configured or
    #: well known, which the asker may have meant. Empty if none.
    similar_name: str = ""

    def __bool__(self) -> bool:
        return self.is_allowed

    @property
    def vetoes(self) -> tuple[Outcome, ...]:
        """The outcomes that object: vetoes and holds, without failures."""
        objecting = (OutcomeKind.VETOED, OutcomeKind.HELD)
        return tuple(outcome for outcome in self.outcomes if outcome.kind in objecting)

    @classmethod
    def _of(cls, verdict: _wire.Verdict) -> Verdict:
        return cls(
            verdict.verdict is _wire.VerdictKind.ALLOWED,
            verdict.query,
            verdict.is_unanswered,
            tuple(Outcome._of(outcome) for outcome in verdict.outcomes),
            verdict.is_overridden,
            verdict.is_dry_run,
            verdict.omitted_count,
            verdict.similar_name,
        )


class Vetoed(Exception):
    """A guarded action was vetoed, and has not begun. `verdict` says by whom."""

    def __init__(self, action: str, verdict: Verdict) -> None:
        super().__init__(action, verdict)
        self.action = action
        self.verdict = verdict

    def __str__(self) -> str:
        # Without a veto among the outcomes, a failure counted as one.
        objecting = self.verdict.vetoes or [
            outcome for outcome in self.verdict.outcomes if outcome.kind in _FAILURES
        ]
        reasons = []
        for outcome in objecting:
            reason = outcome.reason or _FAILURES.get(outcome.kind)
            who = outcome.label or outcome.peer.process or "a delegate"
            reasons.append(f"{who}: {reason}" if reason else who)
        return f"{self.action} was vetoed" + (f" by {'; '.join(reasons)}" if reasons else "")


# Outcomes that may be vetoes, with their default reasons.
_FAILURES: Final = {
    OutcomeKind.TIMED_OUT: "it did not answer in time",
    OutcomeKind.GONE: "it is gone",
    OutcomeKind.FAILED: "it failed",
}


@dataclass(frozen=True, slots=True)
class QueryReply:
    """The reply to a value query. True if it has a value."""

    #: Never reused.
    query: int = 0
    #: In the chain's order, including every value.
    outcomes: tuple[Outcome, ...] = ()
    #: Outcomes beyond those listed, without values.
    omitted_count: int = 0
    #: See `Verdict`.
    similar_name: str = ""

    @property
    def values(self) -> list[bytes]:
        """The values, in the chain's order."""
        return [outcome.value for outcome in self.outcomes if outcome.value is not None]

    @property
    def value(self) -> bytes | None:
        """The first value; None if there is none."""
        return next(iter(self.values), None)

    def __bool__(self) -> bool:
        return self.value is not None


class Stage(enum.Enum):
    """Where a query is with a delegate."""

    #: The delegate asks for more time.
    DEFERRED = "deferred"
    ASKED = "asked"
    #: The query no longer waits for it.
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a query with one delegate."""

    query: int
    delegate: int
    stage: Stage
    #: None until the delegate has settled.
    outcome: OutcomeKind | None = None
    #: Empty if none.
    label: str = ""
    #: The status of a deferring delegate, or the reason of an outcome; empty if none.
    status: str = ""
    #: Seconds that remain; 0 once settled.
    timeout: float = 0.0
    #: The delegate's process.
    peer: Peer = Peer()

    @classmethod
    def _of(cls, progress: _wire.Progress, status: str) -> Progress:
        stage = Stage[progress.stage.name]
        return cls(
            progress.query,
            progress.delegate.id,
            stage,
            OutcomeKind._of(progress.outcome) if stage is Stage.SETTLED else None,
            progress.delegate.label,
            status,
            progress.timeout / 1e3,
            Peer._of(progress.delegate.peer),
        )


class Failure(enum.Enum):
    """Why an observer has not acknowledged."""

    #: No report by the deadline.
    TIMED_OUT = "timedOut"
    #: Its connection or observation ended first.
    GONE = "gone"
    #: It reported a failure.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MissingObserver:
    """A connection that has not acknowledged an awaited notification."""

    #: ``:N``
    connection: str
    failure: Failure
    #: The observer's process.
    peer: Peer = Peer()
    #: Empty if none.
    reason: str = ""
    #: Seconds from the post to the failure.
    elapsed: float = 0.0

    @classmethod
    def _of(cls, missing: _wire.MissingObserver) -> MissingObserver:
        return cls(
            connection_name(missing.connection),
            Failure[missing.failure.name],
            Peer._of(missing.peer),
            missing.reason,
            missing.elapsed / 1e6,
        )


@dataclass(frozen=True, slots=True)
class AwaitedReply:
    """Which observers of an awaited notification are done, and which are not."""

    #: Connections that are done.
    acknowledged: int
    #: Connections that are not done, by id.
    missing: tuple[MissingObserver, ...] = ()

    def __bool__(self) -> bool:
        return not self.missing

    @classmethod
    def _of(cls, awaited: _wire.Awaited) -> AwaitedReply:
        return cls(awaited.acknowledged, tuple(MissingObserver._of(one) for one in awaited.missing))


class Style(enum.Enum):
    """When the bus delivers a notification, as with Cocoa's NSNotificationQueue."""

    #: When the bus reads it.
    NOW = "now"
    #: At the end of the same loop iteration of the bus.
    ASAP = "asap"
    #: When the bus is idle, after a second at most.
    IDLE = "idle"


class Suspension(enum.Enum):
    """What happens to the notifications of an observation while its connection is suspended."""

    #: Delivers the last of each name and object on resumption.
    COALESCE = "coalesce"
    #: Drops them.
    DROP = "drop"
    #: Delivers all on resumption, as far as the bus has room.
    HOLD = "hold"
    #: Delivers them at once.
    DELIVER_IMMEDIATELY = "deliverImmediately"


@dataclass(frozen=True, slots=True)
class BusInfo:
    """The bus at the other end, as it introduces itself."""

    #: The daemon's process.
    pid: int
    #: The daemon's version, informational.
    software: str
    #: Bytes of userInfo in one message.
    payload_max: int
    #: Per connection, with monitors and declarations.
    observations_max: int
    #: Per connection, with holds.
    delegates_max: int
    #: Queries and awaited posts in flight, per connection.
    queries_max: int
    #: Limit in seconds for queries and awaited posts.
    deadline_max: float
    #: Default in seconds for queries and awaited posts.
    deadline_default: float

    @classmethod
    def _of(cls, welcome: _wire.Welcome) -> BusInfo:
        return cls(
            welcome.bus_pid,
            welcome.software,
            min(welcome.payload_max, _wire.PAYLOAD_LENGTH_CEILING),
            welcome.observations_max,
            welcome.delegates_max,
            welcome.queries_max,
            welcome.deadline_max / 1e3,
            welcome.deadline_default / 1e3,
        )


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection was lost, and this side looks for the bus."""

    #: Informational.
    cause: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection is back, and everything is registered again."""

    #: Missed notifications; None if unknown.
    lost: int | None


#: Argument of the `on_event` of `connect`.
ConnectionEvent = Disconnected | Reconnected
