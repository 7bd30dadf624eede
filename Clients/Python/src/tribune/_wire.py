# SPDX-License-Identifier: Apache-2.0
#
# Made by "make wire" from docs/tribune.wire. Change that instead.
"""The frames of the protocol: docs/PROTOCOL.md says what they mean."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import ClassVar, Final

from ._fields import FieldError, Reader, Writer

# Bytes in a name or a pattern.
NAME_LENGTH: Final = 255
# Bytes in an object.
OBJECT_LENGTH: Final = 255
# Bytes of fields in one frame that the bus accepts.
FIELDS_LENGTH: Final = 65536
# Groups of a subject: its primary one and 65,536 supplementary ones.
GROUPS: Final = 65537
# Bytes in a label.
LABEL_LENGTH: Final = 255
# Bytes in a reason or status. The bus cuts longer ones at a character's boundary.
REASON_LENGTH: Final = 4096
# Name patterns in one `attach`.
PATTERNS_PER_DELEGATE: Final = 128
# Patterns of the replacement delegate that an `ended` lists.
PATTERNS_OF_REPLACEMENT: Final = 16
# Protocols in one `attach`.
PROTOCOLS_PER_DELEGATE: Final = 32
# Bytes in the name of a protocol.
PROTOCOL_NAME_LENGTH: Final = 255
# Bytes of protocol definitions in one `declare`.
DEFINITION_LENGTH: Final = 65536
# Bytes of payload that every bus accepts, whatever its settings.
PAYLOAD_LENGTH_FLOOR: Final = 65536
# The smallest userInfo that may be sent as a memfd, in bytes.
DESCRIPTOR_PAYLOAD_LENGTH: Final = 65536
# The largest payload limit that can be configured, in bytes.
PAYLOAD_LENGTH_CEILING: Final = 1073741824


class FrameKind(enum.IntEnum):
    """The kinds of frames."""

    # The client's id, and the bus's limits.
    WELCOME = 1
    # A refusal.
    ERROR = 2
    # The bus has carried out a frame.
    OK = 3
    # A notification.
    POST = 4
    # The bus has dropped notifications.
    LOST = 5
    # An observation.
    OBSERVE = 6
    # Joins a delegate chain.
    ATTACH = 7
    # A query.
    ASK = 8
    # Asks one delegate.
    QUESTION = 9
    # The delegate's answer.
    ANSWER = 10
    # The delegate needs more time.
    DEFER = 11
    # The state of a query with one delegate.
    PROGRESS = 12
    # The result of a query.
    VERDICT = 13
    # How a query ended.
    CONCLUDED = 14
    # Ends a registration, query, awaited post or action.
    CANCEL = 15
    # Asks for a list.
    LIST = 16
    # One item of a list.
    ENTRY = 17
    # Asks for copies of frames from and to clients.
    MONITOR = 18
    # A frame that passed over the bus.
    TRAFFIC = 19
    # A standing veto.
    HOLD = 20
    # The bus has ended a registration.
    ENDED = 21
    # Declares an object's protocol; defines protocols.
    DECLARE = 22
    # Suspends or resumes notifications.
    SUSPEND = 23
    # A retained notification.
    RETAINED = 24
    # Acknowledges an awaited notification.
    DONE = 25
    # Which observers have handled an awaited notification.
    AWAITED = 26
    # Replaces a connection that a restart ended.
    SUCCEED = 27
    # Changes the reason of a hold.
    AMEND = 28
    # The identity of a poster.
    POSTER = 29
    # How many notifications the client accepts.
    ROOM = 30
    # How long this connection's posts may wait for slow observers.
    PACE = 31
    # Registers an action that is under way, or that waits to begin.
    BEGIN = 32
    # How many actions under way began before a hold.
    LATE = 33


class FrameFlags(enum.IntFlag):
    """Flags of a frame."""

    # The sender wants an `ok` when the bus has taken the frame.
    ACKNOWLEDGE = 1
    # userInfo is in a descriptor sent with the frame; the payload is empty.
    DESCRIPTOR = 2
    # A receiver that does not know the frame's kind must close the connection.
    CRITICAL = 128


class ErrorCode(enum.IntEnum):
    """Why the bus refuses a frame or closes a connection."""

    # the first bytes are not a Tribune hello
    BAD_MAGIC = 1
    UNSUPPORTED_VERSION = 2
    # fields or payload over a limit
    FRAME_TOO_LONG = 3
    # the frame's lengths contradict each other, or its fields end too early
    MALFORMED_FRAME = 4
    # an unknown kind with the flag *critical*
    UNKNOWN_CRITICAL_KIND = 5
    HELLO_TIMEOUT = 6
    FRAME_TIMEOUT = 7
    # descriptors that no frame can use, or too many
    UNEXPECTED_DESCRIPTORS = 8
    # unread frames that cannot be dropped exceed the hard limit
    TOO_SLOW = 9
    # the user's share of connections is used up
    TOO_MANY_CONNECTIONS = 10
    # memory is short; incomplete frames take too much memory or too many descriptors; or too many
    # refused descriptors of the user are still open
    OUT_OF_MEMORY = 11
    # the bus is stopping
    SHUTTING_DOWN = 12
    MISSING_DESCRIPTOR = 13
    # the connection did not survive a restart
    RESTARTED = 14
    # bytes after a `hold` or `begin` with *isLast*
    AFTER_LAST = 15
    # an unknown kind, or one that only the bus sends
    UNKNOWN_KIND = 64
    INVALID_NAME = 65
    INVALID_PATTERN = 66
    INVALID_OBJECT = 67
    # a value that is not allowed, or over a limit
    INVALID_VALUE = 68
    # the name begins with `tribune.`
    RESERVED_NAME = 69
    DUPLICATE_SERIAL = 70
    # no such connection, registration, query, action, awaited post or list
    NOT_FOUND = 71
    # the query does not wait for this answer or `defer`, or the post for this `done`
    NOT_ASKED = 72
    # over a limit, or the bus's log has no room for the frame
    LIMIT_EXCEEDED = 73
    # the client cancelled the query or awaited post, or a restart interrupted the list
    CANCELLED = 74
    # the query is nested in one of the same name and object, or too deeply
    RECURSION = 75
    # the policy does not allow it ([ACCESS.md](ACCESS.md))
    NOT_PERMITTED = 76
    UNKNOWN_PROTOCOL = 77
    # the text has mistakes; the message has lines and columns
    INVALID_PROTOCOL = 78
    # the delegate does not conform; the message has all reasons
    NOT_CONFORMING = 79
    # the object's protocol has no such method
    UNKNOWN_NAME = 80
    # userInfo does not fit the method; the message names the field
    INVALID_PARAMETER = 81
    # a different definition or declaration exists, or an equal delegate
    CONFLICT = 82
    # not a sealed memfd of the stated length
    INVALID_DESCRIPTOR = 83


@dataclass(slots=True, kw_only=True)
class PeerIdentity:
    """The process at the other end of a connection, as the kernel and systemd know it."""

    # as the kernel recorded them on connecting
    pid: int
    uid: int
    gid: int
    # the process's name (comm, at most 15 bytes); empty if it ended too soon
    process: str
    # `SYSTEM` or `SYSTEM/USER`: its units in the system's and the user's service manager. SYSTEM
    # can be empty. Unit names have no slash
    units: str

    @classmethod
    def read(cls, reader: Reader) -> PeerIdentity:
        return cls(
            pid=reader.u32(),
            uid=reader.u32(),
            gid=reader.u32(),
            process=reader.text(),
            units=reader.text(),
        )

    def write(self, writer: Writer) -> None:
        writer.u32(self.pid)
        writer.u32(self.uid)
        writer.u32(self.gid)
        writer.text(self.process)
        writer.text(self.units)


@dataclass(slots=True, kw_only=True)
class DelegateIdentity:
    """A delegate, as others see it."""

    # never reused
    id: int
    label: str
    # its process
    peer: PeerIdentity

    @classmethod
    def read(cls, reader: Reader) -> DelegateIdentity:
        return cls(id=reader.u64(), label=reader.text(), peer=PeerIdentity.read(reader))

    def write(self, writer: Writer) -> None:
        writer.u64(self.id)
        writer.text(self.label)
        self.peer.write(writer)


@dataclass(slots=True, kw_only=True)
class Welcome:
    """The client's id, and the bus's limits."""

    KIND: ClassVar[FrameKind] = FrameKind.WELCOME

    # the client's id, `:N` in print
    connection: int
    # bytes of payload in one frame to the bus
    payload_max: int
    # live observations, monitors and declarations of this connection
    observations_max: int
    # live delegates and holds
    delegates_max: int
    # queries and awaited posts under way
    queries_max: int
    # milliseconds for a query or awaited post: the maximum; the default
    deadline_max: int
    deadline_default: int
    # the daemon's process id
    bus_pid: int
    # the daemon's version, for people
    software: str

    @classmethod
    def read(cls, reader: Reader) -> Welcome:
        return cls(
            connection=reader.u64(),
            payload_max=reader.u32(),
            observations_max=reader.u32(),
            delegates_max=reader.u32(),
            queries_max=reader.u32(),
            deadline_max=reader.u32(),
            deadline_default=reader.u32(),
            bus_pid=reader.u32(),
            software=reader.text(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        writer.u32(self.payload_max)
        writer.u32(self.observations_max)
        writer.u32(self.delegates_max)
        writer.u32(self.queries_max)
        writer.u32(self.deadline_max)
        writer.u32(self.deadline_default)
        writer.u32(self.bus_pid)
        writer.text(self.software)


@dataclass(slots=True, kw_only=True)
class Refusal:
    """A refusal."""

    KIND: ClassVar[FrameKind] = FrameKind.ERROR

    code: int

    @classmethod
    def read(cls, reader: Reader) -> Refusal:
        return cls(code=reader.u16())

    def write(self, writer: Writer) -> None:
        writer.u16(self.code)


@dataclass(slots=True, kw_only=True)
class Okay:
    """The bus has carried out a frame."""

    KIND: ClassVar[FrameKind] = FrameKind.OK

    # serial of the registration; id of the delegate or hold; else 0
    registration: int = 0
    delegate: int = 0
    # of an `observe`: how many retained notifications follow
    retained: int = 0
    # of a `hold` or `attach`: number of actions under way that it could have vetoed
    late: int = 0
    # of a `hold`: its expiry, which the bus may have shortened; 0 for none
    expiry: int = 0

    @classmethod
    def read(cls, reader: Reader) -> Okay:
        return cls(
            registration=reader.u64(),
            delegate=reader.u64(),
            retained=reader.u32(),
            late=reader.u32(),
            expiry=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.registration)
        writer.u64(self.delegate)
        writer.u32(self.retained)
        writer.u32(self.late)
        writer.u64(self.expiry)


@dataclass(slots=True, kw_only=True)
class Cancel:
    """Ends a registration, query, awaited post or action."""

    KIND: ClassVar[FrameKind] = FrameKind.CANCEL

    # serial of an `observe`, `attach`, `hold`, `declare`, `monitor`, `ask`, `begin` or awaited
    # `post` of this connection
    target: int

    @classmethod
    def read(cls, reader: Reader) -> Cancel:
        return cls(target=reader.u64())

    def write(self, writer: Writer) -> None:
        writer.u64(self.target)


@dataclass(slots=True, kw_only=True)
class Succeed:
    """Replaces a connection that a restart ended."""

    KIND: ClassVar[FrameKind] = FrameKind.SUCCEED

    # id of the ended connection
    predecessor: int
    # notifications that the predecessor received: each `post`, `retained` and `traffic`, and the
    # `count` of each `lost`
    received: int

    @classmethod
    def read(cls, reader: Reader) -> Succeed:
        return cls(predecessor=reader.u64(), received=reader.u64())

    def write(self, writer: Writer) -> None:
        writer.u64(self.predecessor)
        writer.u64(self.received)


class PostOptions(enum.IntFlag):
    """Options of a post beyond plain delivery."""

    # Suspended connections also receive it, after their buffered notifications.
    IMMEDIATELY = 1
    # Kept as the last of its name and object. Without userInfo, it removes the kept one.
    RETAIN = 2
    # Replaces waiting notifications of the same name.
    COALESCE_BY_NAME = 4
    # Replaces waiting notifications about the same object; with `coalesceByName`, of the same name
    # and object.
    COALESCE_BY_OBJECT = 8
    # The poster waits until the awaited observers have acknowledged.
    AWAITED = 16
    # With *retain* and the style *now*: removed when the poster's connection has ended for good.
    BOUND = 32


class PostingStyle(enum.IntEnum):
    """When the bus delivers a notification, as in Cocoa's NSNotificationQueue."""

    NOW = 0
    # At the end of the bus's loop iteration in which it arrived.
    AS_SOON_AS_POSSIBLE = 1
    # When the bus has read all input, or after one second.
    WHEN_IDLE = 2


