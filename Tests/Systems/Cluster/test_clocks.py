# SPDX-License-Identifier: Apache-2.0
"""Hosts whose clocks are an hour apart."""

import asyncio
import subprocess
import time
from pathlib import Path

import tribune

from observers import Watch, watch
from questions import NAME, QUERY
from support import Cluster, Host, jetstream

SECTIONS = f'[Export "t.**"]\n[Import "t.**"]\n[Retain "disk.**"]\n{QUERY}'
VALUE = "disk.didMount"
HOUR = 3_600
OFFSETS = {"db1": 0, "db2": HOUR, "db3": -HOUR}


async def hosts_with_clocks(cluster: Cluster) -> list[Host]:
    """Three hosts with wrong clocks; tribunectl has the right one."""
    clock = cluster.folder / "clock.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", clock, Path(__file__).with_name("wrong_clock.c")], check=True
    )
    server = await jetstream(cluster)
    hosts = []
    for name, offset in OFFSETS.items():
        environment = {"LD_PRELOAD": str(clock), "WRONG_CLOCK": str(offset)}
        hosts.append(Host(cluster.folder, name, server.port, " ".join(OFFSETS), SECTIONS, environment=environment))
    await cluster.add(*hosts)
    return hosts


async def test_clocks_that_are_an_hour_apart_change_nothing(cluster: Cluster) -> None:
    hosts = await hosts_with_clocks(cluster)
    buses = [await cluster.connect(host) for host in hosts]
    for host in hosts:
        assert (await host.tribunectl("lease", "backup", "--keep"))[0] == 0
        owners = (await hosts[0].leases())["backup"]["owners"]
        since = {owner["host"]: owner["since"] for owner in owners}
        assert set(since) == {host.name}
        # The clocks are wrong indeed.
        assert abs(since[host.name] / 1_000_000 - time.time() - OFFSETS[host.name]) < HOUR / 4
        for other in hosts:
            if other is not host:
                assert (await other.tribunectl("lease", "backup", "--wait=0", "--", "true"))[0] == 75
        assert (await host.tribunectl("lease", "backup", "--release"))[0] == 0
    for text in ("first", "second"):
        for host, bus in zip(hosts, buses, strict=True):
            await bus.post(VALUE, f"{text} of {host.name}".encode(), retain=True)
            for other in buses:
                watching = await Watch(other, VALUE, retained=True).start()
                await watching.until(f"{text} of {host.name}")
    watches = [await watch(bus) for bus in buses]
    texts = [f"{host.name} {number}" for number in range(3) for host in hosts]
    for number in range(3):
        for host, bus in zip(hosts, buses, strict=True):
            await bus.post("t.a", f"{host.name} {number}".encode())
    for each in watches:
        assert sorted(await each.until(*texts)) == sorted(texts)


async def test_questions_take_no_longer_than_they_may_by_the_clock_that_counts(cluster: Cluster) -> None:
    hosts = await hosts_with_clocks(cluster)
    buses = [await cluster.connect(host) for host in hosts]
    vetoing = ""

    def delegate(name: str):
        async def answer(question: tribune.Question) -> tribune.Answer:
            question.defer(20, "thinking")
            await asyncio.sleep(0)
            return tribune.Veto("not now") if name == vetoing else True

        return answer

    for host, bus in zip(hosts, buses, strict=True):
        await bus.attach(delegate(host.name), NAME, label="local")
    for bus in buses:
        vetoing = ""
        assert await bus.ask(NAME, deadline=20)
        for host in hosts:
            vetoing = host.name
            assert not await bus.ask(NAME, deadline=20)
        async with bus.hold(NAME, why="a restore is running", expires_in=600):
            vetoing = ""
            for other in buses:
                assert not await other.ask(NAME)
