# SPDX-License-Identifier: Apache-2.0
"""Posting and observing, with a real bus."""

from __future__ import annotations

import asyncio
import gc
import math
import os
from collections.abc import Callable

import pytest
from conftest import DEADLINE, RunningBus

import tribune
from tribune import Code, Interrupted, Lost, Notification, Suspension, TribuneError


async def next_notification(observation: tribune.Observation) -> Notification:
    delivery = await anext(observation)
    assert isinstance(delivery, Notification)
    return delivery


async def test_an_observer_gets_what_is_posted(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as other:
        async with one.observe("backup.**") as observation:
            await other.post("backup.didFinish", {"bytes": 1}, object="volume/home")
            found = await next_notification(observation)
        assert (found.name, found.object) == ("backup.didFinish", "volume/home")
        assert found.json() == {"bytes": 1}
        assert found.sender == other.id
        assert not found.is_retained


async def test_an_observation_covers_what_is_posted_behind_it(bus: RunningBus) -> None:
    async with bus.connect() as one:
        observation = one.observe("own.*")
        await one.post("own.first")
        assert (await next_notification(observation)).name == "own.first"


@pytest.mark.parametrize(
    ("user_info", "payload"),
    [
        (None, b""),
        (b"\x00\xff", b"\x00\xff"),
        (bytearray(b"ab"), b"ab"),
        ("grün", '"grün"'.encode()),
        ({"a": [1, None]}, b'{"a": [1, null]}'),
        (7, b"7"),
    ],
)
async def test_user_info_is_bytes_or_json(
    bus: RunningBus, user_info: object, payload: bytes
) -> None:
    async with bus.connect() as one:
        observation = one.observe("info.*")
        await one.post("info.kind", user_info)
        assert (await next_notification(observation)).user_info == payload


@pytest.mark.parametrize(("user_info", "error"), [({1}, TypeError), ([math.nan], ValueError)])
async def test_what_is_no_json_is_not_posted(
    bus: RunningBus, user_info: object, error: type[Exception]
) -> None:
    async with bus.connect() as one:
        with pytest.raises(error):
            await one.post("info.kind", user_info)


async def test_long_user_info_travels_as_a_file(bus: RunningBus) -> None:
    payloads = [os.urandom(size) for size in (65_535, 65_536, 3_000_000)]
    async with bus.connect() as one, bus.connect() as other:
        async with one.observe("long.*") as observation:
            for place, payload in enumerate(payloads):
                await other.post("long.one", payload, object=f"{place}", retain=True)
            for payload in payloads:
                assert (await next_notification(observation)).user_info == payload
        retained = one.observe("long.*", retained=True)
        for payload in payloads:
            found = await next_notification(retained)
            assert found.is_retained
            assert found.user_info == payload
        for place in range(len(payloads)):
            await other.post("long.one", object=f"{place}", retain=True)
        before = len(os.listdir("/proc/self/fd"))
        for payload in payloads * 3:
            await other.post_acknowledged("long.two", payload)
            while (await next_notification(retained)).name != "long.two":
                continue
        assert len(os.listdir("/proc/self/fd")) == before


async def test_long_user_info_that_waits_is_bounded(bus: RunningBus) -> None:
    payload = b"x" * (8 << 20)
    async with bus.connect() as one:
        async with one.observe("many.*", limit=4) as observation:
            received = 0
            for _ in range(40):
                await one.post("many.long", payload)
            async with asyncio.timeout(DEADLINE):
                while received < 40:
                    match await anext(observation):
                        case Lost(count):
                            received += count
                        case Notification():
                            received += 1


async def test_several_patterns_give_one_copy(bus: RunningBus) -> None:
    async with bus.connect() as one:
        observation = one.observe("copy.*", "copy.a", "copy.**")
        await one.post("copy.a")
        await one.post("copy.b")
        assert [(await next_notification(observation)).name for _ in "ab"] == ["copy.a", "copy.b"]


async def test_each_observation_of_a_connection_gets_what_it_matches(bus: RunningBus) -> None:
    async with bus.connect() as one:
        first = one.observe("two.a.*")
        second = one.observe("two.**", object="x")
        await one.post("two.a.b")
        await one.post("two.a.c", object="x")
        await one.post("two.d", object="x")
        assert [(await next_notification(first)).name for _ in "12"] == ["two.a.b", "two.a.c"]
        assert [(await next_notification(second)).name for _ in "12"] == ["two.a.c", "two.d"]


async def test_retained_notifications_come_first_and_once(bus: RunningBus) -> None:
    async with bus.connect() as one:
        await one.post("kept.a", b"1", retain=True)
        await one.post("kept.b", b"2", retain=True)
        async with one.observe("kept.a", "kept.*", retained=True) as observation:
            await one.post("kept.a", b"3")
            found = [await next_notification(observation) for _ in range(3)]
        assert [(n.name, n.text, n.is_retained) for n in found] == [
            ("kept.a", "1", True),
            ("kept.b", "2", True),
            ("kept.a", "3", False),
        ]
        assert {info.name for info in await one.retained()} >= {"kept.a", "kept.b"}


async def test_a_cancelled_reader_loses_nothing(bus: RunningBus) -> None:
    async with bus.connect() as one:
        observation = one.observe("cancel.*")
        await observation.ready()
        found: list[str] = []

        async def read() -> None:
            async for delivery in observation:
                assert isinstance(delivery, Notification)
                found.append(delivery.text)

        total = 300
        for number in range(total):
            await one.post("cancel.now", number)
            reader = asyncio.create_task(read())
            # Cancels the reader at varying points.
            for _ in range(number % 7):
                await asyncio.sleep(0)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
        while len(found) < total:
            found.append((await next_notification(observation)).text)
        assert found == [str(number) for number in range(total)]


async def test_a_slow_reader_loses_nothing(bus: RunningBus) -> None:
    async with bus.connect() as one:
        async with one.observe("slow.*", limit=3) as observation:
            for number in range(10):
                await one.post("slow.one", number)
            await one.post_acknowledged("slow.last")
            await one.status()
            found = [(await next_notification(observation)).text for _ in range(11)]
            assert found == [*map(str, range(10)), ""]


async def test_a_snapshot_longer_than_the_limit_arrives_whole(
    make_bus: Callable[..., RunningBus],
) -> None:
    (bus, count) = (make_bus(), 6_000)
    async with bus.connect() as one, bus.connect() as other:
        for number in range(count):
            await other.post(f"kept.n{number}", number, retain=True)
        await other.post_acknowledged("kept.last", number, retain=True)
        async with one.observe("kept.*", retained=True) as observation:
            for number in range(count):
                assert (await next_notification(observation)).text == str(number)


async def test_a_reader_that_asks_meanwhile_loses_nothing(bus: RunningBus) -> None:
    count = 20_000
    async with bus.connect(pace=math.inf) as poster, bus.connect() as reader:
        observation = await reader.observe("load.level").ready()

        async def post() -> None:
            for number in range(count):
                await poster.post("load.level", number)

        posting = asyncio.create_task(post())
        for number in range(count):
            if number % 500 == 0:
                await reader.ask("load.shouldRise")
            assert (await next_notification(observation)).text == str(number)
        await posting


async def test_suspension_holds_coalesces_drops_and_lets_through(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as other:
        observations = {
            suspension: one.observe(f"s.{suspension.value}", suspension=suspension)
            for suspension in Suspension
        }
        for observation in observations.values():
            await observation.ready()
        await one.suspend()
        assert one.is_suspended
        immediate = observations.pop(Suspension.DELIVER_IMMEDIATELY)
        await other.post_acknowledged("s.deliverImmediately")
        assert (await next_notification(immediate)).name == "s.deliverImmediately"
        for number in range(2):
            for suspension in observations:
                await other.post_acknowledged(f"s.{suspension.value}", number)
        await one.resume()
        assert not one.is_suspended
        held = observations[Suspension.HOLD]
        assert [(await next_notification(held)).text for _ in "12"] == ["0", "1"]
        assert (await next_notification(observations[Suspension.COALESCE])).text == "1"
        for suspension in observations:
            await other.post(f"s.{suspension.value}", b"end")
            assert (await next_notification(observations[suspension])).text == "end"


async def test_an_awaited_post_says_who_is_done(bus: RunningBus) -> None:
    async with bus.connect() as poster, bus.connect() as good, bus.connect() as bad:
        flusher = good.observe("disk.willUnmount", awaited=True)
        failing = bad.observe("disk.willUnmount", awaited=True)
        await flusher.ready()
        await failing.ready()
        posting = asyncio.create_task(poster.post_awaited("disk.willUnmount", deadline=20))
        notification = await next_notification(flusher)
        assert notification.is_awaited
        with notification.handling():
            pass
        notification = await next_notification(failing)
        with pytest.raises(OSError, match="full"), notification.handling():
            raise OSError("the disk is full")
        reply = await posting
        assert not reply
        assert reply.acknowledged == 1
        (missing,) = reply.missing
        assert missing.failure is tribune.Failure.FAILED
        assert missing.reason == "OSError: the disk is full"
        assert missing.connection == bad.id
        assert missing.peer.pid == os.getpid()


async def test_several_awaited_observations_give_one_report(bus: RunningBus) -> None:
    async with bus.connect() as one:
        first = one.observe("both.*", awaited=True)
        second = one.observe("both.a", awaited=True)
        posting = asyncio.create_task(one.post_awaited("both.a"))
        (await next_notification(first)).done()
        (await next_notification(second)).failed("no")
        reply = await posting
        assert (reply.acknowledged, reply.missing[0].reason) == (0, "no")


async def test_a_forgotten_awaited_notification_has_failed(bus: RunningBus) -> None:
    async with bus.connect() as one:
        observation = one.observe("forget.*", awaited=True)
        posting = asyncio.create_task(one.post_awaited("forget.a"))
        await next_notification(observation)
        gc.collect()
        assert "without an acknowledgement" in (await posting).missing[0].reason


async def test_an_awaited_notification_waits_for_its_reader(bus: RunningBus) -> None:
    async with bus.connect() as one:
        observation = one.observe("unread.*", awaited=True, limit=1)
        posting = asyncio.create_task(one.post_awaited("unread.a"))
        await asyncio.sleep(0)
        await one.post_acknowledged("unread.b")
        (await next_notification(observation)).done()
        assert (await posting).acknowledged == 1
        assert (await next_notification(observation)).name == "unread.b"


async def test_a_dropped_observation_is_taken_back(bus: RunningBus) -> None:
    async with bus.connect() as one:
        observation = one.observe("dropped.*", awaited=True)
        await observation.ready()
        assert (await one.own()).observations == 1
        posting = asyncio.create_task(one.post_awaited("dropped.a"))
        await asyncio.sleep(0)
        del observation
        gc.collect()
        # The poster does not wait for a withdrawn observation.
        assert (await posting).acknowledged == 0
        assert (await one.own()).observations == 0


async def test_posters_are_identified_if_that_is_wanted(bus: RunningBus) -> None:
    async with bus.connect(identify_posters=True) as one, bus.connect() as other:
        async with one.observe("who.*") as observation:
            await other.post("who.am")
            poster = (await next_notification(observation)).poster
        assert poster is not None
        assert (poster.pid, poster.uid) == (os.getpid(), os.getuid())
        assert poster.process


async def test_the_bus_posts_under_its_own_names_only(bus: RunningBus) -> None:
    async with bus.connect() as one:
        everything = one.observe("**")
        own = one.observe("tribune.connection.*")
        await own.ready()
        async with bus.connect() as other:
            found = await next_notification(own)
            assert found.name == "tribune.connection.didConnect"
            assert found.sender is None
            await other.post("after.it")
        assert (await next_notification(everything)).name == "after.it"


@pytest.mark.parametrize(
    ("name", "object", "code"),
    [
        ("", "", Code.INVALID_NAME),
        ("a..b", "", Code.INVALID_NAME),
        ("a.*", "", Code.INVALID_NAME),
        ("a" * 256, "", Code.INVALID_NAME),
        ("ä", "", Code.INVALID_NAME),
        ("tribune.a", "", Code.RESERVED_NAME),
        ("a", "x\n", Code.INVALID_OBJECT),
        ("a", "ä" * 128, Code.INVALID_OBJECT),
        ("a", "\ud800", Code.INVALID_OBJECT),
    ],
)
async def test_what_cannot_be_posted_is_refused(
    bus: RunningBus, name: str, object: str, code: Code
) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.post(name, object=object)
        assert caught.value.code is code
        with pytest.raises(TribuneError) as caught:
            await one.post_acknowledged(name, object=object)
        assert caught.value.code is code


async def test_what_is_too_long_is_refused(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.post("a", bytes(one.info.payload_max + 1))
        assert caught.value.code is Code.PAYLOAD_TOO_LONG


async def test_an_invalid_pattern_is_refused(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            one.observe("a.**.b")
        assert caught.value.code is Code.INVALID_PATTERN


async def test_posts_wait_while_the_bus_does_not_read(bus: RunningBus) -> None:
    async with bus.connect() as one:
        async with one.observe("burst.*", limit=100_000) as observation:
            for number in range(50_000):
                await one.post("burst.one", number)
                assert one._link.outbox.size <= 2 << 20
            seen = 0
            while seen < 50_000:
                match await anext(observation):
                    case Lost(count):
                        seen += count
                    case Notification(user_info=payload):
                        assert int(payload) == seen
                        seen += 1
                    case Interrupted():
                        pytest.fail("the connection was interrupted")
