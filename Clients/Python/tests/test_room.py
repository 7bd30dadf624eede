# SPDX-License-Identifier: Apache-2.0
"""Flow control, with a bus that sends notifications only while the client has room."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any, cast

import pytest
from conftest import GREETING, MadeBus
from test_renewal import accept, connect, frames, okay

import tribune
from tribune import (
    Answer,
    Delegate,
    Delivery,
    Interrupted,
    Lost,
    Notification,
    Question,
    _delegation,
    _stream,
    _wire,
)
from tribune._frame import Frame, decode_fields, encode
from tribune._link import Link
from tribune._room import Room
from tribune._stream import Stream
from tribune._wire import FrameKind


def post(text: object, name: bytes = b"a.b") -> bytes:
    return encode(_wire.Post(), name=name, payload=str(text).encode())


def retained(serial: int, name: bytes) -> bytes:
    return encode(_wire.Retained(age=1), name=name, serial=serial)


def lost(count: int) -> bytes:
    return encode(_wire.Lost(count=count))


ALLOWED = _wire.Verdict(query=1, verdict=_wire.VerdictKind.ALLOWED, is_unanswered=True, outcomes=[])


class PacedBus:
    """The bus's end of one connection. Notifications wait here while the client has no room."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self.limits: list[int] = []
        self.sent = 0
        self._waiting: deque[bytes] = deque()
        self._limits_changed = asyncio.Event()
        self._serving = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        async for frame in frames(self._peer):
            match frame.kind:
                case FrameKind.ROOM:
                    self.limits.append(decode_fields(_wire.Room, frame).limit)
                    self._limits_changed.set()
                    self._send()
                case FrameKind.ASK:
                    self._peer.send(encode(ALLOWED, serial=frame.serial))
                case FrameKind.OBSERVE:
                    assert self.limits
                    self._peer.send(okay(frame.serial))
                case _:
                    self._peer.send(okay(frame.serial))

    def _send(self) -> None:
        room = self.limits[-1] - self.sent
        batch = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        self.sent += len(batch)
        self._peer.send(b"".join(batch))

    def post(self, *notifications: bytes) -> None:
        self._waiting.extend(notifications)
        self._send()

    def lose(self, count: int) -> None:
        self.sent += count
        self._peer.send(lost(count))

    def send(self, frame: bytes) -> None:
        """Sends a frame that needs no room."""
        self._peer.send(frame)

    async def limit(self, expected: int) -> None:
        """Waits for this limit."""
        while expected not in self.limits:
            self._limits_changed.clear()
            await self._limits_changed.wait()

    async def close(self) -> None:
        """Ends the connection."""
        self._serving.cancel()
        await asyncio.wait({self._serving})
        self._peer.close()
        if not self._serving.cancelled():
            self._serving.result()


@contextlib.asynccontextmanager
async def paced(made_bus: MadeBus) -> AsyncIterator[tuple[tribune.Bus, PacedBus]]:
    async with made_bus.connected() as (one, peer):
        bus = PacedBus(peer)
        try:
            yield one, bus
        finally:
            await bus.close()


async def text(observation: tribune.Observation) -> str:
    delivery = await anext(observation)
    assert isinstance(delivery, Notification)
    return delivery.text


