# SPDX-License-Identifier: Apache-2.0
"""Handles the frames that the bus sends over one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import _wire
from ._callbacks import call
from ._delegation import AttachedDelegate, Question
from ._errors import violation
from ._frame import CRITICAL, Frame, FrameError, decode_fields
from ._messages import (
    Acknowledgement,
    AwaitedNotification,
    AwaitedReply,
    Notification,
    Peer,
    Progress,
    Verdict,
    connection_name,
)
from ._monitoring import Traffic
from ._names import is_name, is_object, is_will_or_did
from ._registrations import MonitorPart, ObservationPart
from ._stream import Stream
from ._transport import UserInfoFile
from ._wire import ErrorCode, FrameKind

if TYPE_CHECKING:
    from ._link import Link

# This is a plain number, because access to enumerations is slow.
_POST: Final = int(FrameKind.POST)
_SLOTS_MAX: Final = 1 << 20
_ROUTES_MAX: Final = 1024


class _Awaited(AwaitedNotification):
    """An awaited notification. The poster gets one report, when all streams have reported."""

    __slots__ = ("_epoch", "_failure", "_link", "_open", "_post", "_poster")

    def __init__(self, frame: Frame, streams: int, link: Link) -> None:
        self._poster, self._post = frame.sender, frame.serial
        self._open = streams
        self._failure: str | None = None
        self._link = link
        self._epoch = link.epoch

    def abandon(self, failure: str) -> None:
        link = self._link
        if not link.has_ended and not link.loop.is_closed():
            link.loop.call_soon_threadsafe(self.settle, failure)

    def settle(self, failure: str | None) -> None:
        self._open -= 1
        if self._failure is None:
            self._failure = failure
        if self._open == 0:
            self._link.acknowledge(self._poster, self._post, self._failure, self._epoch)


class _Route:
    """The receivers of notifications of one name and object."""

    __slots__ = ("awaited", "is_empty", "is_retiring", "name", "object", "streams")

    def __init__(self, name: str, object: str, link: Link) -> None:
        self.name, self.object = name, object
        streams: dict[Stream[Any], None] = {}
        awaited: dict[Stream[Any], None] = {}
        goes_to_delegates = is_will_or_did(name)
        for registration in link.registrations.values():
            if isinstance(registration, ObservationPart):
                if registration.is_live and registration.matcher.matches(name, object):
                    (awaited if registration.is_awaited else streams)[registration.stream] = None
            elif goes_to_delegates and isinstance(registration, AttachedDelegate):
                matchers = registration.matchers if registration.is_live else []
                if any(matcher.matches(name, object, none_is_every=True) for matcher in matchers):
                    streams.update(dict.fromkeys(registration.streams()))
        self.streams = list(streams)
        self.awaited = list(awaited)
        # The bus may still wait for a report of an observation that is being withdrawn.
        self.is_retiring = any(one.matches(name, object) for one in link.retirements.values())
        self.is_empty = not (self.streams or self.awaited or self.is_retiring)


class Receiver:
    """Handles the frames of one connection.

    An invalid frame raises `FrameError`, which ends the connection. A reply to a cancelled request
    is no error: the bus may send it before it reads the `cancel`.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        #: The number of notifications, including lost ones.
        self.received = 0
        self._routes: dict[tuple[bytes, int], _Route] = {}
        #: The posters by connection, each with the number of slots that refer to it. A slot is a
        #: number under which the bus introduces a poster, and later perhaps another poster.
        self._posters: dict[int, tuple[int, Peer]] = {}
        self._by_slot: dict[int, int] = {}

    def forget_routes(self) -> None:
        """Forgets the routes, because registrations have changed."""
        self._routes.clear()

    def receive(self, frame: Frame, file: UserInfoFile | None) -> None:
        """Handles one frame."""
        if frame.kind == _POST:
            self.received += 1
            self._deliver(frame, file)
            return
        link = self._link
        serial = frame.serial
        match frame.kind:
            case FrameKind.OK:
                link.okay(serial, decode_fields(_wire.Okay, frame))
            case FrameKind.ERROR:
                link.refuse(serial, decode_fields(_wire.Refusal, frame).code, frame.text)
            case FrameKind.VERDICT:
                link.verdict(serial, Verdict._of(decode_fields(_wire.Verdict, frame)))
            case FrameKind.AWAITED:
                link.reply(serial, AwaitedReply._of(decode_fields(_wire.Awaited, frame)))
            case FrameKind.PROGRESS:
                progress = Progress._of(decode_fields(_wire.Progress, frame), frame.text)
                request = link.requests.get(serial)
                if request is not None:
                    call(request.progress, progress)
            case FrameKind.QUESTION:
                self._ask(frame)
            case FrameKind.CONCLUDED:
                link.questions.conclude(decode_fields(_wire.Concluded, frame))
            case FrameKind.ENTRY:
                entry = decode_fields(_wire.Entry, frame)
                request = link.requests.get(serial)
                if request is not None:
                    request.add(entry, frame.length)
            case FrameKind.RETAINED:
                self.received += 1
                self._deliver_retained(frame, file)
            case FrameKind.TRAFFIC:
                self.received += 1
                self._deliver_traffic(frame)
            case FrameKind.LOST:
                self._report_lost(decode_fields(_wire.Lost, frame).count)
            case FrameKind.ROOM:
                link.room.answer()
            case FrameKind.POSTER:
                self._note_poster(decode_fields(_wire.PosterFacts, frame))
            case FrameKind.LATE:
                link.late(serial, decode_fields(_wire.Late, frame).actions)
            case FrameKind.ENDED:
                link.ended_registration(serial, decode_fields(_wire.Ended, frame))
            case kind if kind in FrameKind.__members__.values():
                raise violation(f"the bus sent a frame of kind {kind}, which it never sends")
            case kind if frame.flags & CRITICAL:
                raise violation(
                    f"the bus sent a critical frame of kind {kind}, which this side does not know"
                )

    def _route(self, frame: Frame) -> _Route:
        key = frame.route
        route = self._routes.get(key)
        if route is None:
            name, object = frame.name, frame.object
            require_valid(name, object)
            if len(self._routes) >= _ROUTES_MAX:
                self._routes.clear()
            route = self._routes[key] = _Route(name, object, self._link)
        return route

    def _deliver(self, frame: Frame, file: UserInfoFile | None) -> None:
        route = self._route(frame)
        if route.is_empty:
            return
        is_awaited = frame.fields_length > 0 and bool(
            decode_fields(_wire.Post, frame).options & _wire.PostOptions.AWAITED
        )
        user_info = frame.payload if file is None else file.data
        if user_info is None:
            # A notification without its userInfo would mislead, so it counts as lost.
            for stream in route.streams + route.awaited:
                stream.lose(1)
            if is_awaited and (route.awaited or route.is_retiring):
                self._fail_awaited(frame, "its userInfo could not be received")
            return
        number = frame.sender
        sender = connection_name(number) if number else None
        poster = self._poster(number)
        if route.streams:
            notification = Notification(route.name, route.object, sender, poster, user_info)
            for stream in route.streams:
                stream.deliver(notification, len(user_info))
        if is_awaited and route.is_retiring and not route.awaited:
            # The bus sent the notification before it read the `cancel`.
            self._fail_awaited(frame, "the observation was taken back")
        awaited = _Awaited(frame, len(route.awaited), self._link) if is_awaited else None
        for stream in route.awaited:
            notification = Notification(route.name, route.object, sender, poster, user_info)
            if awaited is not None:
                notification._acknowledgement = Acknowledgement(awaited)
            stream.deliver(notification, len(user_info))

    def _fail_awaited(self, frame: Frame, why: str) -> None:
        self._link.acknowledge(frame.sender, frame.serial, why, self._link.epoch)

    def _deliver_retained(self, frame: Frame, file: UserInfoFile | None) -> None:
        """Delivers a retained notification to the observation that asked for it."""
        decode_fields(_wire.Retained, frame)
        name, object = frame.name, frame.object
        require_valid(name, object)
        part = self._link.registrations.get(frame.serial)
        if not isinstance(part, ObservationPart):
            return
        for other in self._link.registrations.values():
            # If an earlier part of the observation matches, the stream already has the
            # notification.
            if (
                isinstance(other, ObservationPart)
                and other.stream is part.stream
                and other.serial < part.serial
                and other.matcher.matches(name, object)
            ):
                return
        user_info = frame.payload if file is None else file.data
        if user_info is None:
            part.stream.lose(1)
            return
        sender = connection_name(frame.sender) if frame.sender else None
        poster = self._poster(frame.sender)
        notification = Notification(name, object, sender, poster, user_info, is_retained=True)
        part.stream.deliver(notification, len(user_info))

    def _deliver_traffic(self, frame: Frame) -> None:
        # The bus sends one copy for all monitors of a connection, so each monitor's stream gets it.
        item = Traffic._of(decode_fields(_wire.Traffic, frame), frame.payload)
        streams = {
            part.stream: None
            for part in self._link.registrations.values()
            if isinstance(part, MonitorPart)
        }
        for stream in streams:
            stream.deliver(item, len(item.data))

    def _report_lost(self, count: int) -> None:
        """Reports losses to all streams, because the bus counts them for the whole connection."""
        if count == 0:
            return
        self.received += count
        interruption = self._link.interruption
        if interruption is not None:
            # `Interruption.finish` reports these losses at the reserved positions, before all
            # deliveries of this connection.
            interruption.missed += count
            return
        for stream in self._link.streams():
            stream.lose(count)

    def _note_poster(self, facts: _wire.PosterFacts) -> None:
        if facts.slot >= _SLOTS_MAX:
            return
        before = self._by_slot.get(facts.slot)
        slots = self._posters.get(facts.connection, (0,))[0]
        if before != facts.connection:
            slots += 1
            self._by_slot[facts.slot] = facts.connection
            if before is not None:
                self._leave_slot(before)
        self._posters[facts.connection] = slots, Peer._of(facts.peer)

    def _leave_slot(self, number: int) -> None:
        slots, peer = self._posters[number]
        if slots == 1:
            del self._posters[number]
        else:
            self._posters[number] = slots - 1, peer

    def _poster(self, number: int) -> Peer | None:
        known = self._posters.get(number)
        return known[1] if known else None

    def _ask(self, frame: Frame) -> None:
        fields = decode_fields(_wire.Question, frame)
        name, object = frame.name, frame.object
        require_valid(name, object)
        question = Question(
            name,
            object,
            frame.payload,
            fields.query,
            fields.timeout / 1e3,
            Peer._of(fields.asker),
            connection_name(frame.sender),
            fields.is_dry_run,
            fields.wants_value,
            fields.delegate,
        )
        attached = self._link.registrations.get(frame.serial)
        if isinstance(attached, AttachedDelegate):
            self._link.questions.ask(question, attached)


def require_valid(name: str, object: str) -> None:
    """Raises `FrameError` for a name or an object that the bus cannot have accepted."""
    if not is_name(name):
        raise FrameError(ErrorCode.INVALID_NAME, "a notification without a valid name")
    if not is_object(object):
        raise FrameError(ErrorCode.INVALID_OBJECT, "a notification without a valid object")
