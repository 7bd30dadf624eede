# SPDX-License-Identifier: Apache-2.0
"""Attaches delegates, takes holds, and declares protocols."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING

from . import _wire
from ._delegation import (
    Answer,
    AttachedDelegate,
    Attachment,
    Delegate,
    FailurePolicy,
    FunctionDelegate,
    Question,
)
from ._errors import Code, TribuneError
from ._messages import milliseconds, shortened
from ._registrations import DeclarationTerm, HoldTerm
from ._terms import Declaration, Hold
from ._wire import FrameFlags

if TYPE_CHECKING:
    from ._link import Link


def _misspelt(delegate: Delegate) -> str | None:
    """The coroutine method of a delegate that overrides none, and so lets everything pass."""
    own = {name for name in dir(delegate) if not name.startswith("_")} - set(dir(Delegate))
    overridden = (
        getattr(type(delegate), name) is not getattr(Delegate, name)
        or name in getattr(delegate, "__dict__", {})
        for name in ("answer", "received")
    )
    if any(overridden):
        return None
    kind = type(delegate)
    methods = (
        name
        for name in sorted(own | {"__call__"})
        if iscoroutinefunction(getattr(kind, name, None))
    )
    return next(methods, None)


class Answering:
    """How `Bus` takes part in what others do."""

    _link: Link

    def delegate(
        self,
        *patterns: str,
        object: str = "",
        order: int = 0,
        on_failure: FailurePolicy = FailurePolicy.VETO,
        timeout: float | None = None,
        label: str = "",
        protocols: Sequence[str] = (),
    ) -> Callable[[Callable[[Question], Awaitable[Answer]]], Attachment]:
        """Attaches the decorated coroutine function, which answers the questions under these names.

        ``@bus.delegate("host.shouldReboot")`` makes the function's name an `Attachment`. It is in
        force for all that this connection sends after it; `Attachment.ready` waits until it is in
        force for everybody. If the bus refuses it and nobody waits, the connection ends with
        the reason: a veto that is missing must not go unnoticed. The parameters are those of
        `attach`, and so are the errors of wrong ones.
        """
        if not all(isinstance(pattern, str) for pattern in patterns):
            # Without parentheses, the delegate would not be attached, and never veto.
            raise TypeError('patterns are text: @bus.delegate("host.shouldReboot")')

        def attach(function: Callable[[Question], Awaitable[Answer]]) -> Attachment:
            attached = AttachedDelegate(
                FunctionDelegate(function),
                patterns,
                object,
                order=order,
                on_failure=on_failure,
                timeout_ms=milliseconds(timeout),
                label=label,
                protocols=protocols,
                is_set=False,
            )
            self._link.register(attached)
            return Attachment(attached, self._link, self)

        return attach

    async def attach(
        self,
        delegate: Delegate | Callable[[Question], Awaitable[Answer]],
        *patterns: str,
        object: str = "",
        order: int = 0,
        on_failure: FailurePolicy = FailurePolicy.VETO,
        timeout: float | None = None,
        label: str = "",
        protocols: Sequence[str] = (),
        replace: bool = False,
    ) -> Attachment:
        """Attaches a delegate to an object's chain, until it is detached or the connection ends.

        - `delegate`: a `Delegate`, or a coroutine function that answers questions.
        - `patterns`: the names that it responds to, 1 to 128.
        - `object`: whose chain it joins; empty for any object's.
        - `order`: the place in the chain: lower is earlier, and equals go by time of attaching.
        - `on_failure`: what a timeout, a lost connection or an error counts as.
        - `timeout`: seconds that it may be silent; by default the bus's (5 s unless configured
          otherwise). The delegates of a connection have at most 64 questions at a time, 30 of one
          user or 60 of root; others wait on the bus, and their time runs.
        - `label`: its name in verdicts, at most 255 bytes.
        - `protocols`: the protocols that it conforms to, at most 32.
        - `replace`: makes it the only one of the object, as Cocoa's ``setDelegate:`` does. Without
          an object, it replaces those without an object that respond to some of the same names.
          The others learn it (`Delegate.replaced`).

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`, `LIMIT_EXCEEDED`,
        `NOT_PERMITTED`, `UNKNOWN_PROTOCOL`, `NOT_CONFORMING`, `CONNECTION_LOST`; `CONFLICT` when a
        delegate of this connection, perhaps the same one, responds to exactly these names of the
        object under this label: detach that first.
        """
        if isinstance(delegate, Delegate) and (name := _misspelt(delegate)):
            raise TypeError(
                f"{type(delegate).__name__} has {name}, but neither answer nor received, "
                "so it would abstain from every question"
            )
        attached = AttachedDelegate(
            delegate if isinstance(delegate, Delegate) else FunctionDelegate(delegate),
            patterns,
            object,
            order=order,
            on_failure=on_failure,
            timeout_ms=milliseconds(timeout),
            label=label,
            protocols=protocols,
            is_set=replace,
        )
        self._link.register(attached)
        return await Attachment(attached, self._link, self).__aenter__()

    async def defer(
        self, query: int, extension: float, *, delegate: int = 0, status: str = ""
    ) -> None:
        """Asks for more time on behalf of a delegate of this user, perhaps of another connection.

        It is meant for programs that a delegate runs; a delegate itself uses `Question.defer`.
        `delegate` 0 is the only delegate of this user that the query waits for. Raises
        `TribuneError` with `NOT_FOUND` when the query does not wait for that delegate.
        """
        await self._link.request(
            _wire.Defer(query=query, delegate=delegate, extension=milliseconds(extension)),
            payload=shortened(status),
            flags=FrameFlags.ACKNOWLEDGE,
        )

    def hold(
        self,
        pattern: str,
        *,
        why: str,
        object: str = "",
        label: str = "",
        expires_in: float | None = None,
    ) -> Hold:
        """A standing veto: ``async with bus.hold("host.shouldReboot", why="a restore"): ...``.

        It vetoes at once every query for permission whose name matches `pattern` and whose object
        is `object` (any if it is empty) or empty, until it is released, until it expires, or until
        the connection ends.

        The veto begins when the hold is entered or taken (`Hold.take`).

        - `pattern`: a question, which ends in *should* and a verb, or a pattern that ends in ``*``;
          ``**`` matches every question.
        - `why`: the reason in verdicts, at most 4,096 bytes.
        - `label`: who holds, in verdicts and lists; at most 255 bytes.
        - `expires_in`: seconds until it expires; None for never.

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`; `REFUSED` without a reason, or
        if the time is not positive. Entering raises the refusals of the bus, too.
        """
        if not pattern:
            raise TribuneError(Code.INVALID_PATTERN, "the name is empty: write ** to hold all")
        if not why.strip():
            raise TribuneError(Code.REFUSED, "a hold needs a reason")
        if expires_in is not None and not expires_in > 0:
            raise TribuneError(Code.REFUSED, "a hold must expire in the future")
        return Hold(HoldTerm(pattern, object, why, label, expires_in), self._link, self)

    def declare(self, object: str, protocol: str, definitions: str = "") -> Declaration:
        """Declares the protocol of an object's delegates, used as ``async with bus.declare(...)``.

        From when it is entered until its end, delegates that attach to the object must conform to
        the protocol, and queries and notifications about the object must be in it.

        `definitions` are protocols in the language of ``.protocol`` files, at most 65,536 bytes;
        they last as long as the declaration. Raises `TribuneError`: `INVALID_OBJECT`, also for an
        empty one; entering raises `UNKNOWN_PROTOCOL`, `INVALID_PROTOCOL`, `CONFLICT`,
        `NOT_PERMITTED`.
        """
        if not object:
            raise TribuneError(Code.INVALID_OBJECT, "a declaration needs an object")
        return Declaration(DeclarationTerm(object, protocol, definitions), self._link, self)

    def define(self, definitions: str) -> Declaration:
        """Defines protocols without declaring an object; else as `declare`."""
        if not definitions:
            raise TribuneError(Code.INVALID_PROTOCOL, "the definitions are empty")
        return Declaration(DeclarationTerm("", "", definitions), self._link, self)
