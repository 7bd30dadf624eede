# SPDX-License-Identifier: Apache-2.0
"""Actions under way, and what is retained as long as its poster lives."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
from collections.abc import Callable
from typing import Any

import pytest
from conftest import RunningBus

import tribune
from tribune import Delivery, Notification, TribuneError, Vetoed

MakeBus = Callable[..., RunningBus]


async def test_a_hold_learns_that_it_is_too_late_and_when_the_action_has_ended(
    bus: RunningBus,
) -> None:
    async with bus.connect() as asker, bus.connect() as holder:
        verdict, action = await asker.begin("a.shouldPrune", object="repo")
        assert verdict
        assert action is not None
        listed = [one for one in await holder.actions() if one.name == "a.shouldPrune"]
        assert [(one.query, one.object) for one in listed] == [(verdict.query, "repo")]
        async with holder.hold("a.shouldPrune", why="backup") as hold:
            assert hold.late == 1
            settling = asyncio.ensure_future(hold.settled())
            await holder.own()
            assert not settling.done()
            await action.end()
            assert await settling
            assert await hold.settled()
            assert hold.late == 0
        assert not await hold.settled()
        await action.end()


async def test_a_vetoed_query_begins_nothing(bus: RunningBus) -> None:
    async with bus.connect() as asker, bus.connect() as holder:
        async with holder.hold("b.shouldPrune", why="backup"):
            begun = await asker.begin("b.shouldPrune")
            assert not begun
            assert not begun.verdict
            assert begun.action is None
            with pytest.raises(Vetoed):
                async with asker.guard("b.prune"):
                    raise AssertionError("the body ran")
        assert not [one for one in await asker.actions() if one.name == "b.shouldPrune"]


async def test_a_guarded_body_is_under_way(bus: RunningBus) -> None:
    async with bus.connect() as asker, bus.connect() as holder:

        async def count() -> int:
            return sum(one.name == "c.shouldPrune" for one in await asker.actions())

        with contextlib.suppress(ZeroDivisionError):
            async with asker.guard("c.prune"):
                assert await count() == 1
                hold = await holder.hold("c.shouldPrune", why="backup").take()
                assert hold.late == 1
                raise ZeroDivisionError
        assert await hold.settled()
        assert await count() == 0


async def test_an_action_whose_task_is_cancelled_has_ended(bus: RunningBus) -> None:
    async with bus.connect() as asker:
        for _ in range(20):
            task = asyncio.ensure_future(asker.begin("d.shouldPrune"))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                _, action = await task
                assert action is not None
                await action.end()
        await asker.own()
        assert not [one for one in await asker.actions() if one.name == "d.shouldPrune"]


@pytest.mark.parametrize("has_keeper", [True, False])
async def test_an_action_is_under_way_after_a_death_of_the_bus(
    make_bus: MakeBus, has_keeper: bool
) -> None:
    bus = make_bus(has_keeper=has_keeper)
    back = asyncio.Event()
    options: dict[str, Any] = {"reconnect_timeout": math.inf}
    async with bus.connect(
        on_event=lambda event: back.set() if isinstance(event, tribune.Reconnected) else None,
        **options,
    ) as asker:
        _, action = await asker.begin("a.shouldPrune")
        assert action is not None
        bus.restart(signal.SIGKILL)
        if not has_keeper:
            await back.wait()
        async with bus.connect() as holder:
            hold = await holder.hold("a.shouldPrune", why="backup").take()
            assert hold.late == 1
            await action.end()
            assert await hold.settled()


async def next_of(observation: tribune.Observation) -> Notification:
    delivery: Delivery = await anext(aiter(observation))
    assert isinstance(delivery, Notification)
    return delivery


async def test_what_is_bound_is_removed_with_its_poster(bus: RunningBus) -> None:
    async with bus.connect() as observer, observer.observe("svc.status") as news:
        async with bus.connect() as service:
            await service.post("svc.status", {"up": True}, object="a", retain=True, bound=True)
            assert (await next_of(news)).json() == {"up": True}
        cleared = await next_of(news)
        assert (cleared.object, cleared.user_info) == ("a", b"")
        assert not [one for one in await observer.retained() if one.name == "svc.status"]


async def test_what_is_bound_is_posted_again_after_a_death_of_the_bus(make_bus: MakeBus) -> None:
    bus = make_bus()
    back = asyncio.Event()
    async with bus.connect(
        on_event=lambda event: back.set() if isinstance(event, tribune.Reconnected) else None,
        reconnect_timeout=math.inf,
    ) as service:
        await service.post_acknowledged("svc.status", 1, retain=True, bound=True)
        await service.post_acknowledged("svc.gone", 1, retain=True, bound=True)
        await service.post_acknowledged("svc.gone", retain=True)
        bus.restart(signal.SIGKILL)
        await back.wait()
        assert [one.name for one in await service.retained()] == ["svc.status"]


async def test_only_what_is_retained_can_be_bound(bus: RunningBus) -> None:
    async with bus.connect() as poster:
        with pytest.raises(TribuneError):
            await poster.post_acknowledged("a", 1, bound=True)


async def test_actions_that_fill_all_slots_veto(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as two:
        _, action = await one.begin("s.shouldPrune", slots=1)
        assert action is not None
        vetoed = await two.begin("s.shouldPrune", object="repo", slots=1)
        assert not vetoed
        assert [one.reason for one in vetoed.verdict.outcomes] == ["s.shouldPrune is under way"]
        assert await two.ask("s.shouldPrune", slots=2)
        await action.end()
        async with two.guard("s.prune", slots=1) as verdict:
            assert verdict
        with pytest.raises(TribuneError, match="slot"):
            await two.ask("s.shouldPrune", slots=0)
