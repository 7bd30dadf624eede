# SPDX-License-Identifier: Apache-2.0
"""What the bus lists. All times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import _wire
from ._messages import Peer, Suspension, connection_name


@dataclass(frozen=True, slots=True)
class BusStatus:
    """The bus as a whole."""

    pid: int
    software: str
    address: str
    #: Seconds since it started.
    uptime: float
    connections: int
    observations: int
    delegates: int
    queries: int
    holds: int
    #: Notifications that were taken from posters, put into observers' queues, and dropped there.
    posted: int
    delivered: int
    lost: int
    #: Queries for permission that have a verdict, and how many of them were vetoed.
    asked: int
    vetoed: int
    #: Frames that the policy refused.
    denied: int

    @classmethod
    def _of(cls, entry: _wire.BusEntry) -> BusStatus:
        return cls(
            entry.pid,
            entry.software,
            entry.address,
            entry.uptime / 1e6,
            entry.connections,
            entry.observations,
            entry.delegates,
            entry.queries,
            entry.holds,
            entry.posted,
            entry.delivered,
            entry.lost,
            entry.asked,
            entry.vetoed,
            entry.denied,
        )


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
    #: Bytes that wait for it to read, and those that are buffered until it resumes.
    queued: int
    buffered: int
    lost: int
    posted: int
    #: Notifications that later ones have replaced since it was suspended.
    coalesced: int
    #: Whether the bus does not read from it at the moment, so that its observers can catch up.
    is_paused: bool
    #: Whether it does not read, and so loses notifications.
    is_lossy: bool
    is_suspended: bool
    #: Whether it would outlive a crash of the bus.
    is_surviving: bool

    @classmethod
    def _of(cls, entry: _wire.ConnectionEntry) -> ConnectionInfo:
        state = _wire.ConnectionState
        return cls(
            connection_name(entry.id),
            Peer._of(entry.peer),
            entry.age / 1e6,
            entry.observations,
            entry.delegates,
            entry.queries,
            entry.queued,
            entry.buffered,
            entry.lost,
            entry.posted,
            entry.coalesced,
            state.PAUSED in entry.state,
            state.LOSSY in entry.state,
            state.SUSPENDED in entry.state,
            state.NOT_SURVIVING not in entry.state,
        )


@dataclass(frozen=True, slots=True)
class DepartedInfo:
    """A connection that has gone."""

    id: str
    peer: Peer
    #: Seconds for which it was connected, and since it has gone.
    age: float
    elapsed: float
    #: The number of the protocol's error with which the bus closed it; 0 if it went by itself.
    reason: int
    lost: int
    posted: int

    @classmethod
    def _of(cls, entry: _wire.DepartedEntry) -> DepartedInfo:
        return cls(
            connection_name(entry.id),
            Peer._of(entry.peer),
            entry.age / 1e6,
            entry.elapsed / 1e6,
            entry.reason,
            entry.lost,
            entry.posted,
        )


@dataclass(frozen=True, slots=True)
class ObservationInfo:
    """An observation."""

    connection: str
    #: Empty for any.
    pattern: str
    #: Empty for any.
    object: str
    suspension: Suspension
    is_awaited: bool

    @classmethod
    def _of(cls, entry: _wire.ObservationEntry) -> ObservationInfo:
        return cls(
            connection_name(entry.connection),
            entry.pattern,
            entry.object,
            Suspension[entry.suspension.name],
            entry.is_awaited,
        )


@dataclass(frozen=True, slots=True)
class DelegateInfo:
    """A delegate."""

    id: int
    connection: str
    label: str
    peer: Peer
    #: Empty for any.
    object: str
    order: int
    #: Whether its failure counts as a veto.
    vetoes_on_failure: bool
    #: Seconds that it may be silent.
    timeout: float
    #: The names that it responds to.
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
    #: Empty for any name.
    pattern: str
    #: Empty for any.
    object: str
    why: str
    #: Seconds since it was taken.
    age: float
    #: Seconds until it expires; None if it does not.
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
class RetainedInfo:
    """A retained notification, without its userInfo."""

    name: str
    object: str
    #: The connection that posted it, and the user in whose account it is.
    connection: str
    uid: int
    #: Bytes of userInfo.
    length: int
    #: Seconds since it was posted.
    age: float

    @classmethod
    def _of(cls, entry: _wire.RetainedEntry) -> RetainedInfo:
        return cls(
            entry.name,
            entry.object,
            connection_name(entry.connection),
            entry.uid,
            entry.length,
            entry.age / 1e6,
        )


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object that is declared, or has delegates of its own."""

    #: A pattern of objects, if it comes from the configuration.
    object: str
    #: Empty if it was not declared.
    protocol: str
    delegates: int
    #: The connection that declared it; None if none did, or the configuration.
    connection: str | None

    @classmethod
    def _of(cls, entry: _wire.ObjectEntry) -> ObjectInfo:
        connection = connection_name(entry.connection) if entry.connection else None
        return cls(entry.object, entry.protocol_name, entry.delegates, connection)


@dataclass(frozen=True, slots=True)
class ProtocolInfo:
    """A protocol."""

    name: str
    #: The protocols that it inherits from.
    parents: tuple[str, ...]
    #: How many methods it has, inherited ones included.
    members: int
    #: The connection that defined it; None if a file did.
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

    #: The protocol that it comes from.
    origin: str
    #: ``should``, ``will``, ``did`` or ``value``.
    kind: str
    is_required: bool
    name: str
    #: In Varlink's type syntax, with parentheses.
    parameters: str
    #: Empty unless it gives a value.
    result: str
    documentation: str

    @classmethod
    def _of(cls, entry: _wire.MemberEntry) -> MemberInfo:
        return cls(
            entry.origin,
            entry.kind.name.lower(),
            entry.is_required,
            entry.name,
            entry.parameters,
            entry.result,
            entry.documentation,
        )


@dataclass(frozen=True, slots=True)
class AccountInfo:
    """What a user has, and may have, of a resource that all users share."""

    uid: int
    #: As how many users this one counts.
    weight: int
    #: Whether it is root, or the user that runs the bus.
    is_privileged: bool
    #: Such as ``connections`` or ``queues``.
    resource: str
    #: What it has, what it may have at the moment, and what all may have together.
    used: int
    share: int
    total: int

    @classmethod
    def _of(cls, entry: _wire.AccountEntry) -> AccountInfo:
        return cls(
            entry.uid,
            entry.weight,
            entry.is_privileged,
            entry.resource,
            entry.used,
            entry.share,
            entry.total,
        )


@dataclass(slots=True)
class Explanation:
    """What a query would meet."""

    holds: list[HoldInfo] = field(default_factory=list)
    #: Required delegates that are not attached: ``unit:NAME``, ``label:NAME``, or ``*``.
    missing: list[str] = field(default_factory=list)
    #: The delegates that would be asked, in order.
    delegates: list[DelegateInfo] = field(default_factory=list)
    #: The protocol of the object; None if it has none.
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """A line of a policy."""

    #: Empty if there is no line.
    file: str
    number: int
    text: str

    @classmethod
    def _of(cls, line: _wire.AccessLine) -> PolicyLine:
        return cls(line.file, line.number, line.text)


@dataclass(slots=True)
class PolicyDecision:
    """How the policy decides about an action, and why."""

    is_allowed: bool
    #: Whether the subject may do everything.
    is_exempt: bool
    #: The line that decides; its file is empty if there is none.
    line: PolicyLine
    #: Whom it is about.
    uid: int
    #: Lines that would allow it if one thing were different, and that thing.
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
