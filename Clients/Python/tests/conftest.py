# SPDX-License-Identifier: Apache-2.0
"""Real buses, each with its socket in a fresh folder."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import inspect
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tribune
from tribune import _wire
from tribune._bus import Connecting
from tribune._frame import HELLO_LENGTH, Hello, encode

# Guards against hanging.
DEADLINE = 30.0
PROGRAMS = Path(
    os.environ.get("TRIBUNE_BIN_DIR", Path(__file__).parents[3] / ".build/release")
).absolute()


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> None:
    """Runs coroutine functions as tests."""
    if name.startswith("test_") and inspect.iscoroutinefunction(obj):
        setattr(collector.obj, name, _run(obj))


def _run(function: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> None:
        # Exceptions that asyncio would only log.
        unnoticed: list[dict[str, Any]] = []

        async def bounded() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, it: unnoticed.append(it))
            async with asyncio.timeout(DEADLINE):
                await function(*arguments, **named)

        asyncio.run(bounded())
        gc.collect()
        assert not unnoticed

    return run


class Readiness:
    """The socket on which a program reports that it is ready."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.address = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.bind(self.address)
        self._socket.settimeout(DEADLINE)

    def wait(self) -> None:
        while b"READY=1" not in self._socket.recv(65_536):
            continue
        self._socket.close()


class Program:
    """A process that ends with the test at the latest."""

    def __init__(self, arguments: list[str], folder: Path, *, is_managed: bool) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "NOTIFY_SOCKET"}
        readiness = Readiness(folder / "notify") if is_managed else None
        if readiness is not None:
            environment["NOTIFY_SOCKET"] = readiness.address
        self.process = subprocess.Popen(
            [str(PROGRAMS / "tribuned"), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._is_listening = threading.Event()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        if readiness is not None:
            readiness.wait()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            for line in self.process.stderr:
                if line.startswith(b"tribuned: listening on "):
                    self._is_listening.set()

    def wait_until_listening(self) -> None:
        assert self._is_listening.wait(DEADLINE)

    def end(self, number: int = signal.SIGKILL) -> int:
        """Sends a signal, and waits until the program ends."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return status


class RunningBus:
    """A bus, perhaps with a keeper; its daemon can be replaced."""

    def __init__(self, configuration: str = "", has_keeper: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tribune-"))
        (self.folder / "etc").mkdir()
        (self.folder / "etc/tribuned.conf").write_text(configuration)
        self.path = self.folder / "bus"
        self.address = f"unix:{self.path}"
        self.keeper = self._keeper() if has_keeper else None
        self.daemon: Program | None = None
        self.start()

    def _keeper(self) -> Program:
        arguments = ["--keep", f"--listen={self.folder}/keeper"]
        return Program(arguments, self.folder, is_managed=True)

    def start(self, is_ready: bool = True) -> None:
        """Starts a daemon."""
        arguments = [f"--config={self.folder}/etc", f"--listen={self.path}"]
        # With a keeper, the daemon needs no service manager.
        if self.keeper is not None:
            arguments.append(f"--keeper={self.folder}/keeper")
        self.daemon = Program(arguments, self.folder, is_managed=self.keeper is None)
        if is_ready:
            self.daemon.wait_until_listening()

    def end(self, number: int = signal.SIGKILL) -> int:
        """Ends the daemon."""
        assert self.daemon is not None
        return self.daemon.end(number)

    def restart(self, number: int = signal.SIGKILL) -> None:
        """Ends the daemon, and starts another."""
        self.end(number)
        self.start()

    def connect(self, **options: Any) -> Connecting:
        return tribune.connect(self.address, **options)

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs tribunectl."""
        return subprocess.run(
            [str(PROGRAMS / "tribunectl"), *arguments],
            env={**os.environ, "TRIBUNE_ADDRESS": self.address},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def close(self) -> None:
        for program in (self.daemon, self.keeper):
            if program is not None:
                program.end()
        shutil.rmtree(self.folder)


WELCOME = encode(
    _wire.Welcome(
        connection=7,
        payload_max=1 << 24,
        observations_max=16,
        delegates_max=16,
        queries_max=16,
        deadline_max=60_000,
        deadline_default=30_000,
        bus_pid=1,
        software="made up",
    )
)
GREETING = Hello(capabilities=1).encode() + WELCOME


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tribune-") as name:
        yield Path(name)


class MadeBus:
    """A made bus: listens, and sends the bytes that a test chooses."""

    def __init__(self, folder: Path) -> None:
        self.address = f"unix:{folder}/bus"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(f"{folder}/bus")
        self._listener.listen()
        self._listener.setblocking(False)

    async def accept(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        accepted, _ = await loop.sock_accept(self._listener)
        await loop.sock_recv(accepted, HELLO_LENGTH)
        return accepted

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[tribune.Bus, socket.socket]]:
        """A client that was greeted, and the other end of its connection."""
        connecting = asyncio.create_task(connect_once(self.address))
        peer = await self.accept()
        peer.send(GREETING)
        bus = await connecting
        try:
            yield bus, peer
        finally:
            peer.close()
            await bus.close()

    def close(self) -> None:
        self._listener.close()


async def connect_once(address: str) -> tribune.Bus:
    return await tribune.connect(address, reconnect_timeout=0)


@pytest.fixture
def made_bus(folder: Path) -> Iterator[MadeBus]:
    bus = MadeBus(folder)
    yield bus
    bus.close()


@pytest.fixture(scope="session")
def shared_bus() -> Iterator[RunningBus]:
    bus = RunningBus()
    yield bus
    bus.close()


@pytest.fixture
def bus(shared_bus: RunningBus) -> RunningBus:
    """A shared bus, which tests must not end."""
    return shared_bus


@pytest.fixture
def make_bus() -> Iterator[Callable[..., RunningBus]]:
    """Makes buses for one test, which may end them."""
    made: list[RunningBus] = []

    def make(**options: Any) -> RunningBus:
        made.append(RunningBus(**options))
        return made[-1]

    yield make
    for one in made:
        one.close()
