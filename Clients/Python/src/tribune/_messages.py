# SPDX-License-Identifier: Apache-2.0
"""Notifications, verdicts and other messages as programs see them. All times are in seconds."""

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

#: userInfo to send. Bytes are sent unchanged. None is sent as no bytes. `json.dumps` converts any
#: other value, including text, to JSON.
UserInfo = Any

_UNKNOWN_USER: Final = 0xFFFFFFFF


def encoded_user_info(value: UserInfo) -> bytes:
    """Returns the payload of a frame. Raises `TypeError` or `ValueError` as `json.dumps` does."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(errors="replace")


def milliseconds(seconds: float | None) -> int:
    """Converts seconds to milliseconds, rounded up. Returns 0 for None.

    Raises `TribuneError` with `REFUSED` if the time is not more than 0.
    """
    if seconds is None:
        return 0
    if not seconds > 0:
        raise TribuneError(
            Code.REFUSED, f"a time must be more than 0, not {seconds}; None is the default"
        )
    return math.ceil(min(seconds * 1000, 0xFFFFFFFF))


def connection_name(number: int) -> str:
    """Returns the id of a connection as text, ``:N``."""
    return f":{number}"


def shortened(text: str, length: int = _wire.REASON_LENGTH) -> bytes:
    """Encodes a reason or a status. Cuts it at the limit, between two characters."""
    encoded = text.encode(errors="replace")
    return encoded if len(encoded) <= length else encoded[:length].decode(errors="ignore").encode()


def described(error: BaseException) -> str:
    """Describes an exception as the last line of Python's traceback does."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


class _WithUserInfo:
    __slots__ = ()

    user_info: bytes

    @property
    def text(self) -> str:
        """UserInfo as text, with U+FFFD for invalid UTF-8."""
        return self.user_info.decode(errors="replace")

    def json(self) -> Any:
        """UserInfo as a value; None without userInfo. Raises `ValueError` if it is not JSON."""
        return json.loads(self.user_info) if self.user_info else None


@dataclass(frozen=True, slots=True)
class Units:
    """The systemd units of a process, which can have one unit in each service manager."""

    #: The unit of the system's service manager, which users cannot fake; empty if none.
    system: str = ""
    #: The unit of a user's service manager, whose name the user chose; empty if none.
    user: str = ""

    @property
    def primary(self) -> str:
        """The system's unit, or else the user's; empty if there is neither."""
        return self.system or self.user


@dataclass(frozen=True, slots=True)
class Peer:
    """A process, as the kernel and systemd identified it when it connected."""

    #: None if unknown, or if the process is outside the bus's pid namespace.
    pid: int | None = None
    #: None if unknown.
    uid: int | None = None
    #: The name of the command, at most 15 bytes; empty if unknown.
    process: str = ""
    units: Units = Units()

    @property
    def unit(self) -> str:
        """The same as `units.primary`."""
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
    """An awaited notification, for which this connection makes one report."""

    def settle(self, failure: str | None) -> None:
        """Takes one observation's report."""
        raise NotImplementedError

    def abandon(self, failure: str) -> None:
        """Reports a failure of an observation that can no longer report. Callable in any thread."""
        raise NotImplementedError


