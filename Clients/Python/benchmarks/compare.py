# SPDX-License-Identifier: Apache-2.0
"""Compares small posts a second with what nats-py and dbus-fast do, all in one run.

    make bench-python        or, with the tools of tools/setup python in the environment:
    TRIBUNE_BIN_DIR=.build/release .build/python/bin/python Clients/Python/benchmarks/compare.py

Each client sends messages of 16 bytes of payload from one task, and the clock stops when the
server has taken the last one: a post that is acknowledged, a PING that is answered. dbus-fast makes
calls of the bus's own ``Ping``, 64 at a time. The three take turns, and the median of the rounds
counts. Fails if posts are slower than one of the others.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats
from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

import tribune

PAYLOAD = b"0123456789abcdef"
CALLS_AT_A_TIME = 64


async def posts(folder: Path, count: int) -> float:
    async with tribune.connect(f"unix:{folder}/tribune") as bus:
        began = time.perf_counter()
        for _ in range(count):
            await bus.post("bench.didPost", PAYLOAD)
        await bus.post_acknowledged("bench.didPost", PAYLOAD)
        return (count + 1) / (time.perf_counter() - began)


async def publishes(folder: Path, count: int) -> float:
    address = (folder / "nats.ports").read_text()
    client = await nats.connect(address)
    began = time.perf_counter()
    for _ in range(count):
        await client.publish("bench.didPost", PAYLOAD)
    await client.flush()
    rate = count / (time.perf_counter() - began)
    await client.close()
    return rate


async def calls(folder: Path, count: int) -> float:
    bus = await MessageBus(bus_address=f"unix:path={folder}/dbus").connect()

    async def call(times: int) -> None:
        for _ in range(times):
            reply = await bus.call(
                Message(
                    destination="org.freedesktop.DBus",
                    path="/org/freedesktop/DBus",
                    interface="org.freedesktop.DBus.Peer",
                    member="Ping",
                )
            )
            assert reply is not None
            assert reply.message_type is MessageType.METHOD_RETURN

    each = count // CALLS_AT_A_TIME
    began = time.perf_counter()
    await asyncio.gather(*(call(each) for _ in range(CALLS_AT_A_TIME)))
    rate = each * CALLS_AT_A_TIME / (time.perf_counter() - began)
    bus.disconnect()
    return rate


def program(name: str, *folders: Path) -> str:
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", ""), "/usr/sbin"])
    found = shutil.which(name, path=path)
    if found is None:
        sys.exit(f"{name} is not there")
    return found


def start(folder: Path) -> list[subprocess.Popen[bytes]]:
    """Starts the three servers."""
    root = Path(__file__).resolve().parents[3]
    built = Path(os.environ.get("TRIBUNE_BIN_DIR", root / ".build/release"))
    (folder / "etc").mkdir()
    nats_server = program("nats-server", Path(sys.executable).parent, root / ".build/peers")
    commands = [
        [program("tribuned", built), f"--listen={folder}/tribune", f"--config={folder}/etc"],
        [nats_server, "--addr=127.0.0.1", "--port=-1", f"--ports_file_dir={folder}"],
        [program("dbus-daemon"), "--session", "--nofork", f"--address=unix:path={folder}/dbus"],
    ]
    return [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]


def wait_for_servers(folder: Path) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        ports = [path for path in folder.glob("*.ports") if path.name != "nats.ports"]
        text = ports[0].read_text() if ports else ""
        if text.rstrip().endswith("}") and all(
            (folder / one).exists() for one in ("tribune", "dbus")
        ):
            (folder / "nats.ports").write_text(text.split('"')[3])
            return
        time.sleep(0.01)
    sys.exit("the servers do not listen")


def main() -> None:
    parser = argparse.ArgumentParser(description="Posts a second, beside nats-py and dbus-fast")
    parser.add_argument("--count", type=int, default=100_000, help="messages in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    subjects: dict[str, tuple[Callable[[Path, int], Awaitable[float]], int]] = {
        "tribune posts": (posts, options.count),
        "nats-py publishes": (publishes, options.count),
        "dbus-fast calls": (calls, options.count // 10),
    }
    rates: dict[str, list[float]] = {name: [] for name in subjects}
    folder = Path(tempfile.mkdtemp(prefix="tribune-bench-"))
    servers = start(folder)
    try:
        wait_for_servers(folder)
        for _ in range(options.rounds):
            for name, (run, count) in subjects.items():
                rates[name].append(asyncio.run(_await(run(folder, count))))
    finally:
        for server in servers:
            server.kill()
            server.wait()
        shutil.rmtree(folder)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    own = medians["tribune posts"]
    for name, median in medians.items():
        spread = f"{min(rates[name]):,.0f} to {max(rates[name]):,.0f}"
        print(f"{name:18} {median:10,.0f} a second ({spread}); posts: {own / median:.2f} times it")
    if own < max(medians.values()):
        sys.exit("posts are slower")


async def _await(rate: Awaitable[float]) -> float:
    return await rate


if __name__ == "__main__":
    main()