@dataclass(slots=True, kw_only=True)
class Post:
    """A notification."""

    KIND: ClassVar[FrameKind] = FrameKind.POST

    options: PostOptions = PostOptions(0)
    style: PostingStyle = PostingStyle.NOW
    # if *awaited*: milliseconds until the answer; 0 for `deadlineDefault`
    deadline: int = 0
    # bytes of userInfo in the descriptor; must be 0 without one (`invalidValue`)
    length: int = 0

    @classmethod
    def read(cls, reader: Reader) -> Post:
        if not reader.left:
            return cls()
        return cls(
            options=PostOptions(reader.u8()),
            style=PostingStyle(reader.u8()),
            deadline=reader.u32(),
            length=reader.u32(),
        )

    def write(self, writer: Writer) -> None:
        if self == Post():
            return
        writer.u8(self.options)
        writer.u8(self.style)
        writer.u32(self.deadline)
        writer.u32(self.length)


@dataclass(slots=True, kw_only=True)
class Lost:
    """The bus has dropped notifications."""

    KIND: ClassVar[FrameKind] = FrameKind.LOST

    # notifications dropped at this place in the stream
    count: int

    @classmethod
    def read(cls, reader: Reader) -> Lost:
        return cls(count=reader.u64())

    def write(self, writer: Writer) -> None:
        writer.u64(self.count)


class ObserveOptions(enum.IntFlag):
    """Options of an observation."""

    # Matching retained notifications are delivered first.
    RETAINED = 1
    # Posters of awaited notifications wait for this observer.
    AWAITED = 2


class SuspensionBehavior(enum.IntEnum):
    """How notifications are handled while a connection is suspended, as in Cocoa's
    NSDistributedNotificationCenter.
    """

    # The last of each name and object is delivered on resumption.
    COALESCE = 0
    # They are dropped.
    DROP = 1
    # All that fit in the buffer are delivered on resumption.
    HOLD = 2
    # They are delivered at once, after the buffered ones.
    DELIVER_IMMEDIATELY = 3


@dataclass(slots=True, kw_only=True)
class Observe:
    """An observation."""

    KIND: ClassVar[FrameKind] = FrameKind.OBSERVE

    options: ObserveOptions = ObserveOptions(0)
    # applies while the connection is suspended
    suspension: SuspensionBehavior = SuspensionBehavior.COALESCE

    @classmethod
    def read(cls, reader: Reader) -> Observe:
        if not reader.left:
            return cls()
        return cls(options=ObserveOptions(reader.u8()), suspension=SuspensionBehavior(reader.u8()))

    def write(self, writer: Writer) -> None:
        if self == Observe():
            return
        writer.u8(self.options)
        writer.u8(self.suspension)


@dataclass(slots=True, kw_only=True)
class Room:
    """How many notifications the client accepts."""

    KIND: ClassVar[FrameKind] = FrameKind.ROOM

    # the total of notifications that the bus may send, counted as in `succeed`; in the bus's frame:
    # 0
    limit: int

    @classmethod
    def read(cls, reader: Reader) -> Room:
        return cls(limit=reader.u64())

    def write(self, writer: Writer) -> None:
        writer.u64(self.limit)


@dataclass(slots=True, kw_only=True)
class Pace:
    """How long this connection's posts may wait for slow observers."""

    KIND: ClassVar[FrameKind] = FrameKind.PACE

    # milliseconds; 0 for the bus's setting, 65,535 for no limit
    limit: int

    @classmethod
    def read(cls, reader: Reader) -> Pace:
        return cls(limit=reader.u16())

    def write(self, writer: Writer) -> None:
        writer.u16(self.limit)


@dataclass(slots=True, kw_only=True)
class Suspend:
    """Suspends or resumes notifications."""

    KIND: ClassVar[FrameKind] = FrameKind.SUSPEND

    is_suspended: bool

    @classmethod
    def read(cls, reader: Reader) -> Suspend:
        return cls(is_suspended=reader.flag())

    def write(self, writer: Writer) -> None:
        writer.flag(self.is_suspended)