async def turns() -> None:
    """Lets both ends handle everything that was sent."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 8, 100])
async def test_a_slow_reader_loses_nothing(made_bus: MadeBus, limit: int) -> None:
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=limit).ready()
        bus.post(*map(post, range(300)))
        for number in range(300):
            await asyncio.sleep(0)
            assert observation._stream.waiting <= limit
            assert await text(observation) == str(number)
        assert bus.limits == sorted(set(bus.limits))


async def test_room_comes_before_the_first_observation(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (one, peer):
        sent = frames(peer)
        await one.post("a.b")
        one.observe("a.*", limit=7)
        one.observe("b.*", limit=3)
        found = [await anext(sent) for _ in range(4)]
        assert [frame.kind for frame in found] == [
            FrameKind.ROOM,
            FrameKind.POST,
            FrameKind.OBSERVE,
            FrameKind.OBSERVE,
        ]
        assert (found[0].serial, decode_fields(_wire.Room, found[0]).limit) == (0, 7)


async def test_a_monitor_needs_room_and_a_delegate_none(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (one, peer):
        sent = frames(peer)
        one.delegate("a.*")(Delegate().answer)
        assert (await anext(sent)).kind == FrameKind.ATTACH
        one.monitor("a.*")
        assert [(await anext(sent)).kind for _ in "12"] == [FrameKind.ROOM, FrameKind.MONITOR]


async def test_room_grows_as_the_program_reads(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=8).ready()
        bus.post(*map(post, range(8)))
        for _ in range(3):
            await text(observation)
        await turns()
        assert bus.limits == [8]
        await text(observation)
        await bus.limit(12)


async def test_room_grows_while_a_reader_keeps_up(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=8).ready()
        for number in range(8):
            bus.post(post(number))
            await text(observation)
        await turns()
        # Each raise is by a quarter of the limit.
        assert bus.limits == [8, 10, 12, 14]


async def test_the_bus_can_ask_for_the_room_again(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=4).ready()
        bus.post(*map(post, range(4)))
        bus.send(encode(_wire.Room(limit=0)))
        await turns()
        assert bus.limits == [4, 4]
        observation.cancel()
        bus.send(encode(_wire.Room(limit=0)))
        await turns()
        assert bus.limits == [4, 4, 4]


async def renewed(bus: MadeBus) -> tuple[PacedBus, list[Frame]]:
    """Accepts a renewal with one observation, without answering it."""
    peer = await accept(bus)
    sent = frames(peer)
    first = [await anext(sent) for _ in range(3)]
    assert [frame.kind for frame in first] == [
        FrameKind.ROOM,
        FrameKind.OBSERVE,
        FrameKind.SUCCEED,
    ]
    paced = PacedBus(peer)
    paced.limits.append(decode_fields(_wire.Room, first[0]).limit)
    return paced, first[1:]


async def test_room_begins_anew_with_each_connection(made_bus: MadeBus) -> None:
    one, peer = await connect(made_bus)
    bus = PacedBus(peer)
    observation = await one.observe("a.*", limit=8).ready()
    bus.post(*map(post, range(6)))
    await text(observation)
    await bus.close()
    bus, (observe, succeed) = await renewed(made_bus)
    assert bus.limits == [3]
    bus.send(okay(observe.serial))
    bus.post(*map(post, range(6, 12)))
    # A reader can go on, and the bus can ask again, before the renewal is complete.
    for number in range(1, 6):
        assert await text(observation) == str(number)
    bus.send(encode(_wire.Room(limit=0)))
    await turns()
    assert bus.limits == [3]
    bus.lose(2)
    bus.send(okay(succeed.serial))
    assert await anext(observation) == Lost(2)
    for number in range(6, 12):
        assert await text(observation) == str(number)
    assert bus.sent == 8
    await bus.close()
    one._link.end(None)


async def test_a_full_stream_gives_a_new_connection_no_room(made_bus: MadeBus) -> None:
    one, peer = await connect(made_bus)
    bus = PacedBus(peer)
    observation = await one.observe("a.*", limit=2).ready()
    bus.post(*map(post, range(2)))
    await turns()
    await bus.close()
    bus, (observe, succeed) = await renewed(made_bus)
    assert bus.limits == [0]
    bus.send(okay(observe.serial))
    bus.post(*map(post, range(2, 4)))
    bus.send(encode(_wire.Refusal(code=_wire.ErrorCode.NOT_FOUND), serial=succeed.serial))
    assert [await text(observation) for _ in "12"] == ["0", "1"]
    assert await anext(observation) == Interrupted()
    assert [await text(observation) for _ in "12"] == ["2", "3"]
    await bus.close()
    one._link.end(None)


@pytest.mark.parametrize("end", [tribune.Observation.cancel, None])
async def test_a_sequence_that_nobody_reads_stops_the_others_until_it_ends(
    made_bus: MadeBus, end: Callable[[tribune.Observation], None] | None
) -> None:
    async with paced(made_bus) as (one, bus):
        unread: tribune.Observation | None = await one.observe("a.*", limit=4).ready()
        read = await one.observe("a.b").ready()
        bus.post(*map(post, range(20)))
        assert [await text(read) for _ in range(4)] == list("0123")
        await turns()
        assert bus.sent == 4
        assert unread is not None
        if end is None:
            unread = None
        else:
            end(unread)
        assert [await text(read) for _ in range(16)] == [str(number) for number in range(4, 20)]
        if unread is not None:
            # What it has can still be read.
            assert [await text(unread) for _ in range(4)] == list("0123")


async def test_an_observation_that_is_refused_gives_its_room_back(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (one, peer):
        sent = frames(peer)
        one.observe("a.*", limit=2)
        one.observe("b.*")
        first = [await anext(sent) for _ in range(3)][1]
        peer.send(encode(_wire.Refusal(code=76), serial=first.serial))
        assert decode_fields(_wire.Room, await anext(sent)).limit == 4096


async def test_a_small_limit_holds_beside_a_large_one(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        small = await one.observe("a.*", limit=1).ready()
        await one.observe("b.*").ready()
        bus.post(*map(post, range(10)))
        for number in range(10):
            await asyncio.sleep(0)
            assert small._stream.waiting <= 1
            assert await text(small) == str(number)


async def test_retained_notifications_follow_the_confirmation(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        observation = one.observe("a.b", "a.*", retained=True)
        other = one.observe("a.*", retained=True)
        await other.ready()
        bus.post(retained(1, b"a.b"), retained(2, b"a.b"), retained(2, b"a.c"), post("new"))
        bus.post(retained(3, b"a.b"))
        found = [await anext(observation) for _ in range(3)]
        assert [(n.name, n.is_retained) for n in found if isinstance(n, Notification)] == [
            ("a.b", True),
            ("a.c", True),
            ("a.b", False),
        ]
        found = [await anext(other) for _ in range(2)]
        assert [n.is_retained for n in found if isinstance(n, Notification)] == [False, True]


async def test_losses_of_the_bus_count_as_received(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=4).ready()
        bus.post(*map(post, range(4)))
        bus.lose(10)
        bus.lose(20)
        bus.post(post("behind"))
        await turns()
        # The limit has passed the losses, and gives nothing while the stream is full.
        assert bus.limits[-1] == 34
        assert bus.sent == 34
        assert [await text(observation) for _ in range(4)] == list("0123")
        assert await anext(observation) == Lost(30)
        assert await text(observation) == "behind"


async def test_asking_while_iterating_loses_nothing(made_bus: MadeBus) -> None:
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=2).ready()
        bus.post(*map(post, range(50)))
        found = []
        async for delivery in observation:
            assert isinstance(delivery, Notification)
            found.append(int(delivery.text))
            assert await one.ask("a.shouldB")
            if len(found) == 50:
                break
        assert found == list(range(50))


async def test_much_user_info_gives_no_room(
    made_bus: MadeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_stream, "_HIGH_MARK", 10)
    async with paced(made_bus) as (one, bus):
        observation = await one.observe("a.*", limit=4).ready()
        bus.post(*(post("123456") for _ in range(8)))
        for _ in range(2):
            await text(observation)
        await turns()
        assert bus.limits == [4]
        for _ in range(6):
            await text(observation)
        assert bus.limits[1] == 7


async def test_room_overtakes_posts_that_wait(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (one, peer):
        observation = one.observe("a.*", limit=2)
        sent = frames(peer)
        assert [(await anext(sent)).kind for _ in "12"] == [FrameKind.ROOM, FrameKind.OBSERVE]
        while not one._link.outbox.is_full:
            await one.post("b.c", b"x" * 60_000)
        assert one._link.outbox._offset
        peer.send(okay(1) + post(1) + post(2))
        await text(observation)
        assert [frame[4] for frame in one._link.outbox.frames][:3] == [
            FrameKind.POST,
            FrameKind.ROOM,
            FrameKind.POST,
        ]
        while (frame := await anext(sent)).kind != FrameKind.ROOM:
            assert len(frame.payload) == 60_000
        assert decode_fields(_wire.Room, frame).limit == 3


async def test_a_slow_delegate_learns_how_many_it_lost(
    made_bus: MadeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_delegation, "_DELIVERIES_MAX", 2)
    received: asyncio.Queue[Delivery] = asyncio.Queue()
    may_go_on = asyncio.Event()

    class Slow(Delegate):
        async def answer(self, question: Question) -> Answer:
            return True

        async def received(self, delivery: Delivery) -> None:
            received.put_nowait(delivery)
            await may_go_on.wait()

    async with made_bus.connected() as (one, peer):
        attaching = asyncio.create_task(one.attach(Slow(), "a.*"))
        await anext(frames(peer))
        peer.send(okay(1))
        await attaching
        peer.send(post(0, b"a.didB"))
        found = [await received.get()]
        peer.send(b"".join(post(number, b"a.didB") for number in range(1, 6)) + lost(10))
        await turns()
        may_go_on.set()
        found += [await received.get() for _ in range(3)]
        peer.send(post("end", b"a.didB"))
        found.append(await received.get())
        assert [getattr(one, "text", one) for one in found] == ["0", "1", "2", Lost(13), "end"]
        # These count, although they need no room.
        sent = frames(peer)
        one.observe("b.*", limit=5)
        assert decode_fields(_wire.Room, await anext(sent)).limit == 7 + 10 + 5


class Simulation:
    """Readers of one connection, and a bus that sends to the limit."""

    is_open = True

    def __init__(self, limits: list[int]) -> None:
        self.receiver = self
        self.received = 0
        self.limit = -1
        self.room = Room(cast("Link", self))
        self.streams: list[Stream[int]] = [Stream(limit, self.room) for limit in limits]
        for stream in self.streams:
            self.room.add(stream)

    def send_ahead(self, frame: bytes) -> None:
        decoded = Frame.decode(frame)
        assert isinstance(decoded, Frame)
        limit = decode_fields(_wire.Room, decoded).limit
        assert limit > self.limit
        self.limit = limit

    def receive(self, count: int, random: Random) -> None:
        for _ in range(count):
            self.received += 1
            for stream in self.streams:
                if random.random() < 0.7:
                    stream.deliver(self.received, random.choice([0, 0, 20 << 20]))
        self.room.note_batch()


@pytest.mark.parametrize("seed", range(100))
async def test_readers_that_go_on_reading_are_never_stuck(seed: int) -> None:
    random = Random(seed)
    limits: list[int] = [random.choice([1, 2, 3, 4, 7, 8, 20]) for _ in range(random.randint(1, 4))]
    simulated = Simulation(limits)
    while simulated.received < 300:
        room = simulated.limit - simulated.received
        readable: list[Stream[Any]] = [one for one in simulated.streams if one.waiting]
        assert room > 0 or readable
        if room > 0 and (random.random() < 0.5 or not readable):
            simulated.receive(random.randint(1, room), random)
        else:
            await random.choice(readable).next()
        if random.random() < 0.01 and len(simulated.streams) > 1:
            simulated.streams.pop(random.randrange(len(simulated.streams))).discard()


@pytest.mark.parametrize(("pace", "limit"), [(0.25, 250), (65, 65_000), (math.inf, 65_535)])
async def test_pace_is_sent_with_the_hello(made_bus: MadeBus, pace: float, limit: int) -> None:
    connecting = asyncio.create_task(connect_paced(made_bus.address, pace))
    peer = await made_bus.accept()
    peer.send(GREETING)
    async with await connecting:
        frame = await anext(frames(peer))
        assert decode_fields(_wire.Pace, frame).limit == limit
    peer.close()


async def connect_paced(address: str, pace: float) -> tribune.Bus:
    return await tribune.connect(address, reconnect_timeout=0, pace=pace)


@pytest.mark.parametrize("pace", [-1, 66, math.nan])
def test_a_pace_out_of_range_is_refused(pace: float) -> None:
    with pytest.raises(ValueError, match="pace is"):
        tribune.connect("unix:/nowhere", pace=pace)
