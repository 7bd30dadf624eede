# SPDX-License-Identifier: Apache-2.0
"""Holding and guarding, with a real bus."""

from __future__ import annotations

import asyncio
import math
import time

import pytest
from conftest import DEADLINE, RunningBus

import tribune
from tribune import (
    Answer,
    Code,
    Notification,
    OutcomeKind,
    Question,
    TribuneError,
    Value,
    Veto,
    Vetoed,
)


async def test_a_hold_vetoes_while_it_is_entered(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as other:
        async with one.hold(
            "hold.shouldReboot", why="a restore is running", label="restore"
        ) as hold:
            verdict = await other.ask("hold.shouldReboot")
            (outcome,) = verdict.outcomes
            assert outcome.kind is OutcomeKind.HELD
            assert outcome.delegate == hold.id
            assert (outcome.label, outcome.reason) == ("restore", "a restore is running")
            assert [info.why for info in await other.holds()] == ["a restore is running"]
            overridden = await other.ask("hold.shouldReboot", override="it burns")
            assert overridden
            assert overridden.is_overridden
        assert await other.ask("hold.shouldReboot")
        assert not await hold.expired()


async def test_a_hold_expires(bus: RunningBus) -> None:
    async with bus.connect() as one:
        hold = await one.hold("expire.*", why="soon", expires_in=0.05).take()
        assert await hold.expired()
        assert await one.ask("expire.shouldAct")
        await hold.release()


async def test_a_hold_counts_its_time_from_when_it_is_taken(
    bus: RunningBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bus.connect() as one:
        an_hour_ago = time.monotonic_ns() - 3_600_000_000_000
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic_ns", lambda: an_hour_ago)
            hold = one.hold("expire.*", why="soon", expires_in=60)
        async with hold:
            assert not await one.ask("expire.shouldAct")


async def test_a_hold_may_last_for_ever(bus: RunningBus) -> None:
    async with bus.connect() as one:
        async with one.hold("lasting.*", why="x", expires_in=math.inf):
            (found,) = [hold for hold in await one.holds() if hold.pattern == "lasting.*"]
            assert found.remaining is None or found.remaining > 1e9


@pytest.mark.parametrize(
    ("why", "expires_in"), [("", None), (" ", None), ("x", 0), ("x", math.nan)]
)
async def test_a_hold_needs_a_reason_and_a_future(
    bus: RunningBus, why: str, expires_in: float | None
) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            one.hold("a.*", why=why, expires_in=expires_in)
        assert caught.value.code is Code.REFUSED


@pytest.mark.parametrize(
    "pattern", ["shop.deploy", "prune", "backup.should", "backup.shouldPrune.x", "*.deploy"]
)
async def test_a_hold_on_a_name_that_is_no_question_is_refused(
    bus: RunningBus, pattern: str
) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.hold(pattern, why="x").take()
        assert caught.value.code is Code.INVALID_PATTERN


async def test_a_blank_reason_is_none(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.hold("a.*", why="\u200b").take()
        assert caught.value.code is Code.REFUSED
        async with one.hold("a.*", why="x") as held:
            for reason in (" ", "\u200b"):
                with pytest.raises(TribuneError) as caught:
                    await held.update(reason)
                assert caught.value.code is Code.REFUSED
                with pytest.raises(TribuneError) as caught:
                    await one.ask("a.shouldB", override=reason)
                assert caught.value.code is Code.REFUSED


async def test_guard_asks_announces_and_reports(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as other:
        async with one.observe("door.*", object="door/1") as observation:
            async with other.guard("door.open", {"by": "me"}, object="door/1") as verdict:
                assert verdict
            with pytest.raises(OSError, match="stuck"):
                async with other.guard("door.open", object="door/1"):
                    raise OSError("it is stuck")
            found = [await anext(observation) for _ in range(4)]
        told = [(n.name, n.json()) for n in found if isinstance(n, Notification)]
        assert told == [
            ("door.willOpen", {"by": "me"}),
            ("door.didOpen", {"by": "me"}),
            ("door.willOpen", None),
            ("door.didFailToOpen", {"error": "OSError: it is stuck"}),
        ]


async def test_guard_reports_a_long_exception(bus: RunningBus) -> None:
    async with bus.connect() as one, one.observe("lid.didFailToOpen") as observation:
        with pytest.raises(OSError, match="stuck"):
            async with one.guard("lid.open"):
                raise OSError("stuck" + "!" * one.info.payload_max)
        found = await anext(observation)
        assert isinstance(found, Notification)
        assert found.name == "lid.didFailToOpen"
        assert len(found.json()["error"]) == 4_096


async def test_guard_does_not_run_what_is_vetoed(bus: RunningBus) -> None:
    async with bus.connect() as one, one.observe("gate.*") as observation:
        async with one.hold("gate.shouldOpen", why="closed today", label="guardian"):
            with pytest.raises(Vetoed) as caught:
                async with one.guard("gate.open"):
                    pytest.fail("the body runs")
        assert str(caught.value) == "gate.open was vetoed by guardian: closed today"
        await one.post("gate.last")
        delivery = await anext(observation)
        assert isinstance(delivery, Notification)
        assert delivery.name == "gate.last"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(False, ""), (Veto("no"), ": no"), (Value(1), ": the answer is a value, but"), (None, ": it")],
)
async def test_vetoed_says_who_objects_and_why(
    bus: RunningBus, answer: Answer | None, reason: str
) -> None:
    async def answer_or_hang(question: Question) -> Answer:
        if answer is None:
            await asyncio.sleep(DEADLINE)
            return True
        return answer

    async with bus.connect() as one:
        async with await one.attach(answer_or_hang, "gap.*", label="me", timeout=0.01):
            with pytest.raises(Vetoed) as caught:
                async with one.guard("gap.close"):
                    raise AssertionError
    assert str(caught.value).startswith(f"gap.close was vetoed by me{reason}")


async def test_guard_announces_a_cancelled_action(bus: RunningBus) -> None:
    runs = asyncio.Event()
    async with bus.connect() as one, one.observe("long.didFailToRun") as observation:

        @one.guard("long.run")
        async def run() -> None:
            runs.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(run())
        await runs.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        delivery = await anext(observation)
        assert isinstance(delivery, Notification)
        assert "CancelledError" in delivery.text


async def test_guard_waits_for_awaited_observers(bus: RunningBus) -> None:
    missing: list[tribune.AwaitedReply] = []
    async with bus.connect() as one, bus.connect() as other:
        observation = other.observe("flush.willStop", awaited=True)
        await observation.ready()

        async def handle() -> None:
            delivery = await anext(observation)
            assert isinstance(delivery, Notification)
            delivery.failed("not today")

        handling = asyncio.create_task(handle())
        async with one.guard("flush.stop", wait=10, on_missing=missing.append):
            assert [reply.missing[0].reason for reply in missing] == ["not today"]
        await handling


@pytest.mark.parametrize("action", ["window.shouldClose", "did", "a..b", ""])
async def test_guard_wants_the_name_of_an_action(bus: RunningBus, action: str) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            async with one.guard(action):
                pytest.fail("the body runs")
        assert caught.value.code is Code.INVALID_NAME
