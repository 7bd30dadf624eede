# SPDX-License-Identifier: Apache-2.0
"""What a connection does with bytes that a bus would not send, and how it begins and ends."""

from __future__ import annotations

import array
import asyncio
import gc
import os
import socket
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import DEADLINE, GREETING, MadeBus, RunningBus, connect_once
from test_vectors import vector

import tribune
from tribune import (
    Address,
    Code,
    Lost,
    Notification,
    TribuneError,
    _memory,
    _questions,
    _requests,
    _wire,
)
from tribune._frame import DESCRIPTOR, HEADER_LENGTH, Frame, Hello, decode_fields, encode

# A welcome whose fields end after the first.
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


async def test_closing_writes_what_was_posted(bus: RunningBus) -> None:
    async with bus.connect() as other, other.observe("closing.*", limit=20_000) as observation:
        one = await bus.connect()
        for number in range(10_000):
            await one.post("closing.post", str(number))
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


def test_an_address_that_is_refused_cannot_act_on_a_terminal() -> None:
    with pytest.raises(TribuneError, match=r'"\\x1b\[2J" is not an address'):
        Address.parse("\x1b[2J")


@pytest.mark.parametrize("is_awaited", [True, False])
async def test_vetoes_do_not_end_without_a_word(
    made_bus: MadeBus, caplog: pytest.LogCaptureFixture, is_awaited: bool
) -> None:
    async with made_bus.connected() as (bus, peer):

        @bus.delegate("a.*")
        async def veto(question: tribune.Question) -> tribune.Answer:
            return False

        closed = asyncio.create_task(bus.closed()) if is_awaited else None
        await asyncio.sleep(0)
        peer.close()
        await asyncio.shield(bus._link._ended)
        if closed is not None:
            await closed
    expected = [] if is_awaited else ["1 delegates and holds are not in force any more"]
    assert [message.partition(":")[0] for message in caplog.messages] == expected


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
        # Nobody waits for the refusal of a veto any more, so it must end the connection.
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
                    one.post("a.b"), one.ask("a.shouldB"), one.close(), return_exceptions=True
                )
            ]

        return asyncio.run(try_all())

    async with bus.connect() as one:
        found = await asyncio.to_thread(use)
        assert [type(error) for error in found] == [RuntimeError] * 3
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
        # The loop of this process still polls the connection, which was not shut down.
        assert not await one.ask("forked.shouldB")


def test_the_address_is_found_as_documented(folder: Path) -> None:
    assert Address.resolve({}) == Address("/run/tribune/bus")
    assert Address.resolve({"TRIBUNE_ADDRESS": "unix:/x/y"}) == Address("/x/y")
    runtime = {"XDG_RUNTIME_DIR": str(folder), "RUNTIME_DIRECTORY": f"/:{folder}/r"}
    assert Address.resolve(runtime).path == "/run/tribune/bus"
    (folder / "tribune").mkdir()
    (folder / "tribune/bus").touch()
    found = Address.resolve(runtime)
    assert found == Address(f"{folder}/tribune/bus", servers=(0, os.geteuid()))
    (folder / "r").mkdir()
    (folder / "r/bus").touch()
    assert Address.resolve(runtime).path == f"{folder}/r/bus"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_trusted(folder: Path) -> None:
    (folder / "tribune").mkdir()
    (folder / "tribune/bus").touch()
    os.chown(folder, 65_534, 65_534)
    assert Address.resolve({"XDG_RUNTIME_DIR": str(folder)}).path == "/run/tribune/bus"


def test_a_server_of_another_user_is_not_trusted() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Address("x", servers=(os.geteuid(),)).require_server(ours)
        with pytest.raises(TribuneError) as caught:
            Address("x", servers=(os.geteuid() + 1,)).require_server(ours)
    assert caught.value.code is Code.UNREACHABLE


@pytest.mark.parametrize("text", ["", "unix:", "tcp:x", "/run/x", "unix:" + "x" * 108, "unix:a\0b"])
def test_an_address_has_one_form(text: str) -> None:
    with pytest.raises(TribuneError) as caught:
        Address.parse(text)
    assert caught.value.code is Code.INVALID_ADDRESS
