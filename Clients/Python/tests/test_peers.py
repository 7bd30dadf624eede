# SPDX-License-Identifier: Apache-2.0
"""Peers that are not a bus, and bytes that no bus would send."""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import DEADLINE, GREETING, MadeBus, connect_once
from test_vectors import vector

import tribune
from tribune import (
    Code,
    Lost,
    Notification,
    TribuneError,
    _link,
    _memory,
    _questions,
    _requests,
    _wire,
)
from tribune._frame import DESCRIPTOR, HEADER_LENGTH, Frame, Hello, decode_fields, encode

# Its fields end after the first.
SHORT_WELCOME = bytes([40, 0, 0, 0, 1]) + bytes(19) + bytes([8, 0, 0, 0]) + bytes(12)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"HTTP/1.1 400 Bad Request", Code.PROTOCOL_VIOLATION),
        (b"H", Code.PROTOCOL_VIOLATION),
        (Hello(version=9, minimum=2).encode(), Code.UNSUPPORTED_VERSION),
        (Hello().encode() + vector("post"), Code.PROTOCOL_VIOLATION),
        (Hello().encode() + SHORT_WELCOME, Code.PROTOCOL_VIOLATION),
        (Hello().encode() + b"\xff\xff\xff\xff" + bytes(28), Code.PROTOCOL_VIOLATION),
    ],
)
async def test_a_peer_that_is_no_bus_is_refused(made_bus: MadeBus, sent: bytes, code: Code) -> None:
    connecting = asyncio.create_task(connect_once(made_bus.address))
    peer = await made_bus.accept()
    peer.send(sent)
    with pytest.raises(TribuneError) as caught:
        await connecting
    assert caught.value.code is code
    peer.close()


async def test_a_bus_that_does_not_answer_keeps_nobody(
    made_bus: MadeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_link, "_REPLY_GRACE", 0.0)
    async with made_bus.connected() as (bus, _):
        for request in (
            bus.ask("a.shouldB", deadline=0.01),
            bus.query("a.b", deadline=0.01),
            bus.post_awaited("a.b", deadline=0.01),
        ):
            with pytest.raises(TribuneError, match="did not answer in time") as caught:
                await request
            assert caught.value.code is Code.CONNECTION_LOST
        assert not bus._link.requests


def refusal_of_connection(number: int) -> bytes:
    return encode(_wire.Refusal(code=number), payload=b"a reason")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (10, Code.LIMIT_EXCEEDED),
        (12, Code.SHUTTING_DOWN),
        (6, Code.TOO_SLOW),
        (14, Code.CONNECTION_LOST),
        (4097, Code.REFUSED),
    ],
)
async def test_a_bus_that_refuses_the_connection_says_why(
    made_bus: MadeBus, number: int, code: Code
) -> None:
    connecting = asyncio.create_task(connect_once(made_bus.address))
    peer = await made_bus.accept()
    peer.send(Hello().encode() + refusal_of_connection(number))
    with pytest.raises(TribuneError) as caught:
        await connecting
    assert (caught.value.code, caught.value.message) == (code, "a reason")
    peer.close()


@pytest.mark.parametrize(("sent", "missing"), [(b"\xf1TRI", "hello"), (GREETING[:20], "welcome")])
async def test_a_peer_that_is_silent_is_given_up(
    made_bus: MadeBus, sent: bytes, missing: str
) -> None:
    async def connect() -> tribune.Bus:
        return await tribune.connect(made_bus.address, timeout=0.1)

    connecting = asyncio.create_task(connect())
    peer = await made_bus.accept()
    peer.send(sent)
    with pytest.raises(TribuneError) as caught:
        await connecting
    assert caught.value.code is Code.UNREACHABLE
    assert missing in caught.value.message
    peer.close()


async def test_a_peer_that_closes_at_once_is_tried_again(made_bus: MadeBus) -> None:
    connecting = asyncio.create_task(connect_once(made_bus.address))
    for _ in range(4):
        (await made_bus.accept()).close()
    peer = await made_bus.accept()
    peer.send(GREETING)
    await (await connecting).close()
    peer.close()


async def test_nobody_listens(folder: Path) -> None:
    with pytest.raises(TribuneError) as caught:
        await tribune.connect(f"unix:{folder}/bus")
    assert caught.value.code is Code.UNREACHABLE