@dataclass(slots=True)
class Notification(_WithUserInfo):
    """A message that something has happened, or will."""

    #: The name, such as ``window.willClose``.
    name: str
    #: The object, such as ``window/42``; empty for none.
    object: str = ""
    #: The posting connection, ``:N``; None for the bus itself.
    sender: str | None = None
    #: The poster's process; None without `identify_posters` in `connect`, or if unknown.
    poster: Peer | None = None
    #: The poster's data, by convention JSON in UTF-8.
    user_info: bytes = b""
    #: True if the notification was posted before the observation began.
    is_retained: bool = False
    _acknowledgement: Acknowledgement | None = field(default=None, repr=False, compare=False)

    @property
    def is_awaited(self) -> bool:
        """Whether its poster waits for this observation."""
        return self._acknowledgement is not None

    def done(self) -> None:
        """Tells the poster that this observer is done. Does nothing if the poster does not wait.

        Only the first report counts. If the program drops a notification without a report, that is
        a failure. If several observations of one connection match, the poster gets one report, when
        all of them have reported. This report is a failure if any of them failed.
        """
        if self._acknowledgement is not None:
            self._acknowledgement.settle(None)

    def failed(self, reason: str) -> None:
        """Tells the poster that this observer has failed. A reason over 4,096 bytes is cut."""
        if self._acknowledgement is not None:
            self._acknowledgement.settle(reason)

    @contextlib.contextmanager
    def handling(self) -> Iterator[None]:
        """Reports success to the poster when the `with` body ends.

        If the body raises an exception, reports a failure, and raises it again.
        """
        try:
            yield
        except BaseException as error:
            self.failed(described(error))
            raise
        self.done()


@dataclass(frozen=True, slots=True)
class Lost:
    """This many notifications were dropped at this place in the stream.

    The program did not read them in time, or too many were buffered while the connection was
    suspended. The bus counts them for the whole connection, so some may not match this observation.
    """

    count: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The connection was interrupted here, and the number of missed notifications is unknown.

    If the bus knows the number, `Lost` comes instead. If the number is 0, no item comes.
    """


Delivery = Notification | Lost | Interrupted


class Mode(enum.Enum):
    """How a query for permission asks the delegates, and when it ends."""

    #: Asks all delegates at once. The first veto decides, and cancels the other questions.
    PARALLEL = "parallel"
    #: Asks all delegates at once, and collects every veto.
    ALL = "all"
    #: Asks one delegate at a time, in the chain's order, until a veto.
    ORDER = "order"


class OutcomeKind(enum.Enum):
    """The outcome of one delegate, or of a hold."""

    APPROVED = "approved"
    VETOED = "vetoed"
    #: The delegate has no opinion.
    ABSTAINED = "abstained"
    #: The delegate did not answer in time.
    TIMED_OUT = "timedOut"
    #: The delegate left before it answered, or a required delegate is not attached.
    GONE = "gone"
    #: The delegate failed. The reason is its error.
    FAILED = "failed"
    #: A hold vetoed.
    HELD = "held"
    #: The delegate gave a value.
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
    #: The value, if the kind is `ANSWERED`; otherwise None.
    value: bytes | None = None

    def json(self) -> Any:
        """The value of the answer, which must be JSON; None without a value."""
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

    #: True if the action may go ahead, perhaps by an override.
    is_allowed: bool
    #: The query's id, which is never reused.
    query: int = 0
    #: True if no delegate or hold approved or vetoed. A default then decided: the asker's, or
    #: `Default=veto`.
    is_unanswered: bool = False
    #: The outcomes of holds, missing required delegates, and delegates in the chain's order.
    outcomes: tuple[Outcome, ...] = ()
    #: True if the asker overrode vetoes. The outcomes include them.
    is_overridden: bool = False
    #: True if the delegates knew that no action would follow.
    is_dry_run: bool = False
    #: The number of outcomes that are not listed. If there are vetoes, at least one is listed.
    omitted_count: int = 0
    #: A similar name that the asker may have meant: a name in use, a configured one, or a
    #: well-known one. Empty if none, or if a delegate or hold has exactly the query's name.
    similar_name: str = ""

    def __bool__(self) -> bool:
        return self.is_allowed

    @property
    def vetoes(self) -> tuple[Outcome, ...]:
        """The vetoes that delegates and holds gave.

        Failures and missing required delegates are not included, even if they count as vetoes.
        """
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
    """A guarded action was vetoed, and has not begun. `verdict` has the vetoes."""

    def __init__(self, action: str, verdict: Verdict) -> None:
        super().__init__(action, verdict)
        self.action = action
        self.verdict = verdict

    def __str__(self) -> str:
        # If there is no explicit veto, failures may have counted as vetoes.
        objecting = self.verdict.vetoes or [
            outcome for outcome in self.verdict.outcomes if outcome.kind in _FAILURES
        ]
        reasons = []
        for outcome in objecting:
            reason = outcome.reason or _FAILURES.get(outcome.kind)
            who = outcome.label or outcome.peer.process or "a delegate"
            reasons.append(f"{who}: {reason}" if reason else who)
        return f"{self.action} was vetoed" + (f" by {'; '.join(reasons)}" if reasons else "")


# Failures, which can count as vetoes, with their default reasons.
_FAILURES: Final = {
    OutcomeKind.TIMED_OUT: "it did not answer in time",
    OutcomeKind.GONE: "it is gone",
    OutcomeKind.FAILED: "it failed",
}


@dataclass(frozen=True, slots=True)
class QueryReply:
    """The reply to a value query. In a condition, it is true if it has a value."""

    #: The query's id, which is never reused.
    query: int = 0
    #: The outcomes in the chain's order, including every value.
    outcomes: tuple[Outcome, ...] = ()
    #: The number of outcomes that are not listed. None of them has a value.
    omitted_count: int = 0
    #: As `Verdict.similar_name`.
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
    """The stage of a query at one delegate."""

    #: The delegate asks for more time.
    DEFERRED = "deferred"
    ASKED = "asked"
    #: The query no longer waits for the delegate.
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a query with one delegate."""

    query: int
    delegate: int
    stage: Stage
    #: None while the query waits for the delegate.
    outcome: OutcomeKind | None = None
    #: Empty if none.
    label: str = ""
    #: The status of a deferring delegate, or the reason of an outcome; empty if none.
    status: str = ""
    #: Seconds that remain for the answer; 0 if the query no longer waits for the delegate.
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

    #: The observer did not report by the deadline.
    TIMED_OUT = "timedOut"
    #: The observer's connection or observation ended before the observer reported.
    GONE = "gone"
    #: The observer reported a failure.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MissingObserver:
    """A connection that has not acknowledged an awaited notification."""

    #: The connection's id, ``:N``.
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
    """The reply to an awaited post: the observers that are done, and those that are not."""

    #: The number of connections that are done.
    acknowledged: int
    #: Connections that are not done, sorted by id.
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
    #: At the end of the loop iteration in which the bus reads it.
    ASAP = "asap"
    #: When the bus is idle, after a second at most.
    IDLE = "idle"


