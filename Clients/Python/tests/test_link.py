# SPDX-License-Identifier: Apache-2.0
"""The end of a connection, and programs that give up, fork or mix loops."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings

import pytest
from conftest import MadeBus, RunningBus

import tribune
from tribune import (
    Code,
    Notification,
    TribuneError,
    _wire,
)
from tribune._frame import HEADER_LENGTH, encode
from tribune._link import Link


async def test_closing_writes_what_was_posted(bus: RunningBus) -> None:
    async with bus.connect() as other, other.observe("closing.*", limit=20_000) as observation:
        one = await bus.connect()
        for number in range(10_000):
            await one.post("closing.post", number)
        await one.close()
        assert one.has_ended
        for number in range(10_000):
            delivery = await anext(observation)
            assert isinstance(delivery, Notification)
            assert delivery.text == str(number)
        with pytest.raises(TribuneError) as caught:
            await one.post("closing.post")
        assert caught.value.code is Code.CONNECTION_LOST
        assert await one.closed() is None


async def test_closing_twice_at_once_writes_what_was_posted(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        count = 0
        while not bus._link.outbox.is_full:
            await bus.post("a", b"x" * 60_000)
            count += 1
        closing = [asyncio.create_task(bus.close()) for _ in "xy"]
        await asyncio.sleep(0.01)
        assert not bus.has_ended
        received = 0
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(peer, 1 << 20):
            received += len(data)
        assert received == count * (HEADER_LENGTH + 1 + 60_000)
        peer.close()
        await asyncio.gather(*closing)


async def test_closing_ends_observations_and_requests(bus: RunningBus) -> None:
    one = await bus.connect()
    observation = one.observe("never.*")
    held = one.hold("held.*", why="x")
    await held.take()
    reading = asyncio.create_task(anext(observation, None))
    await asyncio.sleep(0)
    await one.close()
    assert await reading is None
    assert not await held.expired()
    await held.release()


@pytest.mark.parametrize("waiting", ["not", "until the end", "cancelled"])
async def test_vetoes_do_not_end_without_a_word(
    made_bus: MadeBus, caplog: pytest.LogCaptureFixture, waiting: str
) -> None:
    async with made_bus.connected() as (bus, peer):

        @bus.delegate("a.*")
        async def veto(question: tribune.Question) -> tribune.Answer:
            return False

        closed = None if waiting == "not" else asyncio.create_task(bus.closed())
        await asyncio.sleep(0)
        if closed is not None and waiting == "cancelled":
            closed.cancel()
            await asyncio.wait({closed})
        peer.close()
        await asyncio.shield(bus._link._ended)
        if closed is not None and waiting == "until the end":
            await closed
    missing = ["delegates and holds (1) are not in force any more"]
    expected = [] if waiting == "until the end" else missing
    assert [message.partition(":")[0] for message in caplog.messages] == expected


async def test_vetoes_that_are_given_up_are_not_missed(
    made_bus: MadeBus, caplog: pytest.LogCaptureFixture
) -> None:
    async with made_bus.connected() as (bus, peer):
        bus.delegate("a.*")(tribune.Delegate().answer)
        closing = asyncio.create_task(bus.close())
        await asyncio.sleep(0)
        peer.send(encode(_wire.Refusal(code=12), payload=b"stopping"))
        await closing
    assert not caplog.messages


async def test_an_error_that_lasts_is_raised_afresh(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        observation = bus.observe("a")
        asking = asyncio.create_task(bus.ask("a.shouldB"))
        await asyncio.sleep(0)
        peer.close()
        await bus.closed()
        errors = [
            *await asyncio.gather(asking, return_exceptions=True),
            *await asyncio.gather(*(bus.post("a") for _ in "xy"), return_exceptions=True),
            *await asyncio.gather(*(anext(observation) for _ in "xy"), return_exceptions=True),
        ]
        assert all(isinstance(error, TribuneError) for error in errors)
        assert len({id(error) for error in errors}) == len(errors)


async def test_who_gives_up_waiting_keeps_delegate_and_observation(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        observation = bus.observe("a")

        @bus.delegate("a.*")
        async def veto(question: tribune.Question) -> tribune.Answer:
            return False

        for waiting in (observation.ready(), veto.ready()):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(waiting, 0.01)
        peer.send(encode(_wire.Okay(), serial=1) + encode(_wire.Post(), name=b"a"))
        assert isinstance(await anext(observation), Notification)
        # No caller awaits the refused veto, so the refusal must end the connection.
        peer.send(encode(_wire.Refusal(code=76), serial=2))
        error = await bus.closed()
        assert error is not None
        assert error.code is Code.NOT_PERMITTED


async def test_what_outlasts_its_caller_fails_without_noise(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        held = bus.hold("a.*", why="x")
        peer.send(encode(_wire.Okay(delegate=1), serial=1))
        await held.take()
        for waiting in (held.release(), bus.suspend()):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(waiting, 0.01)
        peer.close()
        await bus.closed()


async def test_who_gives_up_entering_takes_it_back(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, _):

        async def veto(question: tribune.Question) -> tribune.Answer:
            return False

        for entering in (bus.observe("a"), bus.delegate("a.*")(veto), bus.hold("a.*", why="x")):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(entering.__aenter__(), 0.01)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bus.attach(veto, "a.*"), 0.01)
        assert not bus._link.registrations


async def test_a_hold_or_a_delegate_keeps_its_connection_open_although_nothing_is_kept(
    bus: RunningBus,
) -> None:
    async def veto(question: tribune.Question) -> tribune.Answer:
        return tribune.Veto("busy")

    async def set_up() -> list[Link]:
        holder, delegate = await bus.connect(), await bus.connect()
        await holder.hold("kept.shouldA", why="x").take()
        await delegate.delegate("kept.shouldB")(veto).ready()
        return [holder._link, delegate._link]

    with warnings.catch_warnings():
        # As in a program; an error would keep the connection.
        warnings.simplefilter("ignore")
        links = await set_up()
        gc.collect()
    async with bus.connect() as asker:
        assert not await asker.ask("kept.shouldA")
        assert not await asker.ask("kept.shouldB")
    for link in links:
        await link.close()


async def test_a_connection_is_closed_after_its_last_hold(bus: RunningBus) -> None:
    one = await bus.connect()
    link = one._link
    held = await one.hold("kept.shouldA", why="x").take()
    await held.release()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        del one, held
        gc.collect()
    await link.ended()


async def test_a_hold_that_is_never_entered_warns(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.warns(RuntimeWarning, match="a hold was never entered"):
            one.hold("a.*", why="x")


async def test_a_delegate_without_a_function_warns(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.warns(RuntimeWarning, match="a delegate was given no function"):
            one.delegate("a.*")


async def test_a_forgotten_connection_is_closed(bus: RunningBus) -> None:
    one = await bus.connect()
    link = one._link
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del one
        gc.collect()
    assert any("was not closed" in str(warning.message) for warning in caught)
    await link.ended()


async def test_another_event_loop_cannot_use_a_connection(bus: RunningBus) -> None:
    def use() -> list[object]:
        async def try_all() -> list[object]:
            return [
                *await asyncio.gather(
                    one.post("a.b"),
                    one.ask("a.shouldB"),
                    anext(observation),
                    one.close(),
                    return_exceptions=True,
                )
            ]

        return asyncio.run(try_all())

    async with bus.connect() as one:
        observation = await one.observe("nothing.here").ready()
        found = await asyncio.to_thread(use)
        assert [type(error) for error in found] == [RuntimeError] * 4
        assert "belongs to the event loop" in str(found[0])
        assert not one._link.outbox
        await one.post_acknowledged("a.b")


async def test_a_forked_process_leaves_the_connection_to_its_parent(bus: RunningBus) -> None:
    def use_in_child(one: tribune.Bus, held: tribune.Hold) -> None:
        """Exits with 0 if everything is refused."""

        async def use() -> None:
            for request in (one.post("a.b"), one.ask("a.shouldB")):
                with pytest.raises(TribuneError, match="the process that forked this one"):
                    await request
            await held.release()
            await one.close()

        status = 1
        try:
            transport = one._link.transport
            assert transport is not None
            # The bus must see the end of the connection when the parent is killed.
            assert transport._socket.fileno() == -1
            asyncio.run(use())
            status = 0
        finally:
            os._exit(status)

    async with bus.connect() as one, one.hold("forked.*", why="x") as held:
        child = os.fork()
        if child == 0:
            use_in_child(one, held)
        assert await asyncio.to_thread(os.waitpid, child, 0) == (child, 0)
        # The parent's loop still polls the connection, which was not shut down.
        assert not await one.ask("forked.shouldB")