async def test_a_process_without_descriptors_does_not_say_that_there_is_no_bus(
    made_bus: MadeBus,
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd"))
    fillers = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, limits[1]))
        with contextlib.suppress(OSError):
            while True:
                fillers.append(os.dup(0))
        with pytest.raises(TribuneError) as caught:
            await tribune.connect(made_bus.address)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for filler in fillers:
            os.close(filler)
    assert caught.value.code is Code.LIMIT_EXCEEDED


async def test_a_path_that_cannot_be_followed_does_not_say_that_there_is_no_bus(
    folder: Path,
) -> None:
    (folder / "loop").symlink_to("loop")
    with pytest.raises(TribuneError) as caught:
        await tribune.connect(f"unix:{folder}/loop")
    assert caught.value.code is Code.REFUSED


async def test_connecting_can_be_cancelled(made_bus: MadeBus) -> None:
    connecting = asyncio.create_task(connect_once(made_bus.address))
    peer = await made_bus.accept()
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert await asyncio.get_running_loop().sock_recv(peer, 1) == b""
    peer.close()


def header(length: int, kind: int = 4, flags: int = 0, fields: int = 0, name: int = 0) -> bytes:
    made = bytearray(HEADER_LENGTH)
    made[0:4] = length.to_bytes(4, "little")
    made[4:8] = bytes([kind, flags, name, 0])
    made[24:28] = fields.to_bytes(4, "little")
    return bytes(made)


@pytest.mark.parametrize(
    "sent",
    [
        header(0),
        header(31),
        header(0xFFFFFFFF),
        header(40, fields=9),
        header(33, name=1) + b".",
        header(32),
        header(32, kind=99, flags=0x80),
        header(32, kind=6),
        header(32, kind=1),
        header(32, kind=3),
        header(36, kind=2, fields=4)[:24] + bytes([1, 0, 0, 0]) + bytes(8),
        encode(_wire.Post(length=65_536), name=b"a", flags=DESCRIPTOR),
        encode(_wire.Okay(), flags=DESCRIPTOR),
    ],
)
async def test_what_cannot_be_understood_ends_the_connection(
    made_bus: MadeBus, sent: bytes
) -> None:
    async with made_bus.connected() as (bus, peer):
        observation = bus.observe("a")
        peer.send(sent)
        error = await bus.closed()
        assert error is not None
        assert error.code is Code.PROTOCOL_VIOLATION
        with pytest.raises(TribuneError):
            await anext(observation)