class Suspension(enum.Enum):
    """What happens to the notifications of an observation while its connection is suspended."""

    #: On resumption, the bus delivers the last one of each name and object.
    COALESCE = "coalesce"
    #: The bus drops them.
    DROP = "drop"
    #: On resumption, the bus delivers all, except the oldest ones if the buffer is full.
    HOLD = "hold"
    #: The bus delivers them at once.
    DELIVER_IMMEDIATELY = "deliverImmediately"


@dataclass(frozen=True, slots=True)
class BusInfo:
    """The bus at the other end, as it introduces itself."""

    #: The daemon's process.
    pid: int
    #: The daemon's version, for information only.
    software: str
    #: The longest userInfo of a message, in bytes.
    payload_max: int
    #: The most observations, monitors and declarations together of one connection.
    observations_max: int
    #: The most delegates and holds together of one connection.
    delegates_max: int
    #: The most open queries and awaited posts together of one connection.
    queries_max: int
    #: The longest deadline of queries and awaited posts, in seconds.
    deadline_max: float
    #: The default deadline of queries and awaited posts, in seconds.
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

    #: The reason, for people.
    cause: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection is back, and everything is registered again."""

    #: The number of missed notifications; None if unknown.
    lost: int | None


#: The argument of the function `on_event` of `connect`.
ConnectionEvent = Disconnected | Reconnected
