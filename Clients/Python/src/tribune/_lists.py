# SPDX-License-Identifier: Apache-2.0
"""The methods of `Bus` that list what the bus has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from . import _wire
from ._errors import Code, TribuneError, violation
from ._listing import (
    AccountInfo,
    ActionInfo,
    BusStatus,
    ConnectionInfo,
    DelegateInfo,
    DepartedInfo,
    Explanation,
    HoldInfo,
    MemberInfo,
    ObjectInfo,
    ObservationInfo,
    PolicyDecision,
    PolicyLine,
    ProtocolInfo,
    RetainedInfo,
)
from ._names import encoded_name, encoded_object, encoded_pattern
from ._wire import ListSubject

if TYPE_CHECKING:
    from ._link import Link

_Content = TypeVar("_Content")


class Lists:
    """The lists of `Bus`. Each method raises `TribuneError`: `CONNECTION_LOST`, and refusals."""

    _link: Link

    async def _list(
        self, fields: _wire.List, wanted: type[_Content], *, name: bytes = b"", object: bytes = b""
    ) -> list[_Content]:
        entries = await self._entries(fields, name, object)
        return [entry.content for entry in entries if isinstance(entry.content, wanted)]

    async def _entries(self, fields: _wire.List, name: bytes, object: bytes) -> list[_wire.Entry]:
        entries: Any = await self._link.request(fields, name=name, object=object)
        return list(entries)

    async def status(self) -> BusStatus:
        """Returns the facts about the bus as a whole."""
        found = await self._list(_wire.List(subject=ListSubject.BUS), _wire.BusEntry)
        if not found:
            raise violation("the bus reports no status")
        return BusStatus._of(found[0])

    async def connections(self) -> list[ConnectionInfo]:
        """Lists the connections that this user may see, including this one."""
        fields = _wire.List(subject=ListSubject.CONNECTIONS)
        return [ConnectionInfo._of(one) for one in await self._list(fields, _wire.ConnectionEntry)]

    async def own(self) -> ConnectionInfo:
        """Returns the facts that the bus has about this connection."""
        fields = _wire.List(subject=ListSubject.CONNECTIONS, connection=self._link.connection)
        found = await self._list(fields, _wire.ConnectionEntry)
        if not found:
            raise violation("the bus does not list this connection")
        return ConnectionInfo._of(found[0])

    async def departed(self) -> list[DepartedInfo]:
        """Lists at most 1,024 connections that ended in the last minute, in the order of ending."""
        fields = _wire.List(subject=ListSubject.DEPARTED)
        return [DepartedInfo._of(one) for one in await self._list(fields, _wire.DepartedEntry)]

    async def observations(self) -> list[ObservationInfo]:
        """Lists all observations."""
        fields = _wire.List(subject=ListSubject.OBSERVATIONS)
        found = await self._list(fields, _wire.ObservationEntry)
        return [ObservationInfo._of(one) for one in found]

    async def retained(self) -> list[RetainedInfo]:
        """Lists the retained notification of each name and object, without its userInfo.

        An observation with ``retained=True`` delivers these notifications.
        """
        fields = _wire.List(subject=ListSubject.RETAINED)
        return [RetainedInfo._of(one) for one in await self._list(fields, _wire.RetainedEntry)]

    async def delegates(self) -> list[DelegateInfo]:
        """Lists all attached delegates."""
        fields = _wire.List(subject=ListSubject.DELEGATES)
        return [DelegateInfo._of(one) for one in await self._list(fields, _wire.DelegateEntry)]

    async def holds(self) -> list[HoldInfo]:
        """Lists all holds."""
        fields = _wire.List(subject=ListSubject.HOLDS)
        return [HoldInfo._of(one) for one in await self._list(fields, _wire.HoldEntry)]

    async def actions(self) -> list[ActionInfo]:
        """Lists the actions under way, the oldest first."""
        fields = _wire.List(subject=ListSubject.QUERIES)
        entries = await self._list(fields, _wire.QueryEntry)
        return sorted(
            (ActionInfo._of(one) for one in entries if one.stage == _wire.ActionStage.UNDER_WAY),
            key=lambda one: one.query,
        )

    async def objects(self) -> list[ObjectInfo]:
        """Lists all objects that were declared, or that have delegates of their own."""
        fields = _wire.List(subject=ListSubject.OBJECTS)
        return [ObjectInfo._of(one) for one in await self._list(fields, _wire.ObjectEntry)]

    async def accounts(self) -> list[AccountInfo]:
        """Lists each user's use and limit of the shared resources, sorted by user.

        If the policy does not allow this connection to list everything, the list has only the user
        of the connection.
        """
        fields = _wire.List(subject=ListSubject.ACCOUNTS)
        return [AccountInfo._of(one) for one in await self._list(fields, _wire.AccountEntry)]

    async def protocols(self) -> list[ProtocolInfo]:
        """Lists all protocols that the bus knows."""
        fields = _wire.List(subject=ListSubject.PROTOCOLS)
        return [ProtocolInfo._of(one) for one in await self._list(fields, _wire.ProtocolEntry)]

    async def introspect(self, what: str) -> list[MemberInfo]:
        """Lists the methods of a protocol, including inherited ones.

        `what` is a declared object, or the name of a protocol. Raises `TribuneError` with
        `NOT_FOUND` or `UNKNOWN_PROTOCOL` if `what` is neither.
        """
        if not what:
            raise TribuneError(Code.INVALID_OBJECT, "the name of the object or protocol is empty")
        fields = _wire.List(subject=ListSubject.MEMBERS)
        found = await self._list(fields, _wire.MemberEntry, object=encoded_object(what))
        return [MemberInfo._of(one) for one in found]

    async def explain(self, name: str, object: str = "") -> Explanation:
        """Returns the holds and delegates that a query would meet, without asking any delegate."""
        explanation = Explanation()
        fields = _wire.List(subject=ListSubject.CHAIN)
        for entry in await self._entries(fields, encoded_name(name), encoded_object(object)):
            match entry.content:
                case _wire.HoldEntry() as hold:
                    explanation.holds.append(HoldInfo._of(hold))
                case _wire.MissingEntry() as missing:
                    explanation.missing.append(missing.name)
                case _wire.DelegateEntry() as delegate:
                    explanation.delegates.append(DelegateInfo._of(delegate))
                case _wire.ObjectEntry() as declared:
                    explanation.protocol = declared.protocol_name or None
        return explanation

    async def policy_decision(
        self,
        action: str,
        pattern: str,
        object: str = "",
        *,
        connection: str | None = None,
    ) -> PolicyDecision:
        """Returns the policy's decision about an action, with its reason.

        - `action`: an action of tribune-policy(5), such as ``hold``.
        - `pattern`: the name of a message, or the pattern of a registration.
        - `connection`: the connection that would act, ``:N``; None for this connection.

        Raises `TribuneError`: `NOT_FOUND` if the connection does not exist, or this process may not
        see it; `REFUSED` if the action does not exist.
        """
        number = 0
        if connection is not None:
            digits = connection.removeprefix(":")
            if not (digits.isascii() and digits.isdigit()):
                raise TribuneError(Code.NOT_FOUND, f'"{connection}" is not the id of a connection')
            number = int(digits)
        fields = _wire.List(
            subject=ListSubject.ACCESS,
            connection=number,
            question=_wire.AccessQuestion(action=action, subject=None),
        )
        decision: PolicyDecision | None = None
        entries = await self._entries(fields, encoded_pattern(pattern), encoded_object(object))
        for entry in entries:
            if isinstance(entry.content, _wire.AccessEntry):
                decision = PolicyDecision._of(entry.content)
            elif isinstance(entry.content, _wire.NearMissEntry) and decision is not None:
                line = PolicyLine._of(entry.content.line)
                decision.near_misses.append((line, entry.content.lacks))
        if decision is None:
            raise violation("the bus reports no decision")
        return decision
