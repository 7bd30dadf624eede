# SPDX-License-Identifier: Apache-2.0
"""The entries of the bus's lists. All times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from . import _wire
from ._messages import Peer, Suspension, connection_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Info = TypeVar("_Info", bound="DataclassInstance")


def _copied(cls: type[_Info], entry: object, /, **changed: Any) -> _Info:
    """Makes an info with the fields in `changed`, and all other fields as in `entry`."""
    names = [one.name for one in fields(cls) if one.name not in changed]
    return cls(**{name: getattr(entry, name) for name in names}, **changed)


@dataclass(frozen=True, slots=True)
class BusStatus:
    """The bus as a whole."""

    pid: int
    software: str
    address: str
    #: Seconds since the bus started.
    uptime: float
    connections: int
    observations: int
    delegates: int
    queries: int
    holds: int
    #: The number of actions under way.
    actions: int
    #: The numbers of notifications that were posted, queued for observers, and dropped from queues.
    posted: int
    delivered: int
    lost: int
    #: The numbers of permission queries that got a verdict, and that were vetoed.
    asked: int
    vetoed: int
    #: The number of frames that the policy refused.
    denied: int

    @classmethod
    def _of(cls, entry: _wire.BusEntry) -> BusStatus:
        return _copied(cls, entry, uptime=entry.uptime / 1e6)


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """A connection."""

    id: str
    peer: Peer
    #: Seconds since it connected.
    age: float
    observations: int
    delegates: int
    queries: int
    #: The bytes that the bus has queued for the connection, and buffered during its suspension.
    queued: int
    buffered: int
    lost: int
    posted: int
    #: The number of notifications that later ones have replaced during its suspension.
    coalesced: int
    #: True if the bus does not read from the connection, until observers of its posts catch up.
    is_paused: bool
    #: True if the connection reads too slowly, and so loses notifications.
    is_lossy: bool
    is_suspended: bool
    #: True if the connection would survive a crash of the bus.
    is_surviving: bool

    @classmethod
    def _of(cls, entry: _wire.ConnectionEntry) -> ConnectionInfo:
        state = _wire.ConnectionState
        return _copied(
            cls,
            entry,
            id=connection_name(entry.id),
            peer=Peer._of(entry.peer),
            age=entry.age / 1e6,
            is_paused=state.PAUSED in entry.state,
            is_lossy=state.LOSSY in entry.state,
            is_suspended=state.SUSPENDED in entry.state,
            is_surviving=state.NOT_SURVIVING not in entry.state,
        )


@dataclass(frozen=True, slots=True)
class DepartedInfo:
    """A connection that has gone."""

    id: str
    peer: Peer
    #: Seconds from its beginning to its end, and seconds since its end.
    age: float
    elapsed: float
    #: The protocol's code of the error with which the bus closed it; 0 if the client closed it.
    reason: int
    lost: int
    posted: int

    @classmethod
    def _of(cls, entry: _wire.DepartedEntry) -> DepartedInfo:
        identity, peer = connection_name(entry.id), Peer._of(entry.peer)
        age, elapsed = entry.age / 1e6, entry.elapsed / 1e6
        return _copied(cls, entry, id=identity, peer=peer, age=age, elapsed=elapsed)


@dataclass(frozen=True, slots=True)
class ObservationInfo:
    """An observation."""

    connection: str
    #: Empty if every name matches.
    pattern: str
    #: Empty if every object matches.
    object: str
    suspension: Suspension
    is_awaited: bool

    @classmethod
    def _of(cls, entry: _wire.ObservationEntry) -> ObservationInfo:
        suspension = Suspension[entry.suspension.name]
        connection = connection_name(entry.connection)
        return _copied(cls, entry, connection=connection, suspension=suspension)


@dataclass(frozen=True, slots=True)
class DelegateInfo:
    """A delegate."""

    id: int
    connection: str
    label: str
    peer: Peer
    #: Empty if the delegate is for all objects.
    object: str
    order: int
    #: True if a failure of the delegate is a veto.
    vetoes_on_failure: bool
    #: Seconds that the delegate has to answer.
    timeout: float
    #: Patterns for the names that the delegate responds to.
    patterns: tuple[str, ...]

    @classmethod
    def _of(cls, entry: _wire.DelegateEntry) -> DelegateInfo:
        return cls(
            entry.delegate.id,
            connection_name(entry.connection),
            entry.delegate.label,
            Peer._of(entry.delegate.peer),
            entry.object,
            entry.order,
            entry.failure_policy is _wire.FailurePolicy.VETO,
            entry.timeout / 1e3,
            tuple(entry.patterns),
        )


@dataclass(frozen=True, slots=True)
class HoldInfo:
    """A hold."""

    id: int
    connection: str
    label: str
    peer: Peer
    #: Empty if every name matches.
    pattern: str
    #: Empty if every object matches.
    object: str
    why: str
    #: Seconds since it began.
    age: float
    #: Seconds until it expires; None for never.
    remaining: float | None

    @classmethod
    def _of(cls, entry: _wire.HoldEntry) -> HoldInfo:
        return cls(
            entry.delegate.id,
            connection_name(entry.connection),
            entry.delegate.label,
            Peer._of(entry.delegate.peer),
            entry.pattern,
            entry.object,
            entry.why,
            entry.age / 1e6,
            entry.remaining / 1e6 if entry.remaining else None,
        )


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """An action under way."""

    #: The query that allowed the action.
    query: int
    #: The name of the question, such as ``backup.shouldPrune``.
    name: str
    #: Empty if the action concerns all objects.
    object: str
    connection: str
    peer: Peer
    #: Seconds since it began.
    age: float

    @classmethod
    def _of(cls, entry: _wire.QueryEntry) -> ActionInfo:
        return cls(
            entry.id,
            entry.name,
            entry.object,
            connection_name(entry.connection),
            Peer._of(entry.peer),
            entry.age / 1e6,
        )


@dataclass(frozen=True, slots=True)
class RetainedInfo:
    """A retained notification, without its userInfo."""

    name: str
    object: str
    #: The connection that posted it, and the user in whose share it counts.
    connection: str
    uid: int
    #: Bytes of userInfo.
    length: int
    #: Seconds since the post.
    age: float

    @classmethod
    def _of(cls, entry: _wire.RetainedEntry) -> RetainedInfo:
        connection = connection_name(entry.connection)
        return _copied(cls, entry, connection=connection, age=entry.age / 1e6)


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object that is declared, or has delegates of its own."""

    #: The object, or a pattern for objects that the configuration declares.
    object: str
    #: The declared protocol; empty without a declaration.
    protocol: str
    delegates: int
    #: The declaring connection; None for the configuration, or without a declaration.
    connection: str | None

    @classmethod
    def _of(cls, entry: _wire.ObjectEntry) -> ObjectInfo:
        connection = connection_name(entry.connection) if entry.connection else None
        return cls(entry.object, entry.protocol_name, entry.delegates, connection)


