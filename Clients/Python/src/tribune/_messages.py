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

#: What can be sent as userInfo: bytes as they are, None for nothing, and anything else that
#: `json.dumps` takes as JSON, text too.
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
    """A time in the protocol's unit, rounded up and at least 1; 0 for None.

    Raises `TribuneError` with `REFUSED` if it is not a number.
    """
    if seconds is None:
        return 0
    if math.isnan(seconds):
        raise TribuneError(Code.REFUSED, "a time must be a number")
    return math.ceil(max(min(seconds * 1000, 0xFFFFFFFF), 1))


def connection_name(number: int) -> str:
    """The id of a connection, in print."""
    return f":{number}"


def shortened(text: str, length: int = _wire.REASON_LENGTH) -> bytes:
    """UTF-8 of a reason or a status, cut at the limit, between two characters."""
    encoded = text.encode(errors="replace")
    return encoded if len(encoded) <= length else encoded[:length].decode(errors="ignore").encode()


def described(error: BaseException) -> str:
    """What others learn about an exception, as Python's last line of a traceback has it."""
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

    #: The unit of the system's service manager, which the system vouches for; empty if none.
    system: str = ""
    #: The unit of a user's service manager, whose name the user has chosen; empty if none.
    user: str = ""

    @property
    def primary(self) -> str:
        """The system's unit, or the user's if there is none; empty if there is neither."""
        return self.system or self.user


@dataclass(frozen=True, slots=True)
class Peer:
    """A process, as the kernel and systemd identified it when it connected."""

    #: The process's id; None if it is not known, or has no meaning where the bus runs.
    pid: int | None = None
    #: The user that it ran as; None if it is not known.
    uid: int | None = None
    #: Its name (comm), at most 15 bytes; empty if it is not known.
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
        """Reports success, or why it failed. Only the first call counts."""
        awaited, self._awaited = self._awaited, None
        if awaited is not None:
            awaited.settle(failure)

    def __del__(self) -> None:
        if self._awaited is not None:
            self._awaited.abandon(
                "the observer released the notification without an acknowledgement"
            )


class AwaitedNotification:
    """An awaited notification, which the bus gets one report about from this connection."""

    def settle(self, failure: str | None) -> None:
        """One observation has reported."""
        raise NotImplementedError

    def abandon(self, failure: str) -> None:
        """One observation cannot report any more. The collector calls this, in any thread."""
        raise NotImplementedError


@dataclass(slots=True)
class Notification(_WithUserInfo):
    """Something has happened, or will."""

    #: The name, such as ``window.willClose``.
    name: str
    #: The object that it is about, such as ``window/42``; empty for none.
    object: str = ""
    #: The connection that posted it, ``:N``; None for the bus itself.
    sender: str | None = None
    #: The process that posted it, if the connection asked for that.
    poster: Peer | None = None
    #: The payload: by convention JSON, in UTF-8.
    user_info: bytes = b""
    #: Whether it was retained: posted before the observation, which asked for such notifications.
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
    counts what it drops for the connection as a whole: not all need have been for this observation.
    """

    count: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The connection was interrupted here, and nobody knows how much was missed; perhaps nothing.

    If the bus knows the number, `Lost` comes instead, or nothing if none was missed.
    """


#: What an observation gives.
Delivery = Notification | Lost | Interrupted


class Mode(enum.Enum):
    """How a query for permission goes through the delegate chain."""

    #: All are asked at once; the first veto decides, and the other questions are cancelled.
    PARALLEL = "parallel"
    #: All are asked at once, and all are waited for, so that the verdict has every veto.
    ALL = "all"
    #: One is asked at a time, in the chain's order; none after a veto.
    ORDER = "order"


