# SPDX-License-Identifier: Apache-2.0
"""Asks delegates, and guards actions."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final

from . import _wire
from ._errors import Code, TribuneError, violation
from ._messages import (
    AwaitedReply,
    Mode,
    Progress,
    QueryReply,
    UserInfo,
    Verdict,
    Vetoed,
    described,
    encoded_user_info,
    milliseconds,
    shortened,
)
from ._names import ActionNames, encoded_name, encoded_object
from ._posting import Posting
from ._registrations import ActionTerm
from ._terms import Action, Begun

_log: Final = logging.getLogger("tribune")
# The longest time to announce the end of an action, in seconds.
_ANNOUNCING: Final = 5.0


class Asking(Posting):
    """The methods of `Bus` to ask queries and guard actions."""

    async def ask(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        mode: Mode = Mode.PARALLEL,
        default: bool = True,
        override: str | None = None,
        dry_run: bool = False,
        slots: int | None = None,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Verdict:
        """Asks the delegates of an object, and those without an object, before an action.

        If no delegate responds to the name, the verdict is `default`, and comes at once. A matching
        hold is a veto. The absence of a delegate that the configuration requires is a veto, too.
        Cancelling the task cancels the query on the bus.

        - `name`: the question, such as ``window.shouldClose``.
        - `object`: the object whose delegates are asked; if it is empty, the delegates of all
          objects.
        - `deadline`: the longest time until the verdict in seconds, at most `BusInfo.deadline_max`.
          The default is the bus's: 30 s, unless it is configured otherwise.
        - `mode`: whether the bus asks all delegates at once, and what ends the query.
        - `default`: whether the action is allowed if no delegate approves or vetoes.
        - `override`: the reason for overriding vetoes, at most 4,096 bytes; None to respect them.
        - `dry_run`: whether to tell the delegates that no action will follow.
        - `slots`: how many such actions may be under way at the same time; None for any number. If
          so many with this name and object are under way, each of them vetoes.
        - `parent`: the query that the caller is answering as a delegate (`Question.query`).
        - `progress`: a function that is called when a delegate is asked, defers, or has an outcome.
          It must not block.

        Raises `TribuneError`: `INVALID_NAME`, also if the name does not end in *should* and a verb,
        or is a misspelt shared name such as ``host.reboot``; `RESERVED_NAME`, `INVALID_OBJECT`,
        `PAYLOAD_TOO_LONG`, `LIMIT_EXCEEDED`, `RECURSION`, `NOT_PERMITTED`, `UNKNOWN_NAME`,
        `INVALID_PARAMETER`, `CONNECTION_LOST`; `REFUSED` for an override without a reason, or a
        deadline that is too long.
        """
        fields = self._question(deadline, mode, default, override, slots, parent)
        if dry_run:
            fields.flags |= _wire.QueryFlags.IS_DRY_RUN
        return await self._ask(fields, name, user_info, object, progress)

    async def begin(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        mode: Mode = Mode.PARALLEL,
        default: bool = True,
        override: str | None = None,
        slots: int | None = None,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Begun:
        """Asks, and begins the action in the same step if the verdict allows it.

        While the action is under way, the bus lists it (`Bus.actions`), and a new hold learns that
        it is too late for this action (`Hold.late`). After a veto, the returned action is None. The
        parameters and the errors are those of `ask`.
        """
        fields = self._question(deadline, mode, default, override, slots, parent)
        fields.flags |= _wire.QueryFlags.BEGINS
        term = ActionTerm(encoded_name(name), encoded_object(object))
        verdict = await self._ask(fields, name, user_info, object, progress, term)
        return Begun(verdict, Action(term, self._link, self) if verdict else None)

    async def query(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> QueryReply:
        """Asks the delegates for a value, one after the other, until one gives a value.

        If no delegate gives a value, that is no error: `QueryReply.value` is None, and the outcomes
        have the reasons. Holds do not veto value queries, so the name of a question for permission
        raises `INVALID_NAME`. The other parameters and errors are those of `ask`.
        """
        fields = self._value_query(_wire.QueryMode.FIRST, deadline, parent)
        return await self._query(fields, name, user_info, object, progress)

    async def collect(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        parent: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> QueryReply:
        """Asks the delegates for a value, all at once, and collects every value.

        All else is as for `query`.
        """
        fields = self._value_query(_wire.QueryMode.COLLECT, deadline, parent)
        return await self._query(fields, name, user_info, object, progress)

    @staticmethod
    def _question(
        deadline: float | None,
        mode: Mode,
        default: bool,
        override: str | None,
        slots: int | None,
        parent: int | None,
    ) -> _wire.Ask:
        if override is not None and not override.strip():
            raise TribuneError(Code.REFUSED, "an override needs a reason")
        if slots is not None and slots < 1:
            raise TribuneError(Code.REFUSED, "an action needs at least one slot")
        if not isinstance(default, bool):
            raise TypeError("default is True (allowed) or False (vetoed)")
        return _wire.Ask(
            deadline=milliseconds(deadline),
            mode=_wire.QueryMode[mode.name],
            fallback=_wire.VerdictKind.ALLOWED if default else _wire.VerdictKind.VETOED,
            parent=parent or 0,
            flags=_wire.QueryFlags(0) if override is None else _wire.QueryFlags.OVERRIDES,
            override_reason=shortened(override).decode() if override else "",
            slots=slots or 0,
        )

    @staticmethod
    def _value_query(
        mode: _wire.QueryMode, deadline: float | None, parent: int | None
    ) -> _wire.Ask:
        return _wire.Ask(deadline=milliseconds(deadline), mode=mode, parent=parent or 0)

    async def _query(
        self,
        fields: _wire.Ask,
        name: str,
        user_info: UserInfo,
        object: str,
        progress: Callable[[Progress], object] | None,
    ) -> QueryReply:
        verdict = await self._ask(fields, name, user_info, object, progress)
        return QueryReply(
            verdict.query, verdict.outcomes, verdict.omitted_count, verdict.similar_name
        )

    async def _ask(
        self,
        fields: _wire.Ask,
        name: str,
        user_info: UserInfo,
        object: str,
        progress: Callable[[Progress], object] | None,
        action: ActionTerm | None = None,
    ) -> Verdict:
        if progress is not None:
            fields.flags |= _wire.QueryFlags.WANTS_PROGRESS
        verdict = await self._link.request(
            fields,
            name=encoded_name(name),
            object=encoded_object(object),
            payload=encoded_user_info(user_info),
            deadline=fields.deadline,
            is_taken_back=True,
            progress=progress,
            action=action,
        )
        if not isinstance(verdict, Verdict):
            raise violation("the bus answered a query without a verdict")
        return verdict

    @contextlib.asynccontextmanager
    async def guard(
        self,
        action: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        mode: Mode = Mode.ALL,
        default: bool = True,
        slots: int | None = None,
        wait: float | None = None,
        on_missing: Callable[[AwaitedReply], object] | None = None,
    ) -> AsyncIterator[Verdict]:
        """Guards an action as Cocoa does: should, will, the body, did.

        ``async with bus.guard("window.close"): ...`` asks ``window.shouldClose``. After a veto,
        `guard` raises `Vetoed`, and the body does not run. Otherwise, `guard` posts
        ``window.willClose``, runs the body, and posts ``window.didClose``. If the body raises an
        exception, `guard` posts ``window.didFailToClose`` instead, with at most 4,096 bytes of the
        exception's text under ``error``. Until the ``did`` post, the action is under way, as after
        `begin`. `guard` can also decorate a coroutine function.

        `wait` is the longest time to wait for the awaited observers of ``will``, in seconds; with
        None, `guard` does not wait for them. If some observers do not acknowledge, `guard` calls
        `on_missing` with the reply, and then runs the body. The other parameters are those of
        `ask`. If `guard` cannot announce the end of the action within 5 s, it logs a warning.

        Raises `Vetoed`, and `TribuneError` as `ask` and `post_awaited` do.
        """
        names = ActionNames(action)
        payload = encoded_user_info(user_info)
        verdict, begun = await self.begin(
            names.should,
            payload,
            object=object,
            deadline=deadline,
            mode=mode,
            default=default,
            slots=slots,
        )
        if begun is None:
            raise Vetoed(action, verdict)
        try:
            if wait is None:
                await self.post_acknowledged(names.will, payload, object=object)
            else:
                reply = await self.post_awaited(names.will, payload, object=object, deadline=wait)
                if not reply and on_missing is not None:
                    on_missing(reply)
            yield verdict
        except BaseException as error:
            # Even if the call that posted ``will`` failed, observers may have received it, and must
            # learn of this end.
            failure = {"error": shortened(described(error)).decode()}
            await self._announce(names.did_fail, failure, object)
            raise
        else:
            await self._announce(names.did, payload, object)
        finally:
            with contextlib.suppress(TribuneError):
                await begun.end()

    async def _announce(self, name: str, user_info: UserInfo, object: str) -> None:
        try:
            async with asyncio.timeout(_ANNOUNCING):
                try:
                    await self.post_acknowledged(name, user_info, object=object)
                except TribuneError as error:
                    # The bus may have been killed before its confirmation, so the post is repeated.
                    if error.code is not Code.CONNECTION_LOST or self._link.has_ended:
                        raise
                    await self.post_acknowledged(name, user_info, object=object)
        except (TribuneError, TimeoutError) as error:
            _log.warning("%s could not be posted: %s", name, error or "the bus did not answer")