@dataclass(frozen=True, slots=True)
class ProtocolInfo:
    """A protocol."""

    name: str
    #: The inherited protocols.
    parents: tuple[str, ...]
    #: The number of methods, including inherited ones.
    members: int
    #: The defining connection; None for a file.
    connection: str | None
    documentation: str

    @classmethod
    def _of(cls, entry: _wire.ProtocolEntry) -> ProtocolInfo:
        connection = connection_name(entry.connection) if entry.connection else None
        parents = tuple(entry.parents)
        return cls(entry.name, parents, entry.members, connection, entry.documentation)


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A method of a protocol."""

    #: The protocol that declares the method.
    origin: str
    #: ``should``, ``will``, ``did`` or ``value``.
    kind: str
    is_required: bool
    name: str
    #: In Varlink's type syntax, with parentheses.
    parameters: str
    #: The type of the method's value; empty if the method gives none.
    result: str
    documentation: str

    @classmethod
    def _of(cls, entry: _wire.MemberEntry) -> MemberInfo:
        return _copied(cls, entry, kind=entry.kind.name.lower())


@dataclass(frozen=True, slots=True)
class AccountInfo:
    """A user's use and limit of a resource that all users share."""

    uid: int
    #: The user gets the share of this many users.
    weight: int
    #: True for root and the user that runs the bus.
    is_privileged: bool
    #: The resource, such as ``connections`` or ``queues``.
    resource: str
    #: The user's use, the user's present limit, and the limit of all users together.
    used: int
    share: int
    total: int

    @classmethod
    def _of(cls, entry: _wire.AccountEntry) -> AccountInfo:
        return _copied(cls, entry)


@dataclass(slots=True)
class Explanation:
    """The holds and delegates that a query would meet."""

    holds: list[HoldInfo] = field(default_factory=list)
    #: Missing required delegates: ``unit:NAME`` or ``label:NAME``; ``*`` if ``Default=veto`` vetoes
    #: because no delegate matches.
    missing: list[str] = field(default_factory=list)
    #: The delegates to ask, in order.
    delegates: list[DelegateInfo] = field(default_factory=list)
    #: The object's protocol; None if it has none.
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """A line of a policy."""

    #: The file's name; empty if no line matches.
    file: str
    number: int
    text: str

    @classmethod
    def _of(cls, line: _wire.AccessLine) -> PolicyLine:
        return _copied(cls, line)


@dataclass(slots=True)
class PolicyDecision:
    """A decision of the policy about an action, with its reason."""

    is_allowed: bool
    #: True if the user may do everything.
    is_exempt: bool
    #: The line that decides; its file is empty if no line does.
    line: PolicyLine
    #: The user about whom the policy decided.
    uid: int
    #: Lines that would allow the request if one fact were different. Each comes with this fact.
    near_misses: list[tuple[PolicyLine, str]] = field(default_factory=list)

    @classmethod
    def _of(cls, entry: _wire.AccessEntry) -> PolicyDecision:
        decision = _wire.AccessDecision
        is_exempt = entry.decision is decision.EXEMPT
        return cls(
            is_exempt or entry.decision is decision.ALLOWED,
            is_exempt,
            PolicyLine._of(entry.line),
            entry.subject.uid,
        )
