# SPDX-License-Identifier: Apache-2.0
"""The frames that a client sends after it reconnected."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable

from conftest import GREETING, MadeBus

import tribune
from tribune import Answer, Notification, Question, _wire
from tribune._frame import Frame, decode_fields, encode
from tribune._wire import FrameKind


async def frames(peer: socket.socket) -> AsyncIterator[Frame]:
    """The frames that a client sends after its hello."""
    loop = asyncio.get_running_loop()
    data = b""
    while True:
        frame = Frame.decode(data)
        if isinstance(frame, Frame):
            data = data[frame.length :]
            yield frame
            continue
        received = await loop.sock_recv(peer, 1 << 20)
        if not received:
            return
        data += received


def okay(serial: int, delegate: int = 0) -> bytes:
    return encode(_wire.Okay(registration=serial, delegate=delegate), serial=serial)


async def connect(
    bus: MadeBus, on_event: Callable[[tribune.ConnectionEvent], object] | None = None
) -> tuple[tribune.Bus, socket.socket]:
    async def connecting() -> tribune.Bus:
        return await tribune.connect(bus.address, reconnect_timeout=20, on_event=on_event)

    task = asyncio.create_task(connecting())
    peer = await accept(bus)
    return await task, peer


async def accept(bus: MadeBus) -> socket.socket:
    peer = await bus.accept()
    peer.setblocking(False)
    peer.send(GREETING)
    return peer


async def test_a_shortened_hold_does_not_grow_by_its_renewal(made_bus: MadeBus) -> None:
    bus, peer = await connect(made_bus)
    hold = bus.hold("a.*", why="x")
    assert hold.expires_in is None
    taking = asyncio.create_task(hold.take())
    first = await anext(frames(peer))
    assert decode_fields(_wire.Hold, first).expiry == 0
    end = time.monotonic_ns() + 3_600_000_000_000
    confirmation = _wire.Okay(registration=first.serial, delegate=4, expiry=end)
    peer.send(encode(confirmation, serial=first.serial))
    await taking
    assert hold.is_shortened
    assert hold.expires_in is not None
    assert 0 < hold.expires_in <= 3600
    peer.close()
    peer = await accept(made_bus)
    again = await anext(frames(peer))
    assert (again.kind, again.serial) == (FrameKind.HOLD, first.serial)
    assert decode_fields(_wire.Hold, again).expiry == end
    peer.close()
    await bus.close()


async def test_a_delegate_that_was_set_is_attached_beside_others(made_bus: MadeBus) -> None:
    async def approve(question: Question) -> Answer:
        return True

    bus, peer = await connect(made_bus)
    attaching = asyncio.create_task(bus.attach(approve, "a.*", replace=True))
    first = await anext(frames(peer))
    assert decode_fields(_wire.Attach, first).is_set
    peer.send(okay(first.serial, delegate=4))
    attachment = await attaching
    peer.send(encode(_wire.Lost(count=2)) + encode(_wire.Post(), name=b"a.didB"))
    peer.close()
    peer = await accept(made_bus)
    sent = frames(peer)
    again = await anext(sent)
    assert (again.kind, again.serial) == (FrameKind.ATTACH, first.serial)
    assert not decode_fields(_wire.Attach, again).is_set
    succeed = await anext(sent)
    # Reported losses are part of the received ones.
    fields = decode_fields(_wire.Succeed, succeed)
    assert (fields.predecessor, fields.received) == (7, 3)
    peer.send(okay(again.serial, delegate=9) + okay(succeed.serial))
    await bus.post("a.b")
    assert (await anext(sent)).name == "a.b"
    assert attachment.id == 9
    peer.close()
    bus._link.end(None)


async def test_a_frame_that_was_sent_in_part_is_sent_again(made_bus: MadeBus) -> None:
    bus, peer = await connect(made_bus)
    posted = 0
    while not bus._link.outbox:
        await bus.post("a.b", str(posted).encode().ljust(50_001))
        posted += 1
        bus._link.flush()
    assert bus._link.outbox._offset
    left = len(bus._link.outbox.frames)
    peer.close()
    peer = await accept(made_bus)
    sent = frames(peer)
    succeed = await anext(sent)
    peer.send(okay(succeed.serial))
    for number in range(posted - left, posted):
        assert int((await anext(sent)).payload) == number
    peer.close()
    bus._link.end(None)


async def test_an_acknowledgement_of_a_lost_connection_is_not_sent(made_bus: MadeBus) -> None:
    bus, peer = await connect(made_bus)
    observation = bus.observe("a", awaited=True)
    sent = frames(peer)
    assert (await anext(sent)).kind == FrameKind.ROOM
    first = await anext(sent)
    awaited = _wire.Post(options=_wire.PostOptions.AWAITED)
    peer.send(okay(first.serial) + encode(awaited, name=b"a", sender=3, serial=5))
    notification = await anext(observation)
    assert isinstance(notification, Notification)
    peer.close()
    peer = await accept(made_bus)
    sent = frames(peer)
    assert (await anext(sent)).kind == FrameKind.ROOM
    again, succeed = await anext(sent), await anext(sent)
    peer.send(okay(again.serial) + okay(succeed.serial))
    notification.done()
    await bus.post("a.b")
    assert (await anext(sent)).kind == FrameKind.POST
    peer.close()
    bus._link.end(None)


async def test_without_a_deadline_the_default_of_the_last_bus_limits_the_wait(
    made_bus: MadeBus,
) -> None:
    events: asyncio.Queue[object] = asyncio.Queue()
    bus, peer = await connect(made_bus, events.put_nowait)
    peer.close()
    assert isinstance(await events.get(), tribune.Disconnected)
    asking = asyncio.create_task(bus.ask("a.shouldB"))
    await asyncio.sleep(0)
    (timer,) = (one.timer for one in bus._link.requests.values() if one.deadline == 0)
    assert timer is not None
    assert 0 < timer.when() - asyncio.get_running_loop().time() <= 30
    asking.cancel()
    bus._link.end(None)


async def test_a_deadline_includes_the_time_without_a_bus(made_bus: MadeBus) -> None:
    events: asyncio.Queue[object] = asyncio.Queue()
    bus, peer = await connect(made_bus, events.put_nowait)
    peer.close()
    assert isinstance(await events.get(), tribune.Disconnected)
    asking = asyncio.create_task(bus.ask("a.shouldB", deadline=20))
    # Its deadline begins with the task.
    await asyncio.sleep(0)
    await asyncio.sleep(0.02)
    peer = await accept(made_bus)
    sent = frames(peer)
    succeed = await anext(sent)
    peer.send(okay(succeed.serial))
    ask = await anext(sent)
    assert 0 < decode_fields(_wire.Ask, ask).deadline <= 19_980
    verdict = _wire.Verdict(
        query=1, verdict=_wire.VerdictKind.ALLOWED, is_unanswered=True, outcomes=[]
    )
    peer.send(encode(verdict, serial=ask.serial))
    assert await asking
    peer.close()
    bus._link.end(None)