class OutcomeKind(enum.Enum):
    """The outcome of one delegate, or of a hold."""

    #: It said yes.
    APPROVED = "approved"
    #: It said no.
    VETOED = "vetoed"
    #: It has no opinion.
    ABSTAINED = "abstained"
    #: It did not answer in its time.
    TIMED_OUT = "timedOut"
    #: It left before it answered; or it is required and not attached.
    GONE = "gone"
    #: It failed; the reason is its error.
    FAILED = "failed"
    #: It is a hold, a standing veto.
    HELD = "held"
    #: It gave a value.
    ANSWERED = "answered"

    @classmethod
    def _of(cls, kind: _wire.OutcomeKind) -> OutcomeKind:
        return cls[kind.name]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one delegate, or of a hold."""

    #: The id of the delegate or the hold, never used again; 0 if it is required and not attached.
    delegate: int
    kind: OutcomeKind
    #: The label of the delegate; empty if none.
    label: str = ""
    #: The reason or the error; empty if none was given.
    reason: str = ""
    #: Its process.
    peer: Peer = Peer()
    #: Seconds from the question to the outcome.
    elapsed: float = 0.0
    #: The value, if the kind is `ANSWERED`; else None.
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

    #: Whether the action may go ahead: there is no veto, or the asker overrides the vetoes.
    is_allowed: bool
    #: The query's id, never used again.
    query: int = 0
    #: Whether no delegate approved or vetoed, so that this is the asker's own default.
    is_unanswered: bool = False
    #: Holds, required delegates that are missing, and delegates, in the chain's order.
    outcomes: tuple[Outcome, ...] = ()
    #: Whether there are vetoes among the outcomes, which the asker overrode.
    is_overridden: bool = False
    #: Whether the delegates knew that no action would follow.
    is_dry_run: bool = False
    #: Further outcomes, which the bus has not listed. If there is any veto, one is listed.
    omitted_count: int = 0
    #: If there is no outcome: a name like the asked one, to which a delegate responds, or which is
    #: held, configured or well known, so that it may be what was meant. Empty if there is none.
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
        # Without a veto among the outcomes, a failure has counted as one.
        objecting = self.verdict.vetoes or [
            outcome for outcome in self.verdict.outcomes if outcome.kind in _FAILURES
        ]
        reasons = []
        for outcome in objecting:
            reason = outcome.reason or _FAILURES.get(outcome.kind)
            who = outcome.label or outcome.peer.process or "a delegate"
            reasons.append(f"{who}: {reason}" if reason else who)
        return f"{self.action} was vetoed" + (f" by {'; '.join(reasons)}" if reasons else "")


# Outcomes that can count as a veto, and what they are if no reason was given.
_FAILURES: Final = {
    OutcomeKind.TIMED_OUT: "it did not answer in time",
    OutcomeKind.GONE: "it is gone",
    OutcomeKind.FAILED: "it failed",
}


@dataclass(frozen=True, slots=True)
class QueryReply:
    """The reply to a value query."""

    #: The query's id, never used again.
    query: int = 0
    #: What came of each delegate, in the chain's order. Every value is among them.
    outcomes: tuple[Outcome, ...] = ()
    #: Further outcomes, without values, which the bus has not listed.
    omitted_count: int = 0
    #: A name that may be meant, as in `Verdict`.
    similar_name: str = ""

    @property
    def values(self) -> list[bytes]:
        """The values, in the chain's order."""
        return [outcome.value for outcome in self.outcomes if outcome.value is not None]

    @property
    def value(self) -> bytes | None:
        """The first value; None if there is none."""
        return next(iter(self.values), None)


class Stage(enum.Enum):
    """Where a query is with a delegate."""

    #: It asks for more time.
    DEFERRED = "deferred"
    #: It has been asked.
    ASKED = "asked"
    #: It is not waited for any more.
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a query with one delegate."""

    query: int
    delegate: int
    stage: Stage
    #: What became of the delegate, once it has settled; else None.
    outcome: OutcomeKind | None = None
    #: The label of the delegate; empty if none.
    label: str = ""
    #: The status of a delegate that has deferred, or the reason of an outcome; empty if none.
    status: str = ""
    #: Seconds that it now has; 0 once it has settled.
    timeout: float = 0.0
    #: The process of the delegate.
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

    #: It had not reported by the deadline.
    TIMED_OUT = "timedOut"
    #: Its connection ended first.
    GONE = "gone"
    #: It reported a failure.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MissingObserver:
    """A connection that has not acknowledged an awaited notification."""

    #: The connection, ``:N``.
    connection: str
    failure: Failure
    #: Its process.
    peer: Peer = Peer()
    #: The reason that it gave; empty if none.
    reason: str = ""
    #: Seconds from the post to this failure.
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

    #: The number of connections that are done.
    acknowledged: int
    #: Those that are not, by their ids.
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
    #: At the end of the bus's loop iteration in which it reads it.
    ASAP = "asap"
    #: When the bus has nothing else to do, and after a second at the latest.
    IDLE = "idle"


class Suspension(enum.Enum):
    """What happens to the notifications of an observation while its connection is suspended."""

    #: The last of each name and object is delivered on resumption.
    COALESCE = "coalesce"
    #: They are dropped.
    DROP = "drop"
    #: All are delivered on resumption, as far as the bus has room for them.
    HOLD = "hold"
    #: They are delivered at once.
    DELIVER_IMMEDIATELY = "deliverImmediately"


@dataclass(frozen=True, slots=True)
class BusInfo:
    """The bus at the other end, as it introduces itself."""

    #: The daemon's process.
    pid: int
    #: Its version, for people.
    software: str
    #: Bytes of userInfo in one message.
    payload_max: int
    #: Observations, monitors and declarations of one connection.
    observations_max: int
    #: Delegates and holds of one connection.
    delegates_max: int
    #: Queries and awaited posts under way of one connection.
    queries_max: int
    #: Seconds that a query or an awaited post may take at most.
    deadline_max: float
    #: Seconds that it takes at most unless its asker says otherwise.
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

    #: Why, for people.
    cause: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection is back, and everything is registered again."""

    #: How many notifications were missed; None if nobody knows.
    lost: int | None


#: What `connect` reports to its `on_event`.
ConnectionEvent = Disconnected | Reconnected