async def test_an_announced_length_takes_no_memory(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        peer.send(header((1 << 30) + HEADER_LENGTH) + b"x" * 10)
        transport = bus._link.transport
        assert transport is not None
        transport._read()
        assert len(transport._partial) == HEADER_LENGTH + 10


async def test_a_list_without_an_end_ends_the_connection(
    made_bus: MadeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_requests, "LIST_MAX", 1_000)
    async with made_bus.connected() as (bus, peer):
        listing = asyncio.create_task(bus.connections())
        await asyncio.sleep(0)
        peer.send(encode(_wire.Entry("missing", _wire.MissingEntry(name="x" * 200)), serial=1) * 5)
        with pytest.raises(TribuneError) as caught:
            await listing
        assert caught.value.code is Code.PROTOCOL_VIOLATION


async def test_questions_beyond_a_limit_fail_at_once(
    made_bus: MadeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_questions, "QUESTIONS_MAX", 2)
    async with made_bus.connected() as (bus, peer):

        @bus.delegate("a.*")
        async def hanging(question: tribune.Question) -> tribune.Answer:
            await asyncio.sleep(DEADLINE)
            return True

        loop = asyncio.get_running_loop()
        await loop.sock_recv(peer, 1 << 16)
        asker = _wire.PeerIdentity(pid=1, uid=1, gid=1, process="p", units="")
        for query in (1, 2, 3):
            fields = _wire.Question(
                query=query,
                delegate=1,
                timeout=1,
                asker=asker,
                is_dry_run=False,
                wants_value=False,
            )
            peer.send(encode(fields, name=b"a.b", serial=1))
        answer = Frame.decode(await loop.sock_recv(peer, 1 << 16))
        assert isinstance(answer, Frame)
        fields_of_answer = decode_fields(_wire.Answer, answer)
        assert fields_of_answer.query == 3
        assert fields_of_answer.answer is _wire.AnswerKind.FAILED


async def test_what_ends_before_it_is_confirmed_is_not_waited_for(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        taking = asyncio.create_task(bus.hold("a.*", why="x").take())
        attaching = asyncio.create_task(bus.attach(tribune.Delegate(), "a.*"))
        await asyncio.sleep(0)
        replacement = _wire.DelegateEntry(
            delegate=_wire.DelegateIdentity(
                id=1, peer=_wire.PeerIdentity(pid=1, uid=1, gid=1, process="p", units=""), label=""
            ),
            connection=1,
            object="",
            order=0,
            failure_policy=_wire.FailurePolicy.VETO,
            timeout=1,
            patterns=[],
        )
        peer.send(encode(_wire.Ended("expired", None), serial=1))
        peer.send(encode(_wire.Ended("replaced", replacement), serial=2))
        await asyncio.gather(taking, attaching)


async def test_only_a_hold_expires(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):

        @bus.delegate("a.*")
        async def veto(question: tribune.Question) -> tribune.Answer:
            return False

        peer.send(
            encode(_wire.Okay(delegate=1), serial=1)
            + encode(_wire.Ended("expired", None), serial=1)
        )
        await veto.ready()
        await asyncio.sleep(0)
        assert list(bus._link.registrations) == [1]


async def test_kinds_and_replies_that_nobody_knows_are_skipped(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        observation = bus.observe("a")
        okay = encode(_wire.Okay(registration=1), serial=1)
        strange = header(32, kind=99) + encode(_wire.Okay(), serial=4711)
        strange += encode(_wire.Refusal(code=71), serial=4712)
        for byte in strange + okay + encode(_wire.Post(), name=b"a", payload=b"!"):
            peer.send(bytes([byte]))
            await asyncio.sleep(0)
        delivery = await anext(observation)
        assert isinstance(delivery, Notification)
        assert delivery.text == "!"


def plain_file(payload: bytes) -> int:
    descriptor = os.memfd_create("unsealed")
    os.write(descriptor, payload)
    return descriptor


@pytest.mark.parametrize(
    ("make", "size"),
    [(plain_file, 65_536), (_memory.sealed, 65_537), (_memory.sealed, 65_535)],
)
async def test_a_file_must_be_sealed_and_as_long_as_announced(
    made_bus: MadeBus, make: Callable[[bytes], int], size: int
) -> None:
    async with made_bus.connected() as (bus, peer):
        bus.observe("a")
        descriptor = make(bytes(size))
        frame = encode(_wire.Post(length=65_536), name=b"a", flags=DESCRIPTOR)
        socket.send_fds(peer, [frame], [descriptor])
        os.close(descriptor)
        error = await bus.closed()
        assert error is not None
        assert error.code is Code.PROTOCOL_VIOLATION


async def test_descriptors_without_a_frame_end_the_connection(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        before = len(os.listdir("/proc/self/fd"))
        socket.send_fds(peer, [encode(_wire.Okay())], [0])
        error = await bus.closed()
        assert error is not None
        assert error.code is Code.PROTOCOL_VIOLATION
        assert len(os.listdir("/proc/self/fd")) == before - 1


async def test_files_go_to_frames_in_order(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        observation = bus.observe("a")
        peer.send(encode(_wire.Okay(registration=1), serial=1))
        for content in (b"x", b"y"):
            descriptor = _memory.sealed(content * 65_536)
            frame = encode(_wire.Post(length=65_536), name=b"a", flags=DESCRIPTOR)
            peer.sendmsg(
                [frame[:10]],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))],
            )
            peer.send(frame[10:])
            os.close(descriptor)
        found = [await anext(observation) for _ in "xy"]
        assert [n.user_info[:1] for n in found if isinstance(n, Notification)] == [b"x", b"y"]


async def test_a_loss_that_the_bus_reports_is_delivered_in_its_place(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        observation = bus.observe("a")
        post = encode(_wire.Post(), name=b"a")
        okay = encode(_wire.Okay(registration=1), serial=1)
        peer.send(okay + post + encode(_wire.Lost(count=3)) + post)
        found = [await anext(observation) for _ in range(3)]
        assert found[1] == Lost(3)
        assert isinstance(found[0], Notification)
        assert isinstance(found[2], Notification)


async def test_texts_from_the_bus_cannot_act_on_a_terminal(made_bus: MadeBus) -> None:
    async with made_bus.connected() as (bus, peer):
        asking = asyncio.create_task(bus.ask("a.shouldB"))
        await asyncio.sleep(0)
        peer.send(encode(_wire.Refusal(code=76), serial=1, payload=b"\x1b[2J\xff\n"))
        with pytest.raises(TribuneError) as caught:
            await asking
        assert caught.value.code is Code.NOT_PERMITTED
        assert caught.value.message == "\\x1b[2J\N{REPLACEMENT CHARACTER}\\n"
