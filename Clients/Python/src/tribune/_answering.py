# SPDX-License-Identifier: Apache-2.0
"""Attaches delegates, takes holds, and declares protocols."""

from __future__ import annotations

import warnings
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
    """Finds a coroutine method that the program may have meant as `answer` or `received`.

    Returns None if the delegate overrides `answer` or `received`.
    """
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


class _Decorator:
    """The decorator that `Answering.delegate` returns."""

    def __init__(
        self, attach: Callable[[Callable[[Question], Awaitable[Answer]]], Attachment]
    ) -> None:
        self._attach = attach
        self._was_used = False

    def __call__(self, function: Callable[[Question], Awaitable[Answer]]) -> Attachment:
        self._was_used = True
        return self._attach(function)

    def __del__(self) -> None:
        # A decorator without a function has attached no delegate.
        if not self._was_used:
            warnings.warn(
                "a delegate was given no function", RuntimeWarning, stacklevel=1, source=self
            )


class Answering:
    """The methods of `Bus` to attach delegates, take holds and declare protocols."""

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
        """Attaches the decorated coroutine function as a delegate for questions with these names.

        ``@bus.delegate("host.shouldReboot")`` turns the function into an `Attachment`. The
        delegate is in force for everything that this connection sends from then on. After
        `Attachment.ready`, it is in force for all connections. If the bus refuses the delegate and
        no task waits in `ready`, the connection ends with the reason: the program must notice a
        missing veto. The parameters, and the errors for invalid ones, are those of `attach`.
        """
        if not all(isinstance(pattern, str) for pattern in patterns):
            # In ``@bus.delegate`` without parentheses, `patterns` is the function to attach.
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

        return _Decorator(attach)

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
        - `patterns`: patterns for the names that the delegate responds to, 1 to 128.
        - `object`: the object whose chain the delegate joins; empty for all objects.
        - `order`: the place in the chain. The bus asks delegates with lower numbers first, and
          delegates with equal numbers in the order of attaching.
        - `on_failure`: whether a failure (timeout, lost connection or error) vetoes or abstains.
        - `timeout`: seconds that the delegate has to answer. The default is the bus's: 5 s, unless
          it is configured otherwise. All delegates of a connection together get at most 64
          questions at a time, and at most 30 from one user, or 60 from root. Further questions wait
          on the bus, but their timeouts already run.
        - `label`: the delegate's name in verdicts, at most 255 bytes.
        - `protocols`: the protocols to which the delegate conforms, at most 32.
        - `replace`: if true, the delegate replaces the other delegates of the object, as Cocoa's
          ``setDelegate:`` does. If `object` is empty, it replaces the delegates without an object
          that respond to some of the same names. A replaced delegate learns of its successor
          (`Delegate.replaced`).

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`, `LIMIT_EXCEEDED`,
        `NOT_PERMITTED`, `UNKNOWN_PROTOCOL`, `NOT_CONFORMING`, `CONNECTION_LOST`; `CONFLICT` if this
        connection has a delegate with the same object, names and label: detach that one first.
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
        """Asks for more time on behalf of a delegate of this user, perhaps on another connection.

        Use this method in programs that a delegate starts. A delegate itself uses `Question.defer`.
        The default of `delegate`, 0, means the only delegate of this user that the query waits for.
        Raises `TribuneError`: `NOT_FOUND` if the query does not wait for the delegate; `REFUSED` if
        `delegate` is 0, and the query waits for several delegates of this user.
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

        The hold vetoes every query for permission whose name matches `pattern`, and whose object is
        `object` or empty. If `object` is empty, the hold concerns all objects. The hold lasts until
        it is released or expires, or until the connection ends.

        The hold begins when the program enters it, or calls `Hold.take`.

        - `pattern`: a question, which ends in *should* and a verb, or a pattern that ends in ``*``;
          ``**`` matches every question.
        - `why`: the reason in verdicts, at most 4,096 bytes.
        - `label`: the holder's name in verdicts and lists, at most 255 bytes.
        - `expires_in`: seconds until the hold expires; None for never.

        Raises `TribuneError`: `INVALID_PATTERN`, `INVALID_OBJECT`; `REFUSED` if the reason is
        blank, or `expires_in` is not positive. Entering also raises the refusals of the bus.
        """
        if not pattern:
            raise TribuneError(Code.INVALID_PATTERN, "the name is empty: write ** to hold all")
        if not why.strip():
            raise TribuneError(Code.REFUSED, "a hold needs a reason")
        if expires_in is not None and not expires_in > 0:
            raise TribuneError(Code.REFUSED, "a hold must expire in the future")
        return Hold(HoldTerm(pattern, object, why, label, expires_in), self._link, self)

    def declare(self, object: str, protocol: str, definitions: str = "") -> Declaration:
        """Declares the protocol of an object's delegates: ``async with bus.declare(...)``.

        While the declaration is in force, delegates that attach to the object must conform to the
        protocol. Queries and notifications about the object must be in the protocol, too.

        `definitions` are protocols in the language of ``.protocol`` files, at most 65,536 bytes.
        They last as long as the declaration. Raises `TribuneError`: `INVALID_OBJECT`, also for an
        empty object. Entering raises `UNKNOWN_PROTOCOL`, `INVALID_PROTOCOL`, `CONFLICT`,
        `NOT_PERMITTED`.
        """
        if not object:
            raise TribuneError(Code.INVALID_OBJECT, "a declaration needs an object")
        return Declaration(DeclarationTerm(object, protocol, definitions), self._link, self)

    def define(self, definitions: str) -> Declaration:
        """Defines protocols without declaring an object. All else is as for `declare`."""
        if not definitions:
            raise TribuneError(Code.INVALID_PROTOCOL, "the definitions are empty")
        return Declaration(DeclarationTerm("", "", definitions), self._link, self)
