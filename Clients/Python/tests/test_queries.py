# SPDX-License-Identifier: Apache-2.0
"""Asking and answering, with a real bus."""

from __future__ import annotations

import asyncio
import math
import os
import sys

import pytest
from conftest import DEADLINE, RunningBus

import tribune
from tribune import (
    Abstain,
    Answer,
    Code,
    Conclusion,
    Delegate,
    DelegateInfo,
    Delivery,
    Ending,
    FailurePolicy,
    Lost,
    Mode,
    Notification,
    OutcomeKind,
    Progress,
    Question,
    Stage,
    TribuneError,
    Value,
    Veto,
)


def answering(answer: Answer) -> tribune.Delegate:
    class Fixed(Delegate):
        async def answer(self, question: Question) -> Answer:
            return answer

    return Fixed()


class Recorder(Delegate):
    """Approves, and records everything that it receives."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[object] = asyncio.Queue()

    async def answer(self, question: Question) -> Answer:
        self.events.put_nowait(question)
        return True

    async def concluded(self, conclusion: Conclusion) -> None:
        self.events.put_nowait(conclusion)

    async def received(self, delivery: Delivery) -> None:
        self.events.put_nowait(delivery)

    async def replaced(self, delegate: DelegateInfo) -> None:
        self.events.put_nowait(delegate)


async def test_nobody_is_asked(bus: RunningBus) -> None:
    async with bus.connect() as one:
        verdict = await one.ask("nobody.shouldAct")
        assert verdict
        assert verdict.is_unanswered
        assert not verdict.similar_name
        assert not await one.ask("nobody.shouldAct", default=False)


@pytest.mark.parametrize("name", ["host.reboot", "host.shouldreboot", "a.willRun", "a.mayRun"])
async def test_a_name_that_is_never_asked_is_refused(bus: RunningBus, name: str) -> None:
    async with bus.connect() as one:
        for mode in Mode:
            with pytest.raises(TribuneError, match="is never asked: did you mean") as caught:
                await one.ask(name, mode=mode)
            assert caught.value.code is Code.INVALID_NAME


async def test_a_misspelt_name_has_a_similar_one(bus: RunningBus) -> None:
    async with bus.connect() as one:
        async with one.hold("nobody.shouldAnswer", why="test"):
            assert (await one.query("nobody.shouldanswer")).similar_name == "nobody.shouldAnswer"


async def test_a_decorated_function_vetoes(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as other:

        @one.delegate("deco.shouldReboot", label="backup")
        async def may_reboot(question: Question) -> Answer:
            assert question.name == "deco.shouldReboot"
            assert question.object == "host/1"
            assert question.json() == {"why": "kernel"}
            assert question.asker.pid == os.getpid()
            assert question.connection == other.id
            return Veto("the backup is at 40 %")

        await may_reboot.ready()
        verdict = await other.ask("deco.shouldReboot", {"why": "kernel"}, object="host/1")
        assert not verdict
        (outcome,) = verdict.outcomes
        assert outcome.kind is OutcomeKind.VETOED
        assert (outcome.label, outcome.reason) == ("backup", "the backup is at 40 %")
        assert outcome.delegate == may_reboot.id
        assert outcome.peer.pid == os.getpid()
        assert verdict.vetoes == (outcome,)
        await may_reboot.detach()
        assert await other.ask("deco.shouldReboot", object="host/1")


@pytest.mark.parametrize(
    ("answer", "is_allowed", "kind", "reason"),
    [
        (True, True, OutcomeKind.APPROVED, ""),
        (False, False, OutcomeKind.VETOED, ""),
        (Veto("no"), False, OutcomeKind.VETOED, "no"),
        (Veto("ä" * 3000), False, OutcomeKind.VETOED, "ä" * 2048),
        (Abstain, True, OutcomeKind.ABSTAINED, ""),
        (None, False, OutcomeKind.FAILED, "TypeError: a delegate cannot answer None"),
        (1, False, OutcomeKind.FAILED, "TypeError: a delegate cannot answer 1"),
        ("yes", False, OutcomeKind.FAILED, "TypeError: a delegate cannot answer 'yes'"),
    ],
)
async def test_each_answer_has_its_outcome(
    bus: RunningBus, answer: Answer, is_allowed: bool, kind: OutcomeKind, reason: str
) -> None:
    async with bus.connect() as one:
        async with await one.attach(answering(answer), "each.shouldAct"):
            verdict = await one.ask("each.shouldAct")
        assert verdict.is_allowed is is_allowed
        assert (verdict.outcomes[0].kind, verdict.outcomes[0].reason) == (kind, reason)


class Unprintable:
    def __str__(self) -> str:
        raise OSError("no text")


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (OSError("no disk"), "no disk"),
        (None, ""),
        (1, "1"),
        (b"x", "b'x'"),
        (Unprintable(), "Unprintable"),
    ],
)
async def test_a_veto_counts_whatever_its_reason_is(
    bus: RunningBus, reason: object, text: str
) -> None:
    veto = answering(Veto(reason))  # type: ignore[arg-type]
    async with bus.connect() as one:
        async with await one.attach(veto, "any.*", on_failure=FailurePolicy.ABSTAIN):
            verdict = await one.ask("any.shouldAct")
        assert not verdict
        assert (verdict.outcomes[0].kind, verdict.outcomes[0].reason) == (OutcomeKind.VETOED, text)


async def test_a_veto_counts_without_async(bus: RunningBus) -> None:
    class Plain(Delegate):
        def answer(self, question: Question) -> Answer:  # type: ignore[override]
            return False

    def veto(question: Question) -> Answer:
        return Veto("no")

    async with bus.connect() as one:
        for delegate in (Plain(), veto):
            async with await one.attach(
                delegate,  # type: ignore[arg-type]
                "plain.*",
                on_failure=FailurePolicy.ABSTAIN,
            ):
                verdict = await one.ask("plain.shouldAct")
            assert verdict.outcomes[0].kind is OutcomeKind.VETOED


# Earlier versions lack eager tasks.
if sys.version_info >= (3, 12):

    async def test_a_loop_that_starts_tasks_at_once_loses_no_answer(bus: RunningBus) -> None:
        async with bus.connect() as one:
            loop = asyncio.get_running_loop()
            loop.set_task_factory(asyncio.eager_task_factory)
            async with await one.attach(answering(Veto("no")), "eager.*"):
                verdict = await one.ask("eager.shouldAct")
            loop.set_task_factory(None)
            assert verdict.outcomes[0].kind is OutcomeKind.VETOED


async def test_an_exception_is_a_failure_and_is_logged(
    bus: RunningBus, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(question: Question) -> Answer:
        raise OSError("no disk")

    async with bus.connect() as one:
        async with await one.attach(failing, "fail.*", on_failure=FailurePolicy.ABSTAIN):
            verdict = await one.ask("fail.shouldAct")
        assert verdict
        assert verdict.outcomes[0].kind is OutcomeKind.FAILED
        assert verdict.outcomes[0].reason == "OSError: no disk"
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tribune", "ERROR")
    assert record.getMessage() == "a delegate failed to answer fail.shouldAct"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], OSError)


async def test_a_delegate_that_awaits_what_is_cancelled_has_failed(bus: RunningBus) -> None:
    endings: asyncio.Queue[Conclusion] = asyncio.Queue()

    class Awaiting(Delegate):
        async def answer(self, question: Question) -> Answer:
            inner = asyncio.create_task(asyncio.sleep(DEADLINE))
            inner.cancel()
            await inner
            return True

        async def concluded(self, conclusion: Conclusion) -> None:
            endings.put_nowait(conclusion)

    async with bus.connect() as one:
        async with await one.attach(Awaiting(), "awaiting.*", timeout=DEADLINE):
            verdict = await one.ask("awaiting.shouldAct")
            assert verdict.outcomes[0].kind is OutcomeKind.FAILED
            assert verdict.outcomes[0].reason == "CancelledError"
            assert await endings.get() == Conclusion(verdict.query, Ending.VETOED)


async def test_a_delegate_learns_how_the_query_ended(bus: RunningBus) -> None:
    recorder = Recorder()
    async with bus.connect() as one:
        async with (
            await one.attach(recorder, "end.*"),
            await one.attach(answering(Veto("no")), "end.*", label="other"),
        ):
            verdict = await one.ask("end.shouldAct", mode=Mode.ALL)
            assert [outcome.kind for outcome in verdict.outcomes] == [
                OutcomeKind.APPROVED,
                OutcomeKind.VETOED,
            ]
            question = await recorder.events.get()
            assert isinstance(question, Question)
            assert question.query == verdict.query
            assert await recorder.events.get() == Conclusion(verdict.query, Ending.VETOED)


async def test_a_query_that_is_cancelled_is_taken_back(bus: RunningBus) -> None:
    is_asked, is_cancelled = asyncio.Event(), asyncio.Event()

    class Slow(Recorder):
        async def answer(self, question: Question) -> Answer:
            is_asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                is_cancelled.set()
                raise
            return True

    slow = Slow()
    async with bus.connect() as one, bus.connect() as other:
        await one.attach(slow, "slow.*")
        asking = asyncio.create_task(other.ask("slow.shouldAct"))
        await is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await is_cancelled.wait()
        conclusion = await slow.events.get()
        assert isinstance(conclusion, Conclusion)
        assert conclusion.ending is Ending.CANCELLED
        assert (await other.own()).queries == 0


async def test_a_delegate_that_defers_is_waited_for(bus: RunningBus) -> None:
    goes_on = asyncio.Event()
    seen: list[Progress] = []

    def note(progress: Progress) -> None:
        seen.append(progress)
        if progress.stage is Stage.DEFERRED:
            goes_on.set()

    questions: list[Question] = []

    async def answer(question: Question) -> Answer:
        questions.append(question)
        question.defer(20, "saving")
        await goes_on.wait()
        return True

    async with bus.connect() as one, bus.connect() as other:
        await one.attach(answer, "defer.*", timeout=5, label="editor")
        assert await other.ask("defer.shouldClose", progress=note)
        assert [progress.stage for progress in seen] == [
            Stage.ASKED,
            Stage.DEFERRED,
            Stage.SETTLED,
        ]
        assert (seen[1].status, seen[1].label, seen[1].timeout) == ("saving", "editor", 20)
        assert seen[2].outcome is OutcomeKind.APPROVED
        with pytest.raises(TribuneError) as caught:
            questions[0].defer(1)
        assert caught.value.code is Code.NOT_FOUND


async def test_a_callback_that_fails_harms_nobody(bus: RunningBus) -> None:
    failures: list[object] = []

    def note(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        failures.append(context["exception"])

    def fail(progress: Progress) -> None:
        raise OSError("no screen")

    asyncio.get_running_loop().set_exception_handler(note)
    async with bus.connect() as one:
        await one.attach(answering(True), "careless.*")
        for _ in range(3):
            assert await one.ask("careless.shouldAct", progress=fail)
    assert len(failures) == 6


async def test_another_process_of_the_user_may_defer(bus: RunningBus) -> None:
    goes_on, is_asked = asyncio.Event(), asyncio.Queue[Question]()

    async def answer(question: Question) -> Answer:
        is_asked.put_nowait(question)
        await goes_on.wait()
        return True

    async with bus.connect() as one, bus.connect() as other:
        await one.attach(answer, "helper.*")
        asking = asyncio.create_task(other.ask("helper.shouldAct"))
        question = await is_asked.get()
        await other.defer(question.query, 10, status="still at it")
        goes_on.set()
        assert await asking
        with pytest.raises(TribuneError) as caught:
            await other.defer(question.query, 10)
        assert caught.value.code is Code.NOT_FOUND


async def test_a_silent_delegate_times_out(bus: RunningBus) -> None:
    async def silent(question: Question) -> Answer:
        await asyncio.Event().wait()
        return True

    async with bus.connect() as one:
        await one.attach(silent, "silent.*", timeout=0.01)
        verdict = await one.ask("silent.shouldAct")
        assert verdict.outcomes[0].kind is OutcomeKind.TIMED_OUT
        assert not verdict


async def test_values_are_queried_and_collected(bus: RunningBus) -> None:
    answers: list[tuple[str, Answer]] = [
        ("a", Abstain),
        ("b", Value({"rows": 3})),
        ("c", Value(b"\xff")),
        ("d", Value("text")),
    ]
    async with bus.connect() as one:
        for label, answer in answers:
            await one.attach(answering(answer), "rows.count", label=label)
        reply = await one.query("rows.count")
        assert reply.value == b'{"rows": 3}'
        assert reply.outcomes[-1].json() == {"rows": 3}
        assert (await one.collect("rows.count")).values == [b'{"rows": 3}', b"\xff", b'"text"']
        assert reply
        nothing = await one.query("rows.none")
        assert nothing.value is None
        assert not nothing


async def test_a_value_that_is_too_long_is_a_failure(bus: RunningBus) -> None:
    async with bus.connect() as one:
        await one.attach(answering(Value(bytes(one.info.payload_max + 1))), "huge.value")
        reply = await one.query("huge.value")
        assert reply.value is None
        assert "over the bus's limit" in reply.outcomes[0].reason


async def test_a_nested_query_names_its_parent(bus: RunningBus) -> None:
    async with bus.connect() as one:

        @one.delegate("nest.*")
        async def ask_again(question: Question) -> Answer:
            await one.ask(question.name, parent=question.query)
            return True

        verdict = await one.ask("nest.shouldAct")
        assert verdict.outcomes[0].kind is OutcomeKind.FAILED
        assert "(recursion)" in verdict.outcomes[0].reason


async def test_a_question_without_an_object_meets_the_holds_of_every_object(
    bus: RunningBus,
) -> None:
    async with bus.connect() as one, bus.connect() as other:
        async with one.hold("backup.shouldPrune", why="a restore runs", object="repo/main") as hold:
            verdict = await other.ask("backup.shouldPrune")
            assert not verdict
            (outcome,) = verdict.outcomes
            assert (outcome.kind, outcome.delegate) == (OutcomeKind.HELD, hold.id)
            assert await other.ask("backup.shouldPrune", object="repo/other")
        assert await other.ask("backup.shouldPrune")


async def test_a_question_without_an_object_is_put_to_the_delegates_of_every_object(
    bus: RunningBus,
) -> None:
    asked: list[tuple[str, str]] = []

    class Noting(Delegate):
        def __init__(self, name: str) -> None:
            self.name = name

        async def answer(self, question: Question) -> Answer:
            asked.append((self.name, question.object))
            return True

    async with bus.connect() as one, bus.connect() as other:
        for name, order in (("second", 2), ("first", 1)):
            await one.attach(Noting(name), "every.*", object=f"object/{name}", order=order)
        assert await other.ask("every.shouldAct", mode=Mode.ORDER)
        assert asked == [("first", ""), ("second", "")]
        assert (await other.ask("every.shouldAct", object="object/other")).is_unanswered
        assert len(asked) == 2


async def test_a_delegate_receives_wills_and_dids_in_order(bus: RunningBus) -> None:
    recorder = Recorder()
    async with bus.connect() as one, bus.connect() as other:
        await one.attach(recorder, "window.*", object="window/1")
        await other.ask("window.shouldClose", object="window/1")
        await other.post("window.willClose", object="window/1")
        await other.post("window.didClose", object="window/2")
        await other.post("window.moved", object="window/1")
        await other.post("window.didClose", object="window/1")
        # Without an object: about all objects.
        await other.post("window.willClose")
        found = [await recorder.events.get() for _ in range(5)]
        names = [one.name for one in found if isinstance(one, Question | Notification)]
        actions = [name.removeprefix("window.") for name in names]
        assert actions == ["shouldClose", "willClose", "didClose", "willClose"]


async def test_a_delegate_that_fails_to_receive_gets_the_next_one(bus: RunningBus) -> None:
    received: asyncio.Queue[Delivery] = asyncio.Queue()
    reports: list[object] = []

    class Failing(Delegate):
        async def received(self, delivery: Delivery) -> None:
            received.put_nowait(delivery)
            if received.qsize() == 1:
                inner = asyncio.create_task(asyncio.sleep(DEADLINE))
                inner.cancel()
                await inner
            raise OSError("no disk")

    asyncio.get_running_loop().set_exception_handler(lambda _, it: reports.append(it["exception"]))
    async with bus.connect() as one, await one.attach(Failing(), "failing.*"):
        for _ in range(3):
            await one.post_acknowledged("failing.willAct")
        while received.qsize() < 3:
            await one.status()
    assert [type(error) for error in reports[:2]] == [asyncio.CancelledError, OSError]


async def test_questions_reach_a_delegate_before_later_notifications(bus: RunningBus) -> None:
    recorder = Recorder()
    async with bus.connect() as one, bus.connect() as other:
        await one.attach(recorder, "pair.*", "pair.didAct")
        asking = []
        for number in range(50):
            asking.append(asyncio.create_task(other.ask("pair.shouldAct", number)))
            await asyncio.sleep(0)
            await other.post("pair.didAct", number)
        await asyncio.gather(*asking)
        order: list[tuple[str, str]] = []
        while len(order) < 100:
            event = await recorder.events.get()
            assert not isinstance(event, Lost)
            if isinstance(event, Question | Notification):
                order.append((event.name, event.text))
        for number in range(50):
            should, did = ("pair.shouldAct", str(number)), ("pair.didAct", str(number))
            assert order.index(should) < order.index(did)


async def test_setting_a_delegate_replaces_the_others(bus: RunningBus) -> None:
    first = Recorder()
    async with bus.connect() as one, bus.connect() as other:
        await one.attach(first, "set.*", object="window/7")
        new = await other.attach(
            answering(Veto("mine")), "set.*", object="window/7", label="new", replace=True
        )
        info = await first.events.get()
        assert isinstance(info, DelegateInfo)
        assert (info.id, info.label, info.connection) == (new.id, "new", other.id)
        chain = await one.explain("set.shouldAct", "window/7")
        assert [delegate.id for delegate in chain.delegates] == [new.id]


async def test_a_replaced_function_is_logged_and_not_ready(
    bus: RunningBus, caplog: pytest.LogCaptureFixture
) -> None:
    async with bus.connect() as one, bus.connect() as other:

        @one.delegate("set.*", object="window/8")
        async def veto(question: Question) -> Answer:
            return False

        await veto.ready()
        await other.attach(answering(True), "set.*", object="window/8", label="new", replace=True)
        while not caplog.records:
            await one.status()
        with pytest.raises(TribuneError) as caught:
            await veto.ready()
        assert caught.value.code is Code.NOT_FOUND
        (record,) = caplog.records
        assert (record.name, record.levelname) == ("tribune", "ERROR")
        assert record.getMessage() == (
            f"a delegate is not in force any more: new (pid {os.getpid()}) was set in its place"
        )


async def test_attaching_the_same_twice_is_refused_and_leaves_the_first(bus: RunningBus) -> None:
    async def veto(question: Question) -> Answer:
        return False

    async with bus.connect() as one:
        first = await one.attach(veto, "twice.*", on_failure=FailurePolicy.ABSTAIN)
        for policy in FailurePolicy:
            with pytest.raises(TribuneError) as caught:
                await one.attach(veto, "twice.*", on_failure=policy)
            assert caught.value.code is Code.CONFLICT
        second = one.delegate("twice.*")(veto)
        with pytest.raises(TribuneError) as caught:
            await second.ready()
        assert caught.value.code is Code.CONFLICT
        await second.detach()
        assert not await one.ask("twice.shouldAct")
        await first.detach()
        await (await one.attach(veto, "twice.*")).detach()
        assert (await one.own()).delegates == 0


async def test_a_refused_delegate_does_not_go_unnoticed(bus: RunningBus) -> None:
    async with (
        bus.connect() as one,
        one.declare("view/9", "P9", "protocol P9 { required should a.shouldB () }"),
    ):
        with pytest.raises(TribuneError) as caught:
            await one.attach(answering(True), "a.shouldC", object="view/9")
        assert caught.value.code is Code.NOT_CONFORMING

        @one.delegate("a.shouldC", object="view/9")
        async def nobody_waits(question: Question) -> Answer:
            return True

        error = await one.closed()
        assert error is not None
        assert error.code is Code.NOT_CONFORMING


async def test_a_decorator_without_names_is_an_error(bus: RunningBus) -> None:
    async with bus.connect() as one:

        async def never(question: Question) -> Answer:
            return False

        with pytest.raises(TypeError, match="patterns are text"):
            one.delegate(never)  # type: ignore[arg-type]
        with pytest.raises(TribuneError) as caught:
            one.delegate()(never)
        assert caught.value.code is Code.INVALID_PATTERN


@pytest.mark.parametrize("deadline", [1e9, math.inf, math.nan])
async def test_a_deadline_that_is_too_long_is_refused(bus: RunningBus, deadline: float) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.ask("a.shouldB", deadline=deadline)
        assert caught.value.code is Code.REFUSED


async def test_a_delegate_that_overrides_nothing_is_refused(bus: RunningBus) -> None:
    """Otherwise a delegate with a misspelt method would always abstain."""

    class Misspelt(Delegate):
        async def anwser(self, question: Question) -> Answer:
            return Veto("no")

    class Concluding(Misspelt):
        async def concluded(self, conclusion: Conclusion) -> None:
            pass

    class Callable(Delegate):
        async def __call__(self, question: Question) -> Answer:
            return Veto("no")

    async with bus.connect() as connection:
        for delegate, name in (
            (Misspelt(), "anwser"),
            (Concluding(), "anwser"),
            (Callable(), "__call__"),
        ):
            with pytest.raises(TypeError, match=f"has {name}, but neither answer nor"):
                await connection.attach(delegate, "a.shouldB")


async def test_a_default_is_true_or_false(bus: RunningBus) -> None:
    async with bus.connect() as connection:
        with pytest.raises(TypeError, match="default"):
            await connection.ask("a.shouldB", default="veto")  # type: ignore[arg-type]