@dataclass(slots=True, kw_only=True)
class Retained:
    """A retained notification."""

    KIND: ClassVar[FrameKind] = FrameKind.RETAINED

    # microseconds since it was posted
    age: int
    # bytes of userInfo in the descriptor; 0 without one
    length: int = 0

    @classmethod
    def read(cls, reader: Reader) -> Retained:
        return cls(age=reader.u64(), length=reader.u32())

    def write(self, writer: Writer) -> None:
        writer.u64(self.age)
        writer.u32(self.length)


@dataclass(slots=True, kw_only=True)
class Done:
    """Acknowledges an awaited notification."""

    KIND: ClassVar[FrameKind] = FrameKind.DONE

    # the sender of the notification
    poster: int
    # the notification's serial
    post: int
    has_failed: bool = False

    @classmethod
    def read(cls, reader: Reader) -> Done:
        return cls(poster=reader.u64(), post=reader.u64(), has_failed=reader.flag())

    def write(self, writer: Writer) -> None:
        writer.u64(self.poster)
        writer.u64(self.post)
        writer.flag(self.has_failed)


class ObserverFailure(enum.IntEnum):
    """Why an observer has not acknowledged."""

    # It had not acknowledged at the deadline.
    TIMED_OUT = 0
    # It disconnected, or stopped observing before it got the notification.
    GONE = 1
    # It reported a failure.
    FAILED = 2


@dataclass(slots=True, kw_only=True)
class MissingObserver:
    """An observer that has not acknowledged."""

    connection: int
    peer: PeerIdentity
    # gone: it disconnected, or stopped observing before it got the notification
    failure: ObserverFailure
    # of *failed*; else empty
    reason: str
    # microseconds from the post to this failure
    elapsed: int

    @classmethod
    def read(cls, reader: Reader) -> MissingObserver:
        return cls(
            connection=reader.u64(),
            peer=PeerIdentity.read(reader),
            failure=ObserverFailure(reader.u8()),
            reason=reader.text(),
            elapsed=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        self.peer.write(writer)
        writer.u8(self.failure)
        writer.text(self.reason)
        writer.u64(self.elapsed)


@dataclass(slots=True, kw_only=True)
class Awaited:
    """Which observers have handled an awaited notification."""

    KIND: ClassVar[FrameKind] = FrameKind.AWAITED

    # number of connections that have sent `done`
    acknowledged: int
    # the other connections
    missing: list[MissingObserver]

    @classmethod
    def read(cls, reader: Reader) -> Awaited:
        return cls(
            acknowledged=reader.u32(),
            missing=[MissingObserver.read(record) for record in reader.records()],
        )

    def write(self, writer: Writer) -> None:
        writer.u32(self.acknowledged)
        writer.records(self.missing)


@dataclass(slots=True, kw_only=True)
class PosterFacts:
    """The identity of a poster."""

    KIND: ClassVar[FrameKind] = FrameKind.POSTER

    # the sender
    connection: int
    # where to remember the sender, until another gets the slot
    slot: int
    # its process; pid 0, uid and gid 4,294,967,295, and empty texts mean unknown
    peer: PeerIdentity

    @classmethod
    def read(cls, reader: Reader) -> PosterFacts:
        return cls(connection=reader.u64(), slot=reader.u32(), peer=PeerIdentity.read(reader))

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        writer.u32(self.slot)
        self.peer.write(writer)


@dataclass(slots=True, kw_only=True)
class Monitor:
    """Asks for copies of frames from and to clients."""

    KIND: ClassVar[FrameKind] = FrameKind.MONITOR

    @classmethod
    def read(cls, reader: Reader) -> Monitor:
        return cls()

    def write(self, writer: Writer) -> None:
        return


@dataclass(slots=True, kw_only=True)
class Traffic:
    """A frame that passed over the bus."""

    KIND: ClassVar[FrameKind] = FrameKind.TRAFFIC

    # microseconds since 1970, UTC
    time: int
    # the sending connection; 0 for the bus
    from_: int
    # the receiving connection; 0 for a delivered `post` and for a frame to the bus
    to: int
    # number of receivers; 0 for a frame to the bus alone
    receivers: int

    @classmethod
    def read(cls, reader: Reader) -> Traffic:
        return cls(time=reader.u64(), from_=reader.u64(), to=reader.u64(), receivers=reader.u32())

    def write(self, writer: Writer) -> None:
        writer.u64(self.time)
        writer.u64(self.from_)
        writer.u64(self.to)
        writer.u32(self.receivers)


class FailurePolicy(enum.IntEnum):
    """What `timedOut`, `gone` and `failed` count as."""

    VETO = 0
    ABSTAIN = 1


@dataclass(slots=True, kw_only=True)
class Attach:
    """Joins a delegate chain."""

    KIND: ClassVar[FrameKind] = FrameKind.ATTACH

    # place in the chain: lower first, then by time of attaching
    order: int = 0
    # what `timedOut`, `gone` and `failed` count as
    failure_policy: FailurePolicy = FailurePolicy.VETO
    # milliseconds that the delegate may be silent; 0 for the bus's setting (5 s)
    timeout: int = 0
    # for people, in verdicts and lists
    label: str = ""
    # name patterns that the delegate responds to; an empty list is `invalidPattern`
    patterns: list[str]
    # replaces the object's other delegates
    is_set: bool = False
    # protocols that the delegate conforms to
    protocols: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, reader: Reader) -> Attach:
        return cls(
            order=reader.i32(),
            failure_policy=FailurePolicy(reader.u8()),
            timeout=reader.u32(),
            label=reader.text(),
            patterns=reader.texts(),
            is_set=reader.flag(),
            protocols=reader.texts(),
        )

    def write(self, writer: Writer) -> None:
        writer.i32(self.order)
        writer.u8(self.failure_policy)
        writer.u32(self.timeout)
        writer.text(self.label)
        writer.texts(self.patterns)
        writer.flag(self.is_set)
        writer.texts(self.protocols)


@dataclass(slots=True, kw_only=True)
class Hold:
    """A standing veto."""

    KIND: ClassVar[FrameKind] = FrameKind.HOLD

    # nanoseconds on `CLOCK_MONOTONIC`, in the future and below 2^63 (`invalidValue`); 0 for none
    expiry: int = 0
    # the holder's name, for verdicts and lists
    label: str = ""
    # this is the connection's last frame; its registrations stay
    is_last: bool = False
    # the process to show as the holder; absent for the sender's
    holder: PeerIdentity | None = None

    @classmethod
    def read(cls, reader: Reader) -> Hold:
        return cls(
            expiry=reader.u64(),
            label=reader.text(),
            is_last=reader.flag(),
            holder=PeerIdentity.read(reader) if reader.flag() else None,
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.expiry)
        writer.text(self.label)
        writer.flag(self.is_last)
        writer.flag(self.holder is not None)
        if self.holder is not None:
            self.holder.write(writer)


@dataclass(slots=True, kw_only=True)
class Amend:
    """Changes the reason of a hold."""

    KIND: ClassVar[FrameKind] = FrameKind.AMEND

    # serial of a `hold` of this connection
    target: int

    @classmethod
    def read(cls, reader: Reader) -> Amend:
        return cls(target=reader.u64())

    def write(self, writer: Writer) -> None:
        writer.u64(self.target)


@dataclass(slots=True, kw_only=True)
class Declare:
    """Declares an object's protocol; defines protocols."""

    KIND: ClassVar[FrameKind] = FrameKind.DECLARE

    # the object's protocol
    protocol_name: str = ""

    @classmethod
    def read(cls, reader: Reader) -> Declare:
        return cls(protocol_name=reader.text())

    def write(self, writer: Writer) -> None:
        writer.text(self.protocol_name)


class QueryMode(enum.IntEnum):
    """How a query is put to the delegate chain."""

    # All delegates are asked at once; the first veto is the verdict.
    PARALLEL = 0
    # All delegates are asked at once, and all answers are awaited.
    ALL = 1
    # One delegate is asked at a time, until one vetoes.
    ORDER = 2
    # One delegate is asked at a time, until one has a value.
    FIRST = 3
    # All delegates are asked at once, and each may have a value.
    COLLECT = 4


class VerdictKind(enum.IntEnum):
    """What a query decides."""

    ALLOWED = 0
    VETOED = 1


