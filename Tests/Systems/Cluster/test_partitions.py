# SPDX-License-Identifier: Apache-2.0
"""Gateways and servers that leave, return, or do not read for a while."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator

import pytest
import tribune

from observers import INTERRUPTED, Ledger, watch
from questions import NAME, QUERY, approving, until_allowed
from support import DEADLINE, Cluster, Host

ALL = f'[Export "t.**"]\n[Import "t.**"]\n{QUERY}'
# A gateway and an observer on a busy machine keep up with this many.
WINDOW = 200


@contextlib.asynccontextmanager
async def beside(*works: object) -> AsyncIterator[None]:
    """Runs coroutines meanwhile, and fails if one does."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()


async def keep_posting(bus: tribune.Bus, name: str) -> None:
    while True:
        await bus.post("t.a", f"of {name}".encode())
        await asyncio.sleep(0.05)


@pytest.mark.any_server
@pytest.mark.parametrize("killed", [1, 3])
async def test_servers_that_are_killed(cluster: Cluster, killed: int) -> None:
    servers = await cluster.three_servers()
    names = ("db1", "db2", "db3")
    hosts = [Host(cluster.folder, name, await cluster.link(name), " ".join(names), ALL) for name in names]
    await cluster.add(*hosts)
    buses = [await cluster.connect(host) for host in hosts]
    watches = [await watch(bus) for bus in buses]
    for bus in buses:
        await bus.attach(approving, NAME)
    for server in servers[-killed:]:
        await server.end()
    if killed == len(servers):
        for host, bus in zip(hosts, buses, strict=True):
            await host.wait_for_status("cluster unreachable")
            began = time.monotonic()
            verdict = await bus.ask(NAME)
            assert not verdict
            assert all("cluster unreachable" in one.reason for one in verdict.outcomes if one.label.startswith("host:"))
            assert time.monotonic() - began < 5
        await asyncio.gather(*(server.start() for server in servers))
    async with beside(*(keep_posting(bus, host.name) for bus, host in zip(buses, hosts, strict=True))):
        await asyncio.gather(*(each.until(*(f"of {name}" for name in names)) for each in watches))
    await asyncio.gather(*map(until_allowed, hosts))


async def test_a_gateway_that_is_restarted(cluster: Cluster) -> None:
    hosts = await cluster.trio(ALL)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    watching = await watch(db2)
    await db1.post("t.a", b"before")
    await watching.until("before")
    async with db2.observe("cluster.link.didInterrupt") as losses:
        for turn in range(3):
            assert await hosts[0].gateway.end(signal.SIGTERM) == 0
            await hosts[0].start_gateway()
            for host in hosts[:2]:
                await until_allowed(host)
            await db1.post("t.a", f"after {turn}".encode())
            await watching.until(f"after {turn}")
            while (loss := (await anext(losses)).json()) == {}:
                continue
            assert loss == {"host": "db1"}


