# SPDX-License-Identifier: Apache-2.0
"""The effect of restarts and kills of the bus on a program, with and without a keeper."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import math
import signal
import termios
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from conftest import RunningBus

import tribune
from tribune import (
    Answer,
    Code,
    Conclusion,
    Delegate,
    Delivery,
    Disconnected,
    Ending,
    Interrupted,
    Lost,
    Notification,
    OutcomeKind,
    Question,
    Reconnected,
    TribuneError,
    Veto,
)
from tribune._transport import Transport

MakeBus = Callable[..., RunningBus]


class Events:
    """The events of a connection."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tribune.ConnectionEvent] = asyncio.Queue()

    def __call__(self, event: tribune.ConnectionEvent) -> None:
        self.queue.put_nowait(event)

    async def disconnected(self) -> None:
        assert isinstance(await self.queue.get(), Disconnected)

    async def reconnected(self) -> Reconnected:
        event = await self.queue.get()
        assert isinstance(event, Reconnected)
        return event


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Waits for a process without blocking the loop."""
    return await asyncio.to_thread(function, *arguments)


async def settle(bus: RunningBus) -> None:
    """Waits until the keeper has all connections with registrations."""
    async with bus.connect() as probe:
        # The keeper takes connections in order, so it has all earlier ones.
        async with probe.observe("probe.*"):
            while not (await probe.own()).is_surviving:
                continue


async def texts(observation: tribune.Observation, last: str) -> list[object]:
    """The texts of notifications, and reports, up to the text `last`."""
    found: list[object] = []
    async for delivery in observation:
        found.append(delivery.text if isinstance(delivery, Notification) else delivery)
        if found[-1] == last:
            break
    return found


async def test_a_planned_restart_is_not_noticed(make_bus: MakeBus) -> None:
    bus = make_bus(has_keeper=True)
    events = Events()
    async with bus.connect(on_event=events) as one:
        observation = one.observe("a.*")
        identity = one.id
        async with one.hold("a.shouldStop", why="busy") as hold:
            number = hold.id
            await settle(bus)
            await in_thread(bus.restart, signal.SIGTERM)
            await one.post("a.b", b"1")
            assert await texts(observation, "1") == ["1"]
            assert not await one.ask("a.shouldStop")
            assert (one.id, hold.id) == (identity, number)
    assert events.queue.empty()


@pytest.mark.parametrize("has_keeper", [True, False])
async def test_everything_is_registered_again(make_bus: MakeBus, has_keeper: bool) -> None:
    bus = make_bus(has_keeper=has_keeper)
    events = Events()

    async def veto(question: Question) -> Answer:
        return Veto("still here")

    async with bus.connect(on_event=events) as one:
        observation = one.observe("a.*", retained=True)
        awaited = one.observe("b.*", awaited=True)
        await observation.ready()
        async with (
            one.hold("c.shouldAct", why="held"),
            await one.attach(veto, "d.*"),
            one.declare("view/1", "P", "protocol P { optional did a.didB () }"),
        ):
            await one.suspend()
            if has_keeper:
                await settle(bus)
                await end_amid_frame(bus, one)
                await in_thread(bus.start)
            else:
                await in_thread(bus.restart)
            await events.disconnected()
            reconnected = await events.reconnected()
            assert reconnected.lost == (0 if has_keeper else None)
            assert one.is_suspended
            assert (await one.own()).is_suspended
            async with bus.connect() as other:
                await other.post_acknowledged("a.b", b"buffered")
                held = await other.ask("c.shouldAct")
                assert held.outcomes[0].kind is OutcomeKind.HELD
                assert (await other.ask("d.shouldAct")).outcomes[0].reason == "still here"
                assert [info.protocol for info in await other.objects()] == ["P"]
                posting = asyncio.create_task(other.post_awaited("b.c"))
                expected = [] if has_keeper else [Interrupted()]
                for report in expected:
                    assert await anext(awaited) == report
                delivery = await anext(awaited)
                assert isinstance(delivery, Notification)
                delivery.done()
                assert (await posting).acknowledged == 1
            await one.resume()
            assert await texts(observation, "buffered") == [*expected, "buffered"]


async def end_amid_frame(bus: RunningBus, one: tribune.Bus) -> Transport:
    """Kills the bus while it has a partial frame, so the connection cannot continue."""
    transport = one._link.transport
    assert transport is not None
    transport._socket.send(b"\x30")
    unread = array.array("i", [1])
    while unread[0]:
        fcntl.ioctl(transport._socket, termios.TIOCOUTQ, unread)
    # By this answer, it has noted everything that it read.
    assert await in_thread(bus.ctl, "status")
    await in_thread(bus.end)
    return transport


async def test_a_keeper_lets_losses_be_counted(make_bus: MakeBus) -> None:
    bus = make_bus(has_keeper=True)
    events = Events()
    async with bus.connect(on_event=events, reconnect_timeout=20) as one:
        observation = one.observe("count.*")
        async with bus.connect() as other:
            async with other.observe("keep.*"):
                await other.post_acknowledged("count.a", b"before")
                assert await texts(observation, "before") == ["before"]
                await settle(bus)
                transport = await end_amid_frame(bus, one)
                # It connects only after the new bus has taken these.
                transport._loop.remove_reader(transport._socket.fileno())
                await in_thread(bus.start)
                for _ in range(5):
                    await other.post_acknowledged("count.a", b"missed")
                transport._loop.add_reader(transport._socket.fileno(), transport._read)
                await events.disconnected()
                assert await events.reconnected() == Reconnected(5)
                await other.post("count.a", b"after")
                assert await texts(observation, "after") == [Lost(5), "after"]


@pytest.mark.parametrize("has_keeper", [True, False])
async def test_many_kills_lose_nothing_without_a_report(
    make_bus: MakeBus, has_keeper: bool
) -> None:
    bus = make_bus(has_keeper=has_keeper)
    async with (
        bus.connect(reconnect_timeout=20) as poster,
        bus.connect(reconnect_timeout=20) as one,
    ):
        observation = one.observe("count.*", limit=100_000)
        await observation.ready()
        acknowledged: list[int] = []
        is_over = False

        async def post() -> None:
            number = 0
            while not is_over:
                with contextlib.suppress(TribuneError):
                    await poster.post_acknowledged("count.a", number)
                    acknowledged.append(number)
                number += 1

        posting = asyncio.create_task(post())
        for _ in range(4):
            seen = len(acknowledged)
            while len(acknowledged) < seen + 50:
                with contextlib.suppress(TribuneError):
                    await poster.status()
            await in_thread(bus.restart)
        is_over = True
        await posting
        await poster.post_acknowledged("count.a", b"last")
        received: list[int] = []
        lost, is_unknown = 0, False
        async for delivery in observation:
            match delivery:
                case Notification():
                    if delivery.text == "last":
                        break
                    received.append(int(delivery.text))
                case Lost(count):
                    lost += count
                case Interrupted():
                    is_unknown = True
        assert received == sorted(set(received))
        missed = set(acknowledged) - set(received)
        assert is_unknown or len(missed) <= lost
        assert is_unknown or has_keeper


async def test_a_request_that_was_sent_fails_and_one_that_was_not_waits(
    make_bus: MakeBus,
) -> None:
    bus = make_bus()
    events, is_asked = Events(), asyncio.Event()

    async def silent(question: Question) -> Answer:
        is_asked.set()
        await asyncio.Event().wait()
        return True

    async with bus.connect(on_event=events) as one:
        await one.attach(silent, "wait.*", timeout=30)
        asking = asyncio.create_task(one.ask("wait.shouldAct"))
        await is_asked.wait()
        await in_thread(bus.end)
        await events.disconnected()
        with pytest.raises(TribuneError) as caught:
            await asking
        assert caught.value.code is Code.CONNECTION_LOST
        waiting = asyncio.create_task(one.ask("other.shouldAct"))
        listing = asyncio.create_task(one.status())
        posting = asyncio.create_task(one.post_acknowledged("other.didAct"))
        hurried = asyncio.create_task(one.ask("other.shouldAct", deadline=0.001))
        with pytest.raises(TribuneError) as caught:
            await hurried
        assert "before it could be sent" in caught.value.message
        assert not waiting.done()
        await in_thread(bus.start)
        assert await waiting
        await posting
        assert (await listing).asked == 1


async def test_what_is_registered_and_taken_back_meanwhile_is_as_if_always(
    make_bus: MakeBus,
) -> None:
    bus = make_bus()
    events = Events()
    async with bus.connect(on_event=events) as one:
        old = one.hold("old.shouldAct", why="old")
        await old.take()
        dropped = one.observe("dropped.*")
        await dropped.ready()
        await in_thread(bus.end)
        await events.disconnected()
        releasing = asyncio.create_task(old.release())
        taking = asyncio.create_task(one.hold("new.shouldAct", why="new").take())
        cancelled = asyncio.create_task(one.hold("never.shouldAct", why="never").take())
        await asyncio.sleep(0)
        cancelled.cancel()
        dropped.cancel()
        added = one.observe("added.*")
        await in_thread(bus.start)
        await asyncio.gather(releasing, taking, added.ready())
        assert [hold.why for hold in await one.holds()] == ["new"]
        assert [info.pattern for info in await one.observations()] == ["added.*"]


async def test_posts_that_wait_are_delivered(make_bus: MakeBus) -> None:
    bus = make_bus()
    events = Events()
    payload = b"x" * 100_000
    async with bus.connect(on_event=events) as one:
        await in_thread(bus.end)
        await events.disconnected()
        observation = one.observe("wait.*")
        await one.post("wait.short", b"1")
        await one.post("wait.long", payload)
        await in_thread(bus.start)
        found = [await anext(observation) for _ in range(2)]
        assert [n.user_info for n in found if isinstance(n, Notification)] == [b"1", payload]


async def test_questions_are_cancelled(make_bus: MakeBus) -> None:
    bus = make_bus()
    endings: asyncio.Queue[object] = asyncio.Queue()
    is_asked = asyncio.Event()

    class Slow(Delegate):
        async def answer(self, question: Question) -> Answer:
            is_asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                endings.put_nowait("cancelled")
            return True

        async def concluded(self, conclusion: Conclusion) -> None:
            endings.put_nowait(conclusion.ending)

        async def received(self, delivery: Delivery) -> None:
            endings.put_nowait(delivery)

    async with bus.connect() as one:
        await one.attach(Slow(), "slow.*")
        asking = asyncio.create_task(one.ask("slow.shouldAct"))
        await is_asked.wait()
        await in_thread(bus.restart)
        assert [await endings.get() for _ in "123"] == [
            "cancelled",
            Ending.CANCELLED,
            Interrupted(),
        ]
        with pytest.raises(TribuneError):
            await asking


async def test_no_bus_in_time_ends_the_connection(make_bus: MakeBus) -> None:
    bus = make_bus()
    async with bus.connect(reconnect_timeout=0.1) as one, bus.connect(reconnect_timeout=0) as other:
        observation = one.observe("a.*")
        await observation.ready()
        await in_thread(bus.end)
        for connection in (one, other):
            error = await connection.closed()
            assert error is not None
            assert error.code is Code.CONNECTION_LOST
        assert "no bus was found within 0.1 s" in str(await one.closed())
        with pytest.raises(TribuneError):
            await anext(observation)
        with pytest.raises(TribuneError):
            await one.post("a.b")


async def test_the_new_reason_of_a_hold_is_its_reason_after_a_kill(make_bus: MakeBus) -> None:
    bus = make_bus()
    events = Events()
    async with (
        bus.connect(on_event=events) as one,
        one.hold("a.shouldB", why="begins") as hold,
        bus.connect() as other,
    ):
        changes = other.observe("tribune.hold.didChange")
        await changes.ready()
        await hold.update("at 40 %")
        change = await anext(changes)
        assert isinstance(change, Notification)
        assert '"why":"at 40 %"' in change.text
        assert [one.reason for one in (await other.ask("a.shouldB")).outcomes] == ["at 40 %"]
        with pytest.raises(TribuneError) as caught:
            await hold.update("")
        assert caught.value.code is Code.REFUSED
        await in_thread(bus.restart)
        await events.disconnected()
        await events.reconnected()
        async with bus.connect() as third:
            assert [one.reason for one in (await third.ask("a.shouldB")).outcomes] == ["at 40 %"]
    with pytest.raises(TribuneError):
        await hold.update("too late")


async def test_a_stop_is_final(make_bus: MakeBus) -> None:
    bus = make_bus()
    async with bus.connect() as one:
        observation = one.observe("a.*")
        await observation.ready()
        await in_thread(bus.end, signal.SIGTERM)
        error = await one.closed()
        assert error is not None
        assert error.code is Code.SHUTTING_DOWN
        with pytest.raises(TribuneError) as caught:
            await anext(observation)
        assert (caught.value.code, caught.value.message) == (error.code, error.message)


async def test_a_connection_looks_for_ever_for_a_bus_that_has_stopped(make_bus: MakeBus) -> None:
    bus = make_bus()
    events = Events()
    async with bus.connect(on_event=events, reconnect_timeout=math.inf) as one:
        await one.hold("a.shouldB", why="busy").take()
        await in_thread(bus.end, signal.SIGTERM)
        await events.disconnected()
        await in_thread(bus.start)
        await events.reconnected()
        async with bus.connect() as other:
            assert not (await other.ask("a.shouldB")).is_allowed


async def test_a_refused_registration_ends_the_connection(make_bus: MakeBus) -> None:
    bus = make_bus()
    events = Events()
    async with bus.connect(on_event=events) as one:
        async with one.declare("x", "P", "protocol P { optional did a.didB () }"):
            await in_thread(bus.end)
            await events.disconnected()
            folder = bus.folder / "etc/protocols.d"
            folder.mkdir()
            other = "protocol P { optional did a.didC () }\n"
            (folder / "p.protocol").write_text(other)
            await in_thread(bus.start)
            error = await one.closed()
            assert error is not None
            assert error.code is Code.CONFLICT
            assert "after an interruption" in error.message


async def test_what_does_not_fit_is_refused_and_forgotten(make_bus: MakeBus) -> None:
    bus = make_bus()
    async with bus.connect() as one:
        refused: list[Awaitable[object]] = [
            one.attach(Delegate(), "a.*", order=1 << 40),
            one.attach(Delegate(), "a.*", protocols=["x" * 70_000]),
            one.hold("a.*", why="x", label="x" * 70_000).take(),
            one.declare("o", "x" * 70_000).make(),
            one.ask("a.shouldB", parent=-1),
            one.defer(-1, 1.0),
        ]
        for request in refused:
            with pytest.raises(TribuneError) as caught:
                await request
            assert caught.value.code is Code.LIMIT_EXCEEDED
        bus.restart()
        await one.post_acknowledged("a.b")
        assert await one.delegates() == []


async def test_a_hold_that_expired_meanwhile_is_simply_over(make_bus: MakeBus) -> None:
    bus = make_bus()
    events = Events()
    async with bus.connect(on_event=events) as one:
        hold = await one.hold("a.shouldAct", why="soon over", expires_in=0.3).take()
        await in_thread(bus.end)
        await events.disconnected()
        # Its deadline ends before the next bus starts.
        await asyncio.sleep(0.3)
        await in_thread(bus.start)
        await events.reconnected()
        assert await hold.expired()
        assert await one.ask("a.shouldAct")


async def test_leaving_a_hold_that_was_lost_raises(make_bus: MakeBus) -> None:
    bus = make_bus()

    async def lose(error: Exception | None = None, releases: bool = False) -> None:
        async with bus.connect() as one:
            async with one.hold("a.shouldAct", why="x") as hold:
                if releases:
                    await hold.release()
                await in_thread(bus.end, signal.SIGINT)
                await one.closed()
                if error:
                    raise error

    with pytest.raises(TribuneError) as caught:
        await lose()
    assert caught.value.code is Code.CONNECTION_LOST
    await in_thread(bus.start)
    with pytest.raises(KeyError):
        await lose(KeyError())
    await in_thread(bus.start)
    await lose(releases=True)


async def test_closing_while_the_bus_is_gone_still_posts(make_bus: MakeBus) -> None:
    bus = make_bus()
    events = Events()
    one = await bus.connect(on_event=events)
    await in_thread(bus.end)
    await events.disconnected()
    await one.post("late.post", b"kept", retain=True)
    closing = asyncio.create_task(one.close())
    await asyncio.sleep(0)
    await in_thread(bus.start)
    await closing
    async with bus.connect() as other:
        # That connection closed before this one opened.
        assert [info.name for info in await other.retained()] == ["late.post"]


async def test_reconnecting_goes_on_when_a_bus_dies_early(make_bus: MakeBus) -> None:
    bus = make_bus(has_keeper=True)
    async with bus.connect(reconnect_timeout=25) as one:
        observation = one.observe("a.*", retained=True)
        holds = [one.hold(f"a.shouldAct{number}", why="x") for number in range(200)]
        for hold in holds:
            await hold.take()
        for _ in range(5):
            await in_thread(bus.end)
            await in_thread(lambda: bus.start(is_ready=False))
        await in_thread(bus.restart)
        assert len(await one.holds()) == len(holds)
        await one.post("a.last", b"last")
        assert (await texts(observation, "last"))[-1] == "last"