class QueryFlags(enum.IntFlag):
    """Options of a query."""

    # The query decides nothing, and the question says so to the delegates.
    IS_DRY_RUN = 1
    # The asker overrides vetoes, and gives a reason.
    OVERRIDES = 2
    # The asker also wants `progress` when a delegate is asked, and when its outcome is known.
    WANTS_PROGRESS = 4
    # If the verdict is *allowed*, the action is then under way until the asker cancels the query or
    # disconnects.
    BEGINS = 8


@dataclass(slots=True, kw_only=True)
class Ask:
    """A query."""

    KIND: ClassVar[FrameKind] = FrameKind.ASK

    # milliseconds until the verdict; 0 for `deadlineDefault`
    deadline: int = 0
    mode: QueryMode = QueryMode.PARALLEL
    # the verdict if no participant approves or vetoes
    fallback: VerdictKind = VerdictKind.ALLOWED
    # the query that a delegate of the asker's user is answering; 0 for none
    parent: int = 0
    flags: QueryFlags = QueryFlags(0)
    # why vetoes are overridden; ignored without the flag *overrides*
    override_reason: str = ""
    # not 0: vetoed while this many actions of the name and object are under way
    slots: int = 0

    @classmethod
    def read(cls, reader: Reader) -> Ask:
        return cls(
            deadline=reader.u32(),
            mode=QueryMode(reader.u8()),
            fallback=VerdictKind(reader.u8()),
            parent=reader.u64(),
            flags=QueryFlags(reader.u8()),
            override_reason=reader.text(),
            slots=reader.u32(),
        )

    def write(self, writer: Writer) -> None:
        writer.u32(self.deadline)
        writer.u8(self.mode)
        writer.u8(self.fallback)
        writer.u64(self.parent)
        writer.u8(self.flags)
        writer.text(self.override_reason)
        writer.u32(self.slots)


class ActionStage(enum.IntEnum):
    """The stage of an action."""

    # The action is under way.
    UNDER_WAY = 0
    # The sender waits for a slot: a place in the line of the action's name and object.
    WAITING = 1
    # As waiting. Holds that come later do not veto the sender, and are too late.
    CLAIMING = 2
    # A query that has not ended; invalid in a `begin`.
    ASKED = 3


@dataclass(slots=True, kw_only=True)
class Begin:
    """Registers an action that is under way, or that waits to begin."""

    KIND: ClassVar[FrameKind] = FrameKind.BEGIN

    # an action of the same user that moves here from another connection; 0 for one that began
    # without this bus
    query: int
    # this is the connection's last frame; the action stays
    is_last: bool = False
    stage: ActionStage = ActionStage.UNDER_WAY

    @classmethod
    def read(cls, reader: Reader) -> Begin:
        return cls(query=reader.u64(), is_last=reader.flag(), stage=ActionStage(reader.u8()))

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        writer.flag(self.is_last)
        writer.u8(self.stage)


@dataclass(slots=True, kw_only=True)
class Late:
    """How many actions under way began before a hold."""

    KIND: ClassVar[FrameKind] = FrameKind.LATE

    # the hold's id
    delegate: int
    # 0 once all have ended
    actions: int

    @classmethod
    def read(cls, reader: Reader) -> Late:
        return cls(delegate=reader.u64(), actions=reader.u32())

    def write(self, writer: Writer) -> None:
        writer.u64(self.delegate)
        writer.u32(self.actions)


