# SPDX-License-Identifier: Apache-2.0
"""The questions that the delegates of a connection are answering."""

from __future__ import annotations

import asyncio
import logging
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from . import _wire
from ._callbacks import report
from ._delegation import (
    AttachedDelegate,
    Conclusion,
    Ending,
    Question,
    Value,
    Veto,
    _Abstention,
)
from ._errors import Code, TribuneError, too_long
from ._frame import encode
from ._messages import described, encoded_user_info, milliseconds, shortened

if TYPE_CHECKING:
    from ._link import Link

_log: Final = logging.getLogger("tribune")
# Questions beyond this number fail at once, because each open question needs a task.
QUESTIONS_MAX: Final = 65_536


class OpenQuestion:
    """A question that the bus has not concluded yet, and the task that answers it."""

    def __init__(
        self, question: Question, attached: AttachedDelegate, questions: Questions, link: Link
    ) -> None:
        self.question = question
        self.attached = attached
        self._questions = questions
        self._ending: asyncio.Future[Ending] = link.loop.create_future()
        self._is_answered = False
        self._is_withdrawn = False
        question._open = self
        self._task = link.start(self._run())

    @property
    def key(self) -> tuple[int, int]:
        """The ids of the query and the delegate."""
        return self.question.query, self.question.delegate

    async def _run(self) -> None:
        await self._answer()
        try:
            ending = await self._ending
        except asyncio.CancelledError:
            return
        try:
            await self.attached.delegate.concluded(Conclusion(self.question.query, ending))
        except Exception as error:
            report("a delegate failed to conclude a question", error)

    async def _answer(self) -> None:
        try:
            answer: Any = self.attached.delegate.answer(self.question)
            # A veto counts even if ``async`` is missing in the definition of `answer`.
            kind, payload = _encoded(await answer if isawaitable(answer) else answer)
        except asyncio.CancelledError as error:
            if self._is_withdrawn:
                self._task.uncancel()
                return
            self._fail(error)
            if self._task.cancelling():
                # This task itself is cancelled, not only a task that the delegate awaits.
                raise
        except Exception as error:
            self._fail(error)
        else:
            self._send(kind, payload)

    def _fail(self, error: BaseException) -> None:
        if not self._task.cancelling():
            _log.error("a delegate failed to answer %s", self.question.name, exc_info=error)
        self._send(_wire.AnswerKind.FAILED, shortened(described(error)))

    def _send(self, kind: _wire.AnswerKind, payload: bytes) -> None:
        if not self._is_withdrawn:
            self._is_answered = True
            self._questions.answer(self, kind, payload)

    def defer(self, extension: float, status: str) -> None:
        """Asks for more time."""
        if self._is_answered or self._is_withdrawn:
            raise TribuneError(
                Code.NOT_FOUND, f"query {self.question.query} does not wait for this answer"
            )
        self._questions.defer(self, extension, status)

    def conclude(self, ending: Ending | None) -> None:
        """Handles the end of the query. The delegate learns `ending`, unless this is None."""
        if not self._is_answered and not self._is_withdrawn:
            self._is_withdrawn = True
            self._task.cancel()
        if self._ending.done():
            return
        if ending is None:
            self._ending.cancel()
        else:
            self._ending.set_result(ending)


class Questions:
    """The open questions of a link, by query and delegate."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._open: dict[tuple[int, int], OpenQuestion] = {}

    def ask(self, question: Question, attached: AttachedDelegate) -> None:
        """Passes a question of the bus to a delegate."""
        # The bus asks each delegate once. If the bus repeats a question, the repetition is ignored.
        key = question.query, question.delegate
        if key in self._open:
            return
        if len(self._open) < QUESTIONS_MAX:
            self._open[key] = OpenQuestion(question, attached, self, self._link)
        else:
            reason = f"{QUESTIONS_MAX} questions wait for answers of this process"
            self._send(key, _wire.AnswerKind.FAILED, reason.encode())

    def answer(self, question: OpenQuestion, kind: _wire.AnswerKind, payload: bytes) -> None:
        """Sends a delegate's answer."""
        if self._open.get(question.key) is not question:
            return
        limit = self._link.payload_max
        if len(payload) > limit:
            kind, payload = _wire.AnswerKind.FAILED, str(too_long(len(payload), limit)).encode()
        self._send(question.key, kind, payload)

    def _send(self, key: tuple[int, int], kind: _wire.AnswerKind, payload: bytes) -> None:
        query, delegate = key
        fields = _wire.Answer(query=query, delegate=delegate, answer=kind)
        self._link.send(encode(fields, payload=payload, serial=self._link.next_serial()))

    def defer(self, question: OpenQuestion, extension: float, status: str) -> None:
        """Asks for more time for a delegate."""
        self._link.require_open()
        query, delegate = question.key
        fields = _wire.Defer(query=query, delegate=delegate, extension=milliseconds(extension))
        frame = encode(fields, payload=shortened(status), serial=self._link.next_serial())
        self._link.send(frame)

    def conclude(self, concluded: _wire.Concluded) -> None:
        """Handles the end of a query that has asked a delegate."""
        question = self._open.pop((concluded.query, concluded.delegate), None)
        if question is not None:
            question.conclude(Ending[concluded.conclusion.name])

    def withdraw(self, attached: AttachedDelegate, ending: Ending | None) -> None:
        """Ends the questions of a delegate that has left, and tells it `ending`, if any."""
        for key, question in list(self._open.items()):
            if question.attached is attached:
                del self._open[key]
                question.conclude(ending)

    def cancel(self) -> None:
        """Ends all questions, because the bus will not report how their queries end."""
        questions, self._open = self._open, {}
        for question in questions.values():
            question.conclude(Ending.CANCELLED)


def _text(reason: object) -> str:
    """Converts a veto's reason to text. The veto counts even if the conversion fails."""
    try:
        return "" if reason is None else str(reason)
    except Exception:
        return type(reason).__name__


def _encoded(answer: Any) -> tuple[_wire.AnswerKind, bytes]:
    match answer:
        case True:
            return _wire.AnswerKind.APPROVE, b""
        case False:
            return _wire.AnswerKind.VETO, b""
        case Veto(reason):
            return _wire.AnswerKind.VETO, shortened(_text(reason))
        case Value(value):
            return _wire.AnswerKind.VALUE, encoded_user_info(value)
        case _Abstention.ABSTAIN:
            return _wire.AnswerKind.ABSTAIN, b""
        case _:
            raise TypeError(f"a delegate cannot answer {answer!r}")