async def test_a_service_manager_that_hangs_holds_nothing_up(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = await cluster.trio(ALL, "HostTimeoutSec=1s", port=server.port)
    db2 = await cluster.connect(hosts[1])
    await db2.attach(approving, NAME)
    await hosts[1].stop_listening()
    await server.end()
    await hosts[0].wait_for_status("cluster unreachable")
    await server.start()
    async with asyncio.timeout(DEADLINE / 2):
        await until_allowed(hosts[0])


async def post_all(bus: tribune.Bus, numbers: range, size: int) -> None:
    for number in numbers:
        await bus.post("t.a", f"db1 {number} {'x' * size}".encode())


async def until_last(bus: tribune.Bus, ledgers: list[Ledger], number: int) -> int:
    """Posts until one has arrived everywhere; returns the next number."""
    while True:
        await bus.post("t.a", f"db1 {number}".encode())
        number += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                for ledger in ledgers:
                    while ledger.last.get(("db1", "t.a")) != number - 1:
                        await ledger.changes()
                return number


@pytest.mark.any_server
@pytest.mark.parametrize(
    ("count", "size", "extra"),
    [
        # The server ends the connection.
        (2_000, 20_000, 'max_pending: 1048576, write_deadline: "1s"'),
        # The server keeps messages for the slow gateway.
        (20_000, 10, ""),
    ],
    ids=["cut off", "kept"],
)
async def test_a_gateway_that_does_not_take_in_loses_what_is_counted(
    cluster: Cluster, count: int, size: int, extra: str
) -> None:
    server = await cluster.server(extra=extra)
    hosts = await cluster.trio(ALL, port=server.port)
    db1, db2, db3 = [await cluster.connect(host) for host in hosts]
    ledgers = [Ledger("db2", db2), Ledger("db3", db3)]
    for ledger in ledgers:
        await ledger.start()
    async with beside(*(ledger.watch() for ledger in ledgers)):
        first = await until_last(db1, ledgers, 0)
        hosts[2].gateway.send(signal.SIGSTOP)
        for number in range(first, first + count, WINDOW):
            await post_all(db1, range(number, number + WINDOW), size)
            while ledgers[0].arrived["db1"] < number + WINDOW:
                await ledgers[0].changes()
        assert not ledgers[0].lost
        if extra:
            await server.program.wait_for_line("Slow Consumer")
        hosts[2].gateway.send(signal.SIGCONT)
        total = await until_last(db1, ledgers, first + count)
        while ledgers[1].arrived["db1"] + ledgers[1].lost["db1"] < total:
            await ledgers[1].changes()
        print(ledgers[1].lost["db1"], "of", total, "lost")
        assert ledgers[1].arrived["db1"] + ledgers[1].lost["db1"] == total
        assert bool(ledgers[1].lost) or not extra


async def test_what_a_stalled_link_brings_later_is_lost_rather_than_out_of_order(cluster: Cluster) -> None:
    server = await cluster.server()
    stalled, spare = [await cluster.relay(server.port) for _ in range(2)]
    await spare.sever()
    links = {"db1": (stalled.port, spare.port), "db2": server.port}
    hosts = [Host(cluster.folder, name, port, "db1 db2", ALL) for name, port in links.items()]
    await cluster.add(*hosts)
    await spare.mend()
    db1, db2 = [await cluster.connect(host) for host in hosts]
    ledger = Ledger("db2", db2)
    await ledger.start()
    async with beside(ledger.watch()):
        await db1.post("t.b", b"db1 0")
        first = await until_last(db1, [ledger], 1)
        stalled.silence()
        for number in range(first, first + 20):
            await db1.post(f"t.{'ab'[number % 2]}", f"db1 {number}".encode())
        await hosts[0].wait_for_status("cluster unreachable")
        await hosts[0].wait_for_status("all hosts are there")
        total = await until_last(db1, [ledger], first + 20)
        # As a hung server that continues.
        await stalled.mend()
        # Only their late arrival tells how many of t.b are lost.
        while ledger.arrived["db1"] + ledger.lost["db1"] < total:
            await ledger.changes()
        assert ledger.arrived["db1"] + ledger.lost["db1"] == total


async def test_a_gateway_that_does_not_take_out_says_what_was_not_sent(cluster: Cluster) -> None:
    hosts = await cluster.trio(ALL)
    buses = [await cluster.connect(host) for host in hosts]
    # Losses and arrivals come in any order.
    news = asyncio.Condition()
    own = Ledger(hosts[0].name, buses[0], news, (INTERRUPTED,))
    others = [Ledger(host.name, bus, news) for host, bus in zip(hosts[1:], buses[1:], strict=True)]
    for ledger in (own, *others):
        await ledger.start()
    count = 4_000
    async with beside(*(ledger.watch() for ledger in (own, *others))):
        first = await until_last(buses[0], others, 0)
        hosts[0].gateway.send(signal.SIGSTOP)
        await post_all(buses[0], range(first, first + count), 20_000)
        await buses[1].post("t.b", b"db2 0")
        while not others[1].arrived["db2"]:
            await others[1].changes()
        hosts[0].gateway.send(signal.SIGCONT)
        total = await until_last(buses[0], others, first + count)
        for ledger in others:
            while ledger.arrived["db1"] + own.lost["db1"] < total:
                await own.changes()
            assert ledger.arrived["db1"] + own.lost["db1"] == total
        print(own.lost["db1"], "of", total, "lost")
        assert own.lost["db1"]
        for ledger in others:
            while not ledger.unknown["db1"]:
                await ledger.changes()
