# SPDX-License-Identifier: Apache-2.0
"""Compares questions and notifications between hosts with what NATS does by itself, all in one run.

    make bench-cluster        or, with the tools of tools/setup cluster in .build:
    TRIBUNE_BIN_DIR=.build/release .build/python/bin/python Benchmarks/Cluster/compare.py

There are three hosts with a bus and a gateway each, and one server of NATS. The clients are processes of their own.

- A question to the cluster, with one delegate on each of the three hosts, one after the other; beside a request of NATS
  that one process answers. Both with Python's clients, which take a good part of the time, and both with the C clients,
  libtribune and libnats (which the gateways use as well). On its way are a question on the asker's bus, a request, and
  a question on the bus of another host: their sum is what gateways that take no time could reach.
- Notifications from one host's bus to another's; beside messages from one process to another. Both with Python's
  clients. So that nothing is dropped anywhere, at most WINDOW are under way.

libnats sends what is published within a millisecond, unless it is told to send at once, as the gateways and ask.c do;
nats-py sends in the next turn of its event loop. A gateway's message has headers, which the plain ones have not.

The works take turns, and the medians of the rounds count.
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import nats
import tribune

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "Tests/Systems/Cluster"))

from support import REPOSITORY, Cluster, Host, url  # noqa: E402

NAMES = ("db1", "db2", "db3")
SECTIONS = '[Export "bench.**"]\n[Import "bench.**"]\n[Query "cluster.**"]\nScope=cluster\n'
QUESTION = "cluster.shouldReboot"
SUBJECT = "bench.didPost"
PAYLOAD = b"0123456789abcdef"
WINDOW = 2_000
# How often a receiver says how many it has.
STEP = 500
TARGET = 1.5
# What guards against hanging.
SECONDS_MAX = 120


# The processes. Each says when it is ready, and goes on until it is killed.


async def answer_questions(address: str) -> None:
    async def approve(_: tribune.Question) -> bool:
        return True

    async with tribune.connect(address) as bus:
        await bus.attach(approve, QUESTION, label="bench")
        print("ready", flush=True)
        await asyncio.Event().wait()


async def answer_requests(server: str) -> None:
    client = await nats.connect(server)

    async def answer(message: nats.aio.msg.Msg) -> None:
        await message.respond(PAYLOAD)

    await client.subscribe(QUESTION, cb=answer)
    await client.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()


async def receive_notifications(address: str) -> None:
    async with tribune.connect(address) as bus, bus.observe(SUBJECT) as observation:
        print("ready", flush=True)
        count = 0
        async for _ in observation:
            count += 1
            if count % STEP == 0:
                print(count, flush=True)


async def receive_messages(server: str) -> None:
    client = await nats.connect(server)
    count = 0

    async def receive(_: nats.aio.msg.Msg) -> None:
        nonlocal count
        count += 1
        if count % STEP == 0:
            print(count, flush=True)

    await client.subscribe(SUBJECT, cb=receive)
    await client.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()


ROLES = {one.__name__: one for one in (answer_questions, answer_requests, receive_notifications, receive_messages)}


@contextlib.asynccontextmanager
async def process(*command: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that has said that it is ready."""
    one = await asyncio.create_subprocess_exec(*map(str, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert await one.stdout.readline() == b"ready\n"
        yield one
    finally:
        with contextlib.suppress(ProcessLookupError):
            one.kill()
        await one.wait()


def role(one: Callable[[str], Awaitable[None]], argument: str) -> contextlib.AbstractAsyncContextManager:
    return process(sys.executable, __file__, "--role", one.__name__, argument)


# What is measured.


async def each(count: int, call: Callable[[], Awaitable[object]]) -> list[float]:
    """How many seconds each of these takes, one after the other."""
    seconds = []
    for index in range(count + count // 10):
        began = time.perf_counter()
        await call()
        if index >= count // 10:
            seconds.append(time.perf_counter() - began)
    return seconds


async def ask(hosts: list[Host], count: int) -> list[float]:
    async with contextlib.AsyncExitStack() as stack:
        for host in hosts:
            await stack.enter_async_context(role(answer_questions, host.address))
        bus = await stack.enter_async_context(hosts[0].connect())

        async def call() -> None:
            verdict = await bus.ask(QUESTION)
            assert verdict
            assert len(verdict.outcomes) == len(hosts), verdict

        return await each(count, call)


async def request(server: str, count: int) -> list[float]:
    async with role(answer_requests, server):
        client = await nats.connect(server)
        seconds = await each(count, lambda: client.request(QUESTION, PAYLOAD))
        await client.close()
        return seconds


async def rate(receiver: asyncio.subprocess.Process, count: int, send: Callable[[], Awaitable[None]]) -> float:
    """How many a second arrive."""
    began = time.perf_counter()
    received = 0
    for sent in range(STEP, count + 1, STEP):
        for _ in range(STEP):
            await send()
        while sent - received >= WINDOW or (sent == count and received < sent):
            received = int(await receiver.stdout.readline())
    return count / (time.perf_counter() - began)


async def post(hosts: list[Host], count: int) -> float:
    async with role(receive_notifications, hosts[1].address) as receiver, hosts[0].connect() as bus:
        return await rate(receiver, count, lambda: bus.post(SUBJECT, PAYLOAD))


async def publish(server: str, count: int) -> float:
    async with role(receive_messages, server) as receiver:
        client = await nats.connect(server)
        result = await rate(receiver, count, lambda: client.publish(SUBJECT, PAYLOAD))
        await client.close()
        return result


async def in_c(program: Path, what: str, answering: str, addresses: list[str], count: int) -> list[float]:
    """The same as `ask` and `request`, by programs in C."""
    async with contextlib.AsyncExitStack() as stack:
        for address in addresses:
            await stack.enter_async_context(process(program, answering, address))
        asker = await stack.enter_async_context(process(program, what, addresses[0], count, len(addresses)))
        lines = (await asker.stdout.read()).split()
        await asker.wait()
        assert len(lines) == count, f"{what} has failed"
        return [int(line) / 1e9 for line in lines]


def build(folder: Path) -> Path:
    program = folder / "ask"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libnats"], check=True, capture_output=True, text=True
    ).stdout.split()
    client = REPOSITORY / "Clients/C"
    sources = [HERE / "ask.c", *client.glob("src/*.c")]
    options = ["-std=c11", "-D_GNU_SOURCE", "-O2", f"-I{client}/include", "-o", program]
    subprocess.run(["cc", *options, *sources, *flags], check=True)
    return program


# The table.


def microseconds(rounds: list[list[float]], quantile: float) -> float:
    """The median of the rounds."""
    return 1e6 * statistics.median(sorted(one)[int(quantile * (len(one) - 1))] for one in rounds)


def ratio(own: list[float], other: list[float]) -> tuple[float, float, float]:
    """The median, the least and the greatest of the rounds."""
    ratios = [one / two for one, two in zip(own, other, strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)


def report(times: dict[str, list[list[float]]], rates: dict[str, list[float]]) -> None:
    print("| one after the other | median, µs | 99 % within, µs |\n| --- | ---: | ---: |")
    for name, rounds in times.items():
        print(f"| {name} | {microseconds(rounds, 0.5):,.0f} | {microseconds(rounds, 0.99):,.0f} |")
    print("\n| a second | median | from | to |\n| --- | ---: | ---: | ---: |")
    for name, found in rates.items():
        print(f"| {name} | {statistics.median(found):,.0f} | {min(found):,.0f} | {max(found):,.0f} |")
    print("\n| ratio | median | from | to | target |\n| --- | ---: | ---: | ---: | ---: |")
    for client in ("Python", "C"):
        own, other = (
            [statistics.median(one) for one in times[f"{what}, {client}"]] for what in ("question", "NATS request")
        )
        median, least, greatest = ratio(own, other)
        print(f"| question to NATS request, {client} | {median:.2f} | {least:.2f} | {greatest:.2f} | {TARGET} |")
    whole, request, local = (
        [statistics.median(one) for one in times[name]]
        for name in ("question, C", "NATS request, C", "question on one bus, C")
    )
    parts = [one + 2 * two for one, two in zip(request, local, strict=True)]
    for name, own, other in (("parts", parts, request), ("question", whole, parts)):
        median, least, greatest = ratio(own, other)
        beside = "NATS request" if other is request else "its parts"
        print(f"| {name} to {beside}, C | {median:.2f} | {least:.2f} | {greatest:.2f} | |")
    median, least, greatest = ratio(rates["posts, Python"], rates["NATS messages, Python"])
    print(f"| posts to NATS messages, Python | {median:.2f} | {least:.2f} | {greatest:.2f} | |")


async def measure(count: int, posts: int, rounds: int) -> None:
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="tribune-")))
    times, rates = {}, {}
    try:
        program = build(cluster.folder)
        server_port = (await cluster.server()).port
        server = url(server_port)
        hosts = await cluster.trio(SECTIONS, port=server_port)
        addresses = [host.address for host in hosts]
        lone = Host(cluster.folder, "lone", server_port, "lone")
        cluster.hosts.append(lone)
        await lone.start_bus()
        asking = {
            "question, Python": lambda: ask(hosts, count),
            "NATS request, Python": lambda: request(server, count),
            "question, C": lambda: in_c(program, "ask", "delegate", addresses, count),
            "NATS request, C": lambda: in_c(program, "request", "reply", [server], count),
            "question on one bus, C": lambda: in_c(program, "ask", "delegate", [lone.address], count),
        }
        posting = {
            "posts, Python": lambda: post(hosts, posts),
            "NATS messages, Python": lambda: publish(server, posts),
        }
        for _ in range(rounds):
            for works, results in ((asking, times), (posting, rates)):
                for name, work in works.items():
                    async with asyncio.timeout(SECONDS_MAX):
                        results.setdefault(name, []).append(await work())
    finally:
        await cluster.end()
    report(times, rates)


def main() -> None:
    parser = argparse.ArgumentParser(description="Questions and notifications between hosts, beside NATS")
    parser.add_argument("--count", type=int, default=2_000, help="questions in a round")
    parser.add_argument("--posts", type=int, default=50_000, help="notifications in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--role", choices=ROLES, help=argparse.SUPPRESS)
    parser.add_argument("argument", nargs="?", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        asyncio.run(ROLES[options.role](options.argument))
    else:
        asyncio.run(measure(options.count, options.posts - options.posts % STEP, options.rounds))


if __name__ == "__main__":
    main()
