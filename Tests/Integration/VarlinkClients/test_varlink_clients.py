# SPDX-License-Identifier: Apache-2.0
"""The bus's Varlink socket, with the client libraries varlink and asyncvarlink."""

import asyncio
import dataclasses
import enum
import os
import signal
import subprocess
import tempfile
import threading
import typing
from collections.abc import Iterator
from pathlib import Path

import asyncvarlink
import pytest
import varlink

# Only guards against hanging.
DEADLINE = 30
PROGRAMS = Path(os.environ.get("TRIBUNE_BIN_DIR", ".build/release")).absolute()


@pytest.fixture
def path() -> Iterator[str]:
    """The socket of a bus."""
    with tempfile.TemporaryDirectory(prefix="tribune") as folder:
        socket = f"{folder}/io.tribune.Bus"
        arguments = [f"--listen={folder}/bus", f"--varlink={socket}", f"--config={folder}"]
        with subprocess.Popen(
            [PROGRAMS / "tribuned", *arguments], stderr=subprocess.PIPE, text=True
        ) as bus:
            assert bus.stderr is not None
            while f"listening on {folder}/bus" not in bus.stderr.readline():
                assert bus.poll() is None
            yield socket
            bus.send_signal(signal.SIGTERM)
            assert bus.wait(DEADLINE) == 0


# varlink


@pytest.fixture
def client(path: str) -> Iterator[varlink.Client]:
    with varlink.Client(address=f"unix:{path}") as client:
        yield client


def test_varlink_reads_the_interface(client: varlink.Client) -> None:
    assert client.get_interfaces() == ["io.tribune.Bus", "org.varlink.service"]
    interface = client.get_interface("io.tribune.Bus")
    method = varlink.scanner._Method
    methods = [name for name, it in interface.members.items() if isinstance(it, method)]
    assert methods == ["Tell", "Ask", "Observe", "Delegate", "Answer", "Defer", "Hold"]


def test_varlink_observes_what_it_tells(client: varlink.Client) -> None:
    with client.open("io.tribune.Bus") as poster, client.open("io.tribune.Bus") as observer:
        observations = observer.Observe(_more=True, patterns=["a.*"])
        assert next(observations) == {"kind": "ready"}
        user_info = {"y": [1, {"z": None}], "x": 0.1}
        assert poster.Tell(name="a.b", object="o", userInfo=user_info) == {}
        notification = next(observations)
        assert (notification["name"], notification["object"]) == ("a.b", "o")
        assert notification["userInfo"] == user_info
        assert notification["sender"]["pid"] == os.getpid()


def test_varlink_asks_and_vetoes(client: varlink.Client) -> None:
    with (
        client.open("io.tribune.Bus") as asker,
        client.open("io.tribune.Bus") as delegate,
        client.open("io.tribune.Bus") as answering,
    ):
        questions = delegate.Delegate(_more=True, names=["host.**"], label="backup")
        assert next(questions) == {"kind": "ready"}

        def veto() -> None:
            ticket = next(questions)["ticket"]
            answering.Answer(ticket=ticket, answer="veto", reason="busy")

        answerer = threading.Thread(target=veto)
        answerer.start()
        reply = asker.Ask(name="host.shouldReboot")
        answerer.join()
        assert reply["verdict"] == "vetoed"
        assert [(it["label"], it["reason"]) for it in reply["outcomes"]] == [("backup", "busy")]
        assert next(questions)["conclusion"] == "vetoed"


def test_varlink_raises_the_bus_s_errors(client: varlink.Client) -> None:
    with client.open("io.tribune.Bus") as connection:
        with pytest.raises(varlink.VarlinkError) as refusal:
            connection.Tell(name="..")
        assert refusal.value.error() == "io.tribune.Bus.Refused"
        assert refusal.value.parameters()["code"] == "invalidName"
        with pytest.raises(varlink.VarlinkError) as more:
            connection.Hold(name="a", why="busy")
        assert more.value.error() == "org.varlink.service.ExpectedMore"


# asyncvarlink, which checks the types of everything that it receives


Verdict = enum.Enum("Verdict", ["allowed", "vetoed"])
Kind = enum.Enum("Kind", ["approved", "vetoed", "abstained", "timedOut", "gone", "failed", "held"])


@dataclasses.dataclass
class Peer:
    pid: int
    uid: int
    process: str
    systemUnit: str
    userUnit: str


@dataclasses.dataclass
class Outcome:
    label: str
    outcome: Kind
    reason: str | None
    elapsedUSec: int | None
    peer: Peer


class Answered(typing.TypedDict):
    verdict: Verdict | None
    query: str | None
    outcomes: list[Outcome] | None
    omitted: int | None
    unanswered: bool | None
    overridden: bool | None


class Held(typing.TypedDict):
    hold: int | None
    why: str | None


class Bus(asyncvarlink.VarlinkInterface, name="io.tribune.Bus"):
    """The methods that the test calls, as a client declares them."""

    @asyncvarlink.varlinkmethod
    async def Tell(self, *, name: str) -> None: ...

    @asyncvarlink.varlinkmethod
    async def Ask(self, *, name: str) -> Answered: ...

    @asyncvarlink.varlinkmethod
    async def Hold(self, *, name: str, why: str) -> typing.AsyncIterator[Held]:
        yield Held(hold=None, why=None)


def test_asyncvarlink_holds_and_asks(path: str) -> None:
    async def run() -> None:
        async with asyncio.timeout(DEADLINE):
            asking, asked = await connect(path)
            holding, held = await connect(path)
            assert await asking.Tell(name="a.b") == {}
            holds = holding.Hold(name="host.**", why="busy")
            assert (await anext(holds))["hold"] > 0
            reply = await asking.Ask(name="host.shouldReboot")
            assert reply["verdict"] is Verdict.vetoed
            assert [(it.outcome, it.reason) for it in reply["outcomes"]] == [(Kind.held, "busy")]
            held.close()
            while (await asking.Ask(name="host.shouldReboot"))["verdict"] is Verdict.vetoed:
                continue
            asked.close()

    asyncio.run(run())


async def connect(path: str) -> tuple[typing.Any, typing.Any]:
    transport, protocol = await asyncvarlink.connect_unix_varlink(
        asyncvarlink.VarlinkClientProtocol, path
    )
    return protocol.make_proxy(Bus), transport