@dataclass(slots=True, kw_only=True)
class Question:
    """Asks one delegate."""

    KIND: ClassVar[FrameKind] = FrameKind.QUESTION

    # the same for all delegates of the query; never reused
    query: int
    delegate: int
    # milliseconds for the answer
    timeout: int
    # the asking process
    asker: PeerIdentity
    # the query decides nothing
    is_dry_run: bool = False
    # the asker wants a value, not permission
    wants_value: bool = False

    @classmethod
    def read(cls, reader: Reader) -> Question:
        return cls(
            query=reader.u64(),
            delegate=reader.u64(),
            timeout=reader.u32(),
            asker=PeerIdentity.read(reader),
            is_dry_run=reader.flag(),
            wants_value=reader.flag(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        writer.u64(self.delegate)
        writer.u32(self.timeout)
        self.asker.write(writer)
        writer.flag(self.is_dry_run)
        writer.flag(self.wants_value)


class AnswerKind(enum.IntEnum):
    """A delegate's answer."""

    APPROVE = 0
    VETO = 1
    ABSTAIN = 2
    FAILED = 3
    # The payload is a value, as a data source returns it.
    VALUE = 4


@dataclass(slots=True, kw_only=True)
class Answer:
    """The delegate's answer."""

    KIND: ClassVar[FrameKind] = FrameKind.ANSWER

    # query and delegate as in the question
    query: int
    delegate: int
    answer: AnswerKind

    @classmethod
    def read(cls, reader: Reader) -> Answer:
        return cls(query=reader.u64(), delegate=reader.u64(), answer=AnswerKind(reader.u8()))

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        writer.u64(self.delegate)
        writer.u8(self.answer)


@dataclass(slots=True, kw_only=True)
class Defer:
    """The delegate needs more time."""

    KIND: ClassVar[FrameKind] = FrameKind.DEFER

    query: int
    # as in the question; 0 for the only delegate of the sender's user that the query waits for
    delegate: int
    # new timeout: milliseconds from now
    extension: int

    @classmethod
    def read(cls, reader: Reader) -> Defer:
        return cls(query=reader.u64(), delegate=reader.u64(), extension=reader.u32())

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        writer.u64(self.delegate)
        writer.u32(self.extension)


class ProgressStage(enum.IntEnum):
    """How far a query has come with one delegate."""

    # The delegate needs more time.
    DEFERRED = 0
    # The bus has asked the delegate.
    ASKED = 1
    # The delegate has an outcome.
    SETTLED = 2


class OutcomeKind(enum.IntEnum):
    """The outcome of one delegate. `held`: by a hold, or by an action in a slot."""

    APPROVED = 0
    VETOED = 1
    ABSTAINED = 2
    TIMED_OUT = 3
    GONE = 4
    FAILED = 5
    HELD = 6
    ANSWERED = 7


@dataclass(slots=True, kw_only=True)
class Progress:
    """The state of a query with one delegate."""

    KIND: ClassVar[FrameKind] = FrameKind.PROGRESS

    query: int
    delegate: DelegateIdentity
    # milliseconds that the delegate now has; 0 once it has settled
    timeout: int
    stage: ProgressStage = ProgressStage.DEFERRED
    # at the stage *settled*, as in `verdict`; else ignored
    outcome: OutcomeKind = OutcomeKind.APPROVED

    @classmethod
    def read(cls, reader: Reader) -> Progress:
        return cls(
            query=reader.u64(),
            delegate=DelegateIdentity.read(reader),
            timeout=reader.u32(),
            stage=ProgressStage(reader.u8()),
            outcome=OutcomeKind(reader.u8()),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        self.delegate.write(writer)
        writer.u32(self.timeout)
        writer.u8(self.stage)
        writer.u8(self.outcome)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of one delegate."""

    # of a hold, its id, label and process; of a missing delegate, id 0 and the label `unit:NAME` or
    # `label:NAME`; of an action under way, id 0 and the process
    delegate: DelegateIdentity
    outcome: OutcomeKind
    # the reason or error; can be empty
    reason: str
    # microseconds from the question to the outcome; of an action, since it began
    elapsed: int
    # the value of the answer
    value: bytes = b""

    @classmethod
    def read(cls, reader: Reader) -> Outcome:
        return cls(
            delegate=DelegateIdentity.read(reader),
            outcome=OutcomeKind(reader.u8()),
            reason=reader.text(),
            elapsed=reader.u64(),
            value=reader.blob(),
        )

    def write(self, writer: Writer) -> None:
        self.delegate.write(writer)
        writer.u8(self.outcome)
        writer.text(self.reason)
        writer.u64(self.elapsed)
        writer.blob(self.value)


@dataclass(slots=True, kw_only=True)
class Verdict:
    """The result of a query."""

    KIND: ClassVar[FrameKind] = FrameKind.VERDICT

    query: int
    verdict: VerdictKind
    # the query got no approval or veto; for a value query, no value
    is_unanswered: bool
    # holds, oldest first; missing required delegates; actions that fill the slots, oldest first;
    # delegates with an outcome, in the chain's order
    outcomes: list[Outcome]
    # vetoes among the outcomes were overridden
    is_overridden: bool = False
    # as in the `ask`
    is_dry_run: bool = False
    # outcomes that are not listed
    omitted_count: int = 0
    # a similar name, unless a delegate or hold has exactly this name
    similar_name: str = ""

    @classmethod
    def read(cls, reader: Reader) -> Verdict:
        return cls(
            query=reader.u64(),
            verdict=VerdictKind(reader.u8()),
            is_unanswered=reader.flag(),
            outcomes=[Outcome.read(record) for record in reader.records()],
            is_overridden=reader.flag(),
            is_dry_run=reader.flag(),
            omitted_count=reader.u32(),
            similar_name=reader.text(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        writer.u8(self.verdict)
        writer.flag(self.is_unanswered)
        writer.records(self.outcomes)
        writer.flag(self.is_overridden)
        writer.flag(self.is_dry_run)
        writer.u32(self.omitted_count)
        writer.text(self.similar_name)


class ConclusionKind(enum.IntEnum):
    """How a query ended, for the delegates that were asked."""

    ALLOWED = 0
    VETOED = 1
    # The asker cancelled the query, or disconnected.
    CANCELLED = 2


@dataclass(slots=True, kw_only=True)
class Concluded:
    """How a query ended."""

    KIND: ClassVar[FrameKind] = FrameKind.CONCLUDED

    # as in the question
    query: int
    delegate: int
    conclusion: ConclusionKind

    @classmethod
    def read(cls, reader: Reader) -> Concluded:
        return cls(
            query=reader.u64(),
            delegate=reader.u64(),
            conclusion=ConclusionKind(reader.u8()),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.query)
        writer.u64(self.delegate)
        writer.u8(self.conclusion)


@dataclass(slots=True, kw_only=True)
class AccessSubject:
    """Whom a policy decides about."""

    # the user
    uid: int
    # of more than 128, only those that the policy named when the process connected
    groups: list[int]
    # its unit in the system's service manager; empty unless the kernel guarantees one
    unit: str

    @classmethod
    def read(cls, reader: Reader) -> AccessSubject:
        return cls(uid=reader.u32(), groups=reader.integers(), unit=reader.text())

    def write(self, writer: Writer) -> None:
        writer.u32(self.uid)
        writer.integers(self.groups)
        writer.text(self.unit)


@dataclass(slots=True, kw_only=True)
class AccessQuestion:
    """What a `list` of the subject *access* asks: may the subject do the action with the frame's
    name and object?
    """

    # the name of an action, as in tribune-policy(5)
    action: str
    # if absent, the connection that the `list` names, or else the sender
    subject: AccessSubject | None = None

    @classmethod
    def read(cls, reader: Reader) -> AccessQuestion:
        return cls(
            action=reader.text(),
            subject=AccessSubject.read(reader) if reader.flag() else None,
        )

    def write(self, writer: Writer) -> None:
        writer.text(self.action)
        writer.flag(self.subject is not None)
        if self.subject is not None:
            self.subject.write(writer)


@dataclass(slots=True, kw_only=True)
class AccessLine:
    """A line of a policy, and where it is."""

    # its path; empty without a file
    file: str = ""
    # from 1; 0 without a file
    number: int = 0
    # without its comment
    text: str = ""

    @classmethod
    def read(cls, reader: Reader) -> AccessLine:
        return cls(file=reader.text(), number=reader.u32(), text=reader.text())

    def write(self, writer: Writer) -> None:
        writer.text(self.file)
        writer.u32(self.number)
        writer.text(self.text)


class AccessDecision(enum.IntEnum):
    """How a policy decides."""

    ALLOWED = 0
    DENIED = 1
    # No line allows it.
    NOT_ALLOWED = 2
    # The subject may do everything: it runs the bus, or is root on a bus without a policy.
    EXEMPT = 3


@dataclass(slots=True, kw_only=True)
class AccessEntry:
    """How the policy decides, for the subject *access*."""

    # notAllowed: no line allows it; exempt: the subject runs the bus, or is root on a bus without a
    # policy
    decision: AccessDecision
    # the deciding line; empty without one
    line: AccessLine
    # whom the decision concerns
    subject: AccessSubject

    @classmethod
    def read(cls, reader: Reader) -> AccessEntry:
        return cls(
            decision=AccessDecision(reader.u8()),
            line=AccessLine.read(reader),
            subject=AccessSubject.read(reader),
        )

    def write(self, writer: Writer) -> None:
        writer.u8(self.decision)
        self.line.write(writer)
        self.subject.write(writer)


@dataclass(slots=True, kw_only=True)
class NearMissEntry:
    """A policy line that would allow the action but for one unmet condition, for the subject
    *access*.
    """

    line: AccessLine
    # the unmet condition, for people: `needs group:operators`
    lacks: str

    @classmethod
    def read(cls, reader: Reader) -> NearMissEntry:
        return cls(line=AccessLine.read(reader), lacks=reader.text())

    def write(self, writer: Writer) -> None:
        self.line.write(writer)
        writer.text(self.lacks)


class ListSubject(enum.IntEnum):
    """The subjects of a `list`."""

    BUS = 0
    CONNECTIONS = 1
    OBSERVATIONS = 2
    DELEGATES = 3
    # What a query with the frame's name and object would meet: the object, holds, actions under
    # way, missing required delegates, and delegates, in order.
    CHAIN = 4
    HOLDS = 5
    # Objects that are declared or have delegates of their own.
    OBJECTS = 6
    PROTOCOLS = 7
    # The methods of the protocol that the frame's object has, or whose name it is.
    MEMBERS = 8
    # Retained notifications.
    RETAINED = 9
    # How the policy decides about an action with the frame's name or pattern, and its object.
    ACCESS = 10
    # The registrations that would end if the policy in the payload replaced the present one.
    ENDINGS = 11
    # Connections that left in the last minute.
    DEPARTED = 12
    # Users' parts of shared resources.
    ACCOUNTS = 13
    # Queries and actions under way.
    QUERIES = 14
    # Counts of queries, by name.
    NAMES = 15
    # How delegates and awaited observers answered, and how long they took.
    PARTICIPANTS = 16
    # What users posted and received, by unit.
    USERS = 17
    # The last verdicts of a bus that writes to no journal.
    VERDICTS = 18


@dataclass(slots=True, kw_only=True)
class List:
    """Asks for a list."""

    KIND: ClassVar[FrameKind] = FrameKind.LIST

    subject: ListSubject
    # only items of this connection; 0 for all
    connection: int = 0
    question: AccessQuestion | None = None

    @classmethod
    def read(cls, reader: Reader) -> List:
        subject = ListSubject(reader.u8())
        return cls(
            subject=subject,
            connection=reader.u64(),
            question=AccessQuestion.read(reader) if subject is ListSubject.ACCESS else None,
        )

    def write(self, writer: Writer) -> None:
        writer.u8(self.subject)
        writer.u64(self.connection)
        if self.question is not None:
            self.question.write(writer)


@dataclass(slots=True, kw_only=True)
class BusEntry:
    """The bus as a whole."""

    pid: int = 0
    software: str = ""
    address: str = ""
    # microseconds
    uptime: int = 0
    # at the moment
    connections: int = 0
    observations: int = 0
    delegates: int = 0
    queries: int = 0
    # notifications received from posters; queued for observers; dropped there, or unreported by a
    # daemon that died
    posted: int = 0
    delivered: int = 0
    lost: int = 0
    # verdicts on permission, without dry runs; vetoes among them
    asked: int = 0
    vetoed: int = 0
    # holds; actions under way
    holds: int = 0
    actions: int = 0
    # frames that the policy refused; refused for another reason
    denied: int = 0
    refused: int = 0
    # bytes of the posted notifications
    posted_bytes: int = 0
    # event loop iterations since the start
    iterations: int = 0
    # microseconds: CPU time of the event loop's thread; longest iteration in the last one to two
    # minutes
    busy: int = 0
    longest: int = 0
    # bytes of the log, used and allowed
    log_used: int = 0
    log_max: int = 0
    # descriptors that the keeper has or will get
    kept: int = 0

    @classmethod
    def read(cls, reader: Reader) -> BusEntry:
        return cls(
            pid=reader.u32(),
            software=reader.text(),
            address=reader.text(),
            uptime=reader.u64(),
            connections=reader.u32(),
            observations=reader.u32(),
            delegates=reader.u32(),
            queries=reader.u32(),
            posted=reader.u64(),
            delivered=reader.u64(),
            lost=reader.u64(),
            asked=reader.u64(),
            vetoed=reader.u64(),
            holds=reader.u32(),
            actions=reader.u32(),
            denied=reader.u64(),
            refused=reader.u64(),
            posted_bytes=reader.u64(),
            iterations=reader.u64(),
            busy=reader.u64(),
            longest=reader.u64(),
            log_used=reader.u64(),
            log_max=reader.u64(),
            kept=reader.u32(),
        )

    def write(self, writer: Writer) -> None:
        writer.u32(self.pid)
        writer.text(self.software)
        writer.text(self.address)
        writer.u64(self.uptime)
        writer.u32(self.connections)
        writer.u32(self.observations)
        writer.u32(self.delegates)
        writer.u32(self.queries)
        writer.u64(self.posted)
        writer.u64(self.delivered)
        writer.u64(self.lost)
        writer.u64(self.asked)
        writer.u64(self.vetoed)
        writer.u32(self.holds)
        writer.u32(self.actions)
        writer.u64(self.denied)
        writer.u64(self.refused)
        writer.u64(self.posted_bytes)
        writer.u64(self.iterations)
        writer.u64(self.busy)
        writer.u64(self.longest)
        writer.u64(self.log_used)
        writer.u64(self.log_max)
        writer.u32(self.kept)


class ConnectionState(enum.IntFlag):
    """What a connection is like at the moment."""

    # the bus does not read from it until slow observers catch up
    PAUSED = 1
    # it reads too slowly, and loses notifications
    LOSSY = 2
    # it has suspended its notifications
    SUSPENDED = 4
    # it would end if the bus died now
    NOT_SURVIVING = 8


@dataclass(slots=True, kw_only=True)
class ConnectionEntry:
    """A connection."""

    id: int
    peer: PeerIdentity
    # microseconds since it connected
    age: int
    # without monitors and declarations
    observations: int
    delegates: int
    queries: int
    # unread bytes
    queued: int
    # notifications that it lost; that it posted
    lost: int
    posted: int
    state: ConnectionState
    # since it was suspended: bytes buffered; notifications replaced by later ones
    buffered: int = 0
    coalesced: int = 0
    # bytes of the notifications that it posted; notifications queued for it
    posted_bytes: int = 0
    delivered: int = 0
    # its frames that the policy refused; refused for another reason
    denied: int = 0
    refused: int = 0
    # queries, with dry runs and value queries
    asked: int = 0
    # how often it was paused
    pauses: int = 0
    # microseconds while paused; while lossy
    paused_time: int = 0
    lossy_time: int = 0

    @classmethod
    def read(cls, reader: Reader) -> ConnectionEntry:
        return cls(
            id=reader.u64(),
            peer=PeerIdentity.read(reader),
            age=reader.u64(),
            observations=reader.u32(),
            delegates=reader.u32(),
            queries=reader.u32(),
            queued=reader.u64(),
            lost=reader.u64(),
            posted=reader.u64(),
            state=ConnectionState(reader.u8()),
            buffered=reader.u64(),
            coalesced=reader.u64(),
            posted_bytes=reader.u64(),
            delivered=reader.u64(),
            denied=reader.u64(),
            refused=reader.u64(),
            asked=reader.u64(),
            pauses=reader.u64(),
            paused_time=reader.u64(),
            lossy_time=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.id)
        self.peer.write(writer)
        writer.u64(self.age)
        writer.u32(self.observations)
        writer.u32(self.delegates)
        writer.u32(self.queries)
        writer.u64(self.queued)
        writer.u64(self.lost)
        writer.u64(self.posted)
        writer.u8(self.state)
        writer.u64(self.buffered)
        writer.u64(self.coalesced)
        writer.u64(self.posted_bytes)
        writer.u64(self.delivered)
        writer.u64(self.denied)
        writer.u64(self.refused)
        writer.u64(self.asked)
        writer.u64(self.pauses)
        writer.u64(self.paused_time)
        writer.u64(self.lossy_time)


@dataclass(slots=True, kw_only=True)
class DepartedEntry:
    """A connection that has gone, for the subject *departed*."""

    id: int
    peer: PeerIdentity
    # microseconds while connected; since it left
    age: int
    elapsed: int
    # the error with which the bus closed it; else 0
    reason: int
    # notifications that it lost; that it posted
    lost: int
    posted: int

    @classmethod
    def read(cls, reader: Reader) -> DepartedEntry:
        return cls(
            id=reader.u64(),
            peer=PeerIdentity.read(reader),
            age=reader.u64(),
            elapsed=reader.u64(),
            reason=reader.u16(),
            lost=reader.u64(),
            posted=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.id)
        self.peer.write(writer)
        writer.u64(self.age)
        writer.u64(self.elapsed)
        writer.u16(self.reason)
        writer.u64(self.lost)
        writer.u64(self.posted)


@dataclass(slots=True, kw_only=True)
class AccountEntry:
    """A user's part of a resource that all users share, for the subject *accounts*: one for each
    user and resource.
    """

    uid: int
    # it gets the share of this many users
    weight: int
    # root, or the user that runs the bus
    is_privileged: bool
    # `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`,
    # `protocols`, `queues`, `unread-files`; later versions can have more
    resource: str
    # used by the user; available to it now; available to all: bytes of `partial-frames`, `log`,
    # `retained` and `queues`, else numbers
    used: int
    share: int
    total: int

    @classmethod
    def read(cls, reader: Reader) -> AccountEntry:
        return cls(
            uid=reader.u32(),
            weight=reader.u32(),
            is_privileged=reader.flag(),
            resource=reader.text(),
            used=reader.u64(),
            share=reader.u64(),
            total=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u32(self.uid)
        writer.u32(self.weight)
        writer.flag(self.is_privileged)
        writer.text(self.resource)
        writer.u64(self.used)
        writer.u64(self.share)
        writer.u64(self.total)


@dataclass(slots=True, kw_only=True)
class Durations:
    """A histogram of how long something took; docs/LISTING.md describes its buckets."""

    # total and longest, in microseconds
    sum: int = 0
    longest: int = 0
    # bucket of the first count
    first: int = 0
    # counts from bucket *first* on
    counts: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, reader: Reader) -> Durations:
        return cls(
            sum=reader.u64(),
            longest=reader.u64(),
            first=reader.u16(),
            counts=reader.integers(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.sum)
        writer.u64(self.longest)
        writer.u16(self.first)
        writer.integers(self.counts)


@dataclass(slots=True, kw_only=True)
class OutcomeCounts:
    """How many outcomes of each kind there were."""

    approved: int = 0
    vetoed: int = 0
    abstained: int = 0
    timed_out: int = 0
    gone: int = 0
    failed: int = 0
    held: int = 0
    answered: int = 0

    @classmethod
    def read(cls, reader: Reader) -> OutcomeCounts:
        return cls(
            approved=reader.u64(),
            vetoed=reader.u64(),
            abstained=reader.u64(),
            timed_out=reader.u64(),
            gone=reader.u64(),
            failed=reader.u64(),
            held=reader.u64(),
            answered=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.approved)
        writer.u64(self.vetoed)
        writer.u64(self.abstained)
        writer.u64(self.timed_out)
        writer.u64(self.gone)
        writer.u64(self.failed)
        writer.u64(self.held)
        writer.u64(self.answered)


class ParticipantState(enum.IntEnum):
    """How far a query is with a participant."""

    # Others are asked first.
    UNASKED = 0
    # The question waits until the delegate's connection has fewer open questions.
    QUEUED = 1
    ASKED = 2
    # The participant has an outcome.
    SETTLED = 3


@dataclass(slots=True, kw_only=True)
class QueryParticipant:
    """A participant of a query under way."""

    # 0 for a hold or a missing required delegate
    connection: int
    # as in an outcome
    delegate: DelegateIdentity
    state: ParticipantState
    # if *settled*; else ignored
    outcome: OutcomeKind
    # of the outcome
    reason: str
    # microseconds that the query has waited for it; until its timeout, 0 unless the query still
    # waits
    elapsed: int
    remaining: int

    @classmethod
    def read(cls, reader: Reader) -> QueryParticipant:
        return cls(
            connection=reader.u64(),
            delegate=DelegateIdentity.read(reader),
            state=ParticipantState(reader.u8()),
            outcome=OutcomeKind(reader.u8()),
            reason=reader.text(),
            elapsed=reader.u64(),
            remaining=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        self.delegate.write(writer)
        writer.u8(self.state)
        writer.u8(self.outcome)
        writer.text(self.reason)
        writer.u64(self.elapsed)
        writer.u64(self.remaining)


@dataclass(slots=True, kw_only=True)
class QueryEntry:
    """A query, or an action under way or waiting, for the subject *queries*."""

    id: int
    # the asker's
    connection: int
    # the asker
    peer: PeerIdentity
    name: str
    object: str
    mode: QueryMode
    is_dry_run: bool
    # microseconds since it was asked, began or waits; until the asker's deadline, or 0
    age: int
    remaining: int
    # holds, then delegates in the chain's order: at most 256, awaited ones preferred
    participants: list[QueryParticipant]
    # participants that are not listed
    omitted_count: int
    stage: ActionStage = ActionStage.ASKED

    @classmethod
    def read(cls, reader: Reader) -> QueryEntry:
        return cls(
            id=reader.u64(),
            connection=reader.u64(),
            peer=PeerIdentity.read(reader),
            name=reader.text(),
            object=reader.text(),
            mode=QueryMode(reader.u8()),
            is_dry_run=reader.flag(),
            age=reader.u64(),
            remaining=reader.u64(),
            participants=[QueryParticipant.read(record) for record in reader.records()],
            omitted_count=reader.u32(),
            stage=ActionStage(reader.u8()),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.id)
        writer.u64(self.connection)
        self.peer.write(writer)
        writer.text(self.name)
        writer.text(self.object)
        writer.u8(self.mode)
        writer.flag(self.is_dry_run)
        writer.u64(self.age)
        writer.u64(self.remaining)
        writer.records(self.participants)
        writer.u32(self.omitted_count)
        writer.u8(self.stage)


@dataclass(slots=True, kw_only=True)
class NameEntry:
    """Queries under a name, without dry runs, for the subject *names*."""

    # empty for all names beyond the busiest 1,000
    name: str
    # verdicts; vetoed ones; allowed by an override; queries without a verdict
    asked: int
    vetoed: int
    overridden: int
    cancelled: int
    outcomes: OutcomeCounts
    # from ask to verdict, if a delegate was asked
    durations: Durations

    @classmethod
    def read(cls, reader: Reader) -> NameEntry:
        return cls(
            name=reader.text(),
            asked=reader.u64(),
            vetoed=reader.u64(),
            overridden=reader.u64(),
            cancelled=reader.u64(),
            outcomes=OutcomeCounts.read(reader),
            durations=Durations.read(reader),
        )

    def write(self, writer: Writer) -> None:
        writer.text(self.name)
        writer.u64(self.asked)
        writer.u64(self.vetoed)
        writer.u64(self.overridden)
        writer.u64(self.cancelled)
        self.outcomes.write(writer)
        self.durations.write(writer)


class ParticipantRole(enum.IntEnum):
    """What a participant takes part in."""

    # It answers queries.
    DELEGATE = 0
    # It handles awaited notifications.
    OBSERVER = 1


@dataclass(slots=True, kw_only=True)
class ParticipantEntry:
    """How the delegates or awaited observers of one user, unit and label answered, for the subject
    *participants*.
    """

    role: ParticipantRole
    # empty if it has none; observers have no label
    label: str
    unit: str
    # 4294967295 for all entries beyond the busiest 1,000
    uid: int
    # *answered*: an observer has handled the notification
    outcomes: OutcomeCounts
    # from question or notification to outcome
    durations: Durations

    @classmethod
    def read(cls, reader: Reader) -> ParticipantEntry:
        return cls(
            role=ParticipantRole(reader.u8()),
            label=reader.text(),
            unit=reader.text(),
            uid=reader.u32(),
            outcomes=OutcomeCounts.read(reader),
            durations=Durations.read(reader),
        )

    def write(self, writer: Writer) -> None:
        writer.u8(self.role)
        writer.text(self.label)
        writer.text(self.unit)
        writer.u32(self.uid)
        self.outcomes.write(writer)
        self.durations.write(writer)


@dataclass(slots=True, kw_only=True)
class UserEntry:
    """What the processes of a user in a unit did, for the subject *users*."""

    # 4294967295 for all entries beyond the busiest 1,000
    uid: int
    # empty if it has none
    unit: str
    # at the moment
    connections: int
    # notifications that they posted; their bytes
    posted: int
    posted_bytes: int
    # notifications queued for them; that they lost
    delivered: int
    lost: int
    # queries, with dry runs and value queries
    asked: int
    # frames that the policy refused; refused for another reason
    denied: int
    refused: int

    @classmethod
    def read(cls, reader: Reader) -> UserEntry:
        return cls(
            uid=reader.u32(),
            unit=reader.text(),
            connections=reader.u32(),
            posted=reader.u64(),
            posted_bytes=reader.u64(),
            delivered=reader.u64(),
            lost=reader.u64(),
            asked=reader.u64(),
            denied=reader.u64(),
            refused=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u32(self.uid)
        writer.text(self.unit)
        writer.u32(self.connections)
        writer.u64(self.posted)
        writer.u64(self.posted_bytes)
        writer.u64(self.delivered)
        writer.u64(self.lost)
        writer.u64(self.asked)
        writer.u64(self.denied)
        writer.u64(self.refused)


@dataclass(slots=True, kw_only=True)
class PastVerdict:
    """A verdict of a bus that writes to no journal, for the subject *verdicts*."""

    # the asker's
    connection: int
    # grows from 1 with each verdict of this daemon
    number: int
    # microseconds since the verdict
    age: int
    # `NAME=VALUE`, as the journal would have them
    fields: list[str]

    @classmethod
    def read(cls, reader: Reader) -> PastVerdict:
        return cls(
            connection=reader.u64(),
            number=reader.u64(),
            age=reader.u64(),
            fields=reader.texts(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        writer.u64(self.number)
        writer.u64(self.age)
        writer.texts(self.fields)


@dataclass(slots=True)
class Entry:
    """One item of a list."""

    KIND: ClassVar[FrameKind] = FrameKind.ENTRY
    # What it is, one of `bus`, `connection`, `observation`, `delegate`, `hold`, `missing`,
    # `object`, `protocol`, `member`, `retained`, `access`, `nearMiss`, `ending`, `departed`,
    # `account`, `query`, `name`, `participant`, `user`, `verdict`.
    what: str
    content: (
        BusEntry
        | ConnectionEntry
        | ObservationEntry
        | DelegateEntry
        | HoldEntry
        | MissingEntry
        | ObjectEntry
        | ProtocolEntry
        | MemberEntry
        | RetainedEntry
        | AccessEntry
        | NearMissEntry
        | EndingEntry
        | DepartedEntry
        | AccountEntry
        | QueryEntry
        | NameEntry
        | ParticipantEntry
        | UserEntry
        | PastVerdict
    )

    @classmethod
    def read(cls, reader: Reader) -> Entry:
        match reader.u8():
            case 0:
                return cls("bus", BusEntry.read(reader))
            case 1:
                return cls("connection", ConnectionEntry.read(reader))
            case 2:
                return cls("observation", ObservationEntry.read(reader))
            case 3:
                return cls("delegate", DelegateEntry.read(reader))
            case 4:
                return cls("hold", HoldEntry.read(reader))
            case 5:
                return cls("missing", MissingEntry.read(reader))
            case 6:
                return cls("object", ObjectEntry.read(reader))
            case 7:
                return cls("protocol", ProtocolEntry.read(reader))
            case 8:
                return cls("member", MemberEntry.read(reader))
            case 9:
                return cls("retained", RetainedEntry.read(reader))
            case 10:
                return cls("access", AccessEntry.read(reader))
            case 11:
                return cls("nearMiss", NearMissEntry.read(reader))
            case 12:
                return cls("ending", EndingEntry.read(reader))
            case 13:
                return cls("departed", DepartedEntry.read(reader))
            case 14:
                return cls("account", AccountEntry.read(reader))
            case 15:
                return cls("query", QueryEntry.read(reader))
            case 16:
                return cls("name", NameEntry.read(reader))
            case 17:
                return cls("participant", ParticipantEntry.read(reader))
            case 18:
                return cls("user", UserEntry.read(reader))
            case 19:
                return cls("verdict", PastVerdict.read(reader))
            case other:
                raise FieldError(f"{cls.__name__} has no alternative {other}")

    def write(self, writer: Writer) -> None:
        match self.what:
            case "bus":
                writer.u8(0)
            case "connection":
                writer.u8(1)
            case "observation":
                writer.u8(2)
            case "delegate":
                writer.u8(3)
            case "hold":
                writer.u8(4)
            case "missing":
                writer.u8(5)
            case "object":
                writer.u8(6)
            case "protocol":
                writer.u8(7)
            case "member":
                writer.u8(8)
            case "retained":
                writer.u8(9)
            case "access":
                writer.u8(10)
            case "nearMiss":
                writer.u8(11)
            case "ending":
                writer.u8(12)
            case "departed":
                writer.u8(13)
            case "account":
                writer.u8(14)
            case "query":
                writer.u8(15)
            case "name":
                writer.u8(16)
            case "participant":
                writer.u8(17)
            case "user":
                writer.u8(18)
            case "verdict":
                writer.u8(19)
        self.content.write(writer)


@dataclass(slots=True, kw_only=True)
class ObservationEntry:
    """An observation."""

    connection: int
    # object empty for any
    pattern: str
    object: str
    suspension: SuspensionBehavior = SuspensionBehavior.COALESCE
    is_awaited: bool = False

    @classmethod
    def read(cls, reader: Reader) -> ObservationEntry:
        return cls(
            connection=reader.u64(),
            pattern=reader.text(),
            object=reader.text(),
            suspension=SuspensionBehavior(reader.u8()),
            is_awaited=reader.flag(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        writer.text(self.pattern)
        writer.text(self.object)
        writer.u8(self.suspension)
        writer.flag(self.is_awaited)


@dataclass(slots=True, kw_only=True)
class DelegateEntry:
    """A delegate, for the subjects *delegates* and *chain*."""

    connection: int
    delegate: DelegateIdentity
    # empty for any
    object: str
    order: int
    failure_policy: FailurePolicy
    # milliseconds
    timeout: int
    patterns: list[str]

    @classmethod
    def read(cls, reader: Reader) -> DelegateEntry:
        return cls(
            connection=reader.u64(),
            delegate=DelegateIdentity.read(reader),
            object=reader.text(),
            order=reader.i32(),
            failure_policy=FailurePolicy(reader.u8()),
            timeout=reader.u32(),
            patterns=reader.texts(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        self.delegate.write(writer)
        writer.text(self.object)
        writer.i32(self.order)
        writer.u8(self.failure_policy)
        writer.u32(self.timeout)
        writer.texts(self.patterns)


@dataclass(slots=True, kw_only=True)
class HoldEntry:
    """A hold, for the subjects *holds* and *chain*."""

    connection: int
    # the hold's id, label and process
    delegate: DelegateIdentity
    # object empty for any
    pattern: str
    object: str
    why: str
    # microseconds since it was taken; until it expires, 0 if it does not
    age: int
    remaining: int

    @classmethod
    def read(cls, reader: Reader) -> HoldEntry:
        return cls(
            connection=reader.u64(),
            delegate=DelegateIdentity.read(reader),
            pattern=reader.text(),
            object=reader.text(),
            why=reader.text(),
            age=reader.u64(),
            remaining=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        self.delegate.write(writer)
        writer.text(self.pattern)
        writer.text(self.object)
        writer.text(self.why)
        writer.u64(self.age)
        writer.u64(self.remaining)


@dataclass(slots=True, kw_only=True)
class MissingEntry:
    """A delegate that is required and not attached, for the subject *chain*."""

    # `unit:NAME` (of the system's service manager) or `label:NAME`; `*` if `Default=veto` vetoes
    # because no delegate matches
    name: str

    @classmethod
    def read(cls, reader: Reader) -> MissingEntry:
        return cls(name=reader.text())

    def write(self, writer: Writer) -> None:
        writer.text(self.name)


@dataclass(slots=True, kw_only=True)
class RetainedEntry:
    """A retained notification."""

    # the poster's
    connection: int
    # the user in whose share it counts
    uid: int
    name: str
    object: str
    # bytes of userInfo
    length: int
    # microseconds since it was posted
    age: int

    @classmethod
    def read(cls, reader: Reader) -> RetainedEntry:
        return cls(
            connection=reader.u64(),
            uid=reader.u32(),
            name=reader.text(),
            object=reader.text(),
            length=reader.u32(),
            age=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        writer.u32(self.uid)
        writer.text(self.name)
        writer.text(self.object)
        writer.u32(self.length)
        writer.u64(self.age)


@dataclass(slots=True, kw_only=True)
class EndingEntry:
    """A registration that would end, for the subject *endings*."""

    connection: int
    peer: PeerIdentity
    # the missing permission, and any denying line
    why: str

    @classmethod
    def read(cls, reader: Reader) -> EndingEntry:
        return cls(connection=reader.u64(), peer=PeerIdentity.read(reader), why=reader.text())

    def write(self, writer: Writer) -> None:
        writer.u64(self.connection)
        self.peer.write(writer)
        writer.text(self.why)


@dataclass(slots=True)
class Ended:
    """The bus has ended a registration."""

    KIND: ClassVar[FrameKind] = FrameKind.ENDED
    # What it is, one of `replaced`, `expired`, `notPermitted`.
    what: str
    content: DelegateEntry | None | str

    @classmethod
    def read(cls, reader: Reader) -> Ended:
        match reader.u8():
            case 0:
                return cls("replaced", DelegateEntry.read(reader))
            case 1:
                return cls("expired", None)
            case 2:
                return cls("notPermitted", reader.text())
            case other:
                raise FieldError(f"{cls.__name__} has no alternative {other}")

    def write(self, writer: Writer) -> None:
        match self.what:
            case "replaced":
                writer.u8(0)
            case "expired":
                writer.u8(1)
            case "notPermitted":
                writer.u8(2)
        if isinstance(self.content, str):
            writer.text(self.content)
        elif self.content is not None:
            self.content.write(writer)


@dataclass(slots=True, kw_only=True)
class ObjectEntry:
    """An object."""

    # an object, or the configuration's pattern
    object: str
    # empty without a declaration
    protocol_name: str
    # delegates of this object itself
    delegates: int
    # the declaring connection; 0 for the configuration, or without a declaration
    connection: int

    @classmethod
    def read(cls, reader: Reader) -> ObjectEntry:
        return cls(
            object=reader.text(),
            protocol_name=reader.text(),
            delegates=reader.u32(),
            connection=reader.u64(),
        )

    def write(self, writer: Writer) -> None:
        writer.text(self.object)
        writer.text(self.protocol_name)
        writer.u32(self.delegates)
        writer.u64(self.connection)


@dataclass(slots=True, kw_only=True)
class ProtocolEntry:
    """A protocol."""

    name: str
    parents: list[str]
    # methods, with inherited ones
    members: int
    # the defining connection; 0 for a file
    connection: int
    documentation: str

    @classmethod
    def read(cls, reader: Reader) -> ProtocolEntry:
        return cls(
            name=reader.text(),
            parents=reader.texts(),
            members=reader.u32(),
            connection=reader.u64(),
            documentation=reader.text(),
        )

    def write(self, writer: Writer) -> None:
        writer.text(self.name)
        writer.texts(self.parents)
        writer.u32(self.members)
        writer.u64(self.connection)
        writer.text(self.documentation)


class MethodKind(enum.IntEnum):
    """How a method of a protocol is called."""

    # A query, which can be vetoed.
    SHOULD = 0
    # A notification before something happens.
    WILL = 1
    # A notification after something happened.
    DID = 2
    # A query for a value.
    VALUE = 3


@dataclass(slots=True, kw_only=True)
class MemberEntry:
    """A method of a protocol."""

    # the protocol that it comes from
    origin: str
    kind: MethodKind
    is_required: bool
    name: str
    # parameters and result: Varlink's syntax, with parentheses; result empty without a value
    parameters: str
    result: str
    documentation: str

    @classmethod
    def read(cls, reader: Reader) -> MemberEntry:
        return cls(
            origin=reader.text(),
            kind=MethodKind(reader.u8()),
            is_required=reader.flag(),
            name=reader.text(),
            parameters=reader.text(),
            result=reader.text(),
            documentation=reader.text(),
        )

    def write(self, writer: Writer) -> None:
        writer.text(self.origin)
        writer.u8(self.kind)
        writer.flag(self.is_required)
        writer.text(self.name)
        writer.text(self.parameters)
        writer.text(self.result)
        writer.text(self.documentation)
