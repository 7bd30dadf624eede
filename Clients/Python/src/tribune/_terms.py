# SPDX-License-Identifier: Apache-2.0
"""Registrations that a program enters and leaves: holds, declarations and actions."""

from __future__ import annotations

import asyncio
import warnings
from typing import Generic, NamedTuple, Self, TypeVar

from . import _wire
from ._errors import Code, TribuneError
from ._link import Link
from ._messages import Verdict, shortened
from ._registrations import ActionTerm, DeclarationTerm, HoldTerm, Registration

_Term = TypeVar("_Term", bound=Registration)


class _Scope(Generic[_Term]):
    """A registration that lasts from entering to leaving. It can be entered only once."""

    def __init__(self, term: _Term, link: Link, bus: object) -> None:
        self._term = term
        self._link = link
        # Keeps the connection open until the bus has confirmed the end.
        self._bus = term.bus = bus
        self._was_entered = False
        self._was_left = False

    def __del__(self) -> None:
        # A hold that was never entered has no effect, so warn, as Python does for a coroutine that
        # was never awaited.
        if not self._was_entered:
            what = type(self).__name__.lower()
            warnings.warn(f"a {what} was never entered", RuntimeWarning, stacklevel=1, source=self)

    async def _begin(self) -> None:
        if self._was_entered:
            raise RuntimeError("it can be entered once")
        self._was_entered = True
        self._term.start()
        self._link.register(self._term)
        await self._term.wait(self._link)

    async def _finish(self) -> None:
        self._was_left = True
        try:
            await self._link.take_back(self._term)
        finally:
            self._bus = None

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._finish()


class Hold(_Scope[HoldTerm]):
    """A standing veto; see `Bus.hold`. Use it with ``async with``, or with `take` and `release`.

    If the connection ends during the body, so does the hold. Leaving ``async with`` then raises
    `TribuneError` with `CONNECTION_LOST`.

    Once the hold is taken, it stays in force, and keeps the connection open, even if the program
    drops this object and the `Bus`.

    After an interruption, this object takes the hold again. A bus that was restarted with its state
    keeps the hold in between. Under a bus that was restarted without its state, the hold has no
    effect until this process has taken it again, usually some milliseconds later. If the
    veto must be certain during that time too, configure a required delegate (``RequireDelegate=``).
    Its absence is a veto.
    """

    @property
    def id(self) -> int:
        """The hold's id in verdicts; 0 until it is taken. It changes after an interruption."""
        return self._term.id

    @property
    def expires_in(self) -> float | None:
        """Seconds until the hold expires; None for never."""
        return self._term.expires_in

    @property
    def is_shortened(self) -> bool:
        """True if the bus ends the hold earlier than the program asked (``HoldMaxSec=``)."""
        return self._term.is_shortened

    @property
    def late(self) -> int:
        """The number of actions under way that had begun before the hold."""
        return self._term.late

    async def settled(self) -> bool:
        """Waits for the end of the actions that had begun before the hold.

        Returns True at once if there are no such actions, and False if the hold has ended. A bus
        that was restarted without its state learns of an action when the owner has reconnected, up
        to 5 s later.
        """
        return await self._term.settled()

    async def take(self) -> Self:
        """Takes the hold, and waits until the bus has it. Raises `TribuneError`."""
        await self._begin()
        return self

    async def update(self, why: str) -> None:
        """Changes the reason in verdicts and lists, such as *backup at 40 %*.

        Observers of ``tribune.hold.didChange`` learn of the change. The change does not wake tasks
        that wait for the end of the hold. Raises `TribuneError`: `REFUSED` if the reason is blank,
        `NOT_FOUND` if the hold has ended, `LIMIT_EXCEEDED`, and `CONNECTION_LOST`. After
        `CONNECTION_LOST`, the hold can have the old or the new reason.
        """
        if not why.strip():
            raise TribuneError(Code.REFUSED, "a hold needs a reason")
        payload = shortened(why)
        await self._link.request(_wire.Amend(target=self._term.serial), payload=payload)
        self._term.payload = payload

    async def release(self) -> None:
        """Ends the hold. Does nothing if it was released, or has expired.

        Cancelling the task does not stop the release. Raises `TribuneError` with `CONNECTION_LOST`.
        The hold has ended in this case, too.
        """
        await self._finish()

    async def __aexit__(self, *error: object) -> None:
        ended = self._term.ended
        is_lost = not self._was_left and ended.done() and not ended.result()
        await self._finish()
        if is_lost and error[0] is None:
            raise TribuneError(
                Code.CONNECTION_LOST, "the hold ended before the work that it was for"
            )

    async def expired(self) -> bool:
        """Waits until the hold has ended, and returns whether it has expired."""
        return await asyncio.shield(self._term.ended)


class Declaration(_Scope[DeclarationTerm]):
    """A declaration; see `Bus.declare`. Use it with ``async with``, or `make` and `withdraw`."""

    async def make(self) -> Self:
        """Makes the declaration, and waits until the bus has it. Raises `TribuneError`."""
        await self._begin()
        return self

    async def withdraw(self) -> None:
        """Ends the declaration.

        Definitions that other declarations use stay valid until those declarations end.
        """
        await self._finish()


class Action:
    """An action under way; see `Bus.begin`. It lasts until `end`, or until the connection ends.

    It can also be used with ``async with``. After an interruption, the next bus learns of the
    action.
    """

    def __init__(self, term: ActionTerm, link: Link, bus: object) -> None:
        self._term = term
        self._link = link
        # Keeps the connection open.
        self._bus: object = bus
        term.bus = bus

    async def end(self) -> None:
        """Tells the bus that the action has ended, done or failed. A second call has no effect.

        Cancelling the task does not stop the report. Raises `TribuneError` with `CONNECTION_LOST`.
        The action has ended in this case, too.
        """
        try:
            await self._link.take_back(self._term)
        finally:
            self._bus = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()


class Begun(NamedTuple):
    """A verdict, and the action that has begun with it. True if the verdict allows the action."""

    verdict: Verdict
    action: Action | None

    def __bool__(self) -> bool:
        return bool(self.verdict)
