# SPDX-License-Identifier: Apache-2.0
"""Notifications between hosts."""

import asyncio
import time

import pytest

from observers import INTERRUPTED, next_lost, next_named, watch
from support import PROGRAMS, Cluster, Host, Program, lasting, publish, url

ALL = '[Export "**"]\n[Import "**"]\n'


@pytest.mark.any_server
async def test_a_notification_arrives_as_it_was(cluster: Cluster) -> None:
    db1, db2, db3 = [await cluster.connect(host) for host in await cluster.trio(ALL)]
    large = b"x" * 500_000
    cases = [(b"", ""), (b"{}", "repo/main"), (b"\x00\xff\r\n", "ein Objekt: 100 %\u00e4"), (large, "o" * 255)]
    async with db2.observe("t.*") as two, db3.observe("t.*") as three:
        for user_info, name in cases:
            await db1.post("t.didHappen", user_info, object=name)
        for observation in (two, three):
            for user_info, name in cases:
                delivery = await anext(observation)
                assert (delivery.name, delivery.object, delivery.user_info) == ("t.didHappen", name, user_info)


async def test_nothing_crosses_that_is_not_exported_and_imported(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = [
        Host(cluster.folder, "db1", server.port, "db1 db2 db3", '[Export "t.out.**"]\n[Export "end"]\n'),
        Host(cluster.folder, "db2", server.port, "db1 db2 db3", '[Import "t.**"]\n[Export "t.out.**"]\n'),
        Host(cluster.folder, "db3", server.port, "db1 db2 db3", '[Import "t.**"]\nFrom=db2\n[Import "end"]\n'),
    ]
    await cluster.add(*hosts)
    db1, db2, db3 = [await cluster.connect(host) for host in hosts]
    async with db2.observe("t.**") as two, db3.observe("t.**", "end") as three:
        await db1.post("t.secret", b"secret")
        await db1.post("t.out.a", b"a")
        await db1.post("t.out.b", b"b")
        assert [(await anext(two)).text for _ in "ab"] == ["a", "b"]
        await db1.post("end", b"end")
        assert (await anext(three)).text == "end"
        await db2.post("t.out.c", b"c")
        assert (await anext(three)).text == "c"


@lasting(240)
async def test_four_hosts_that_share_everything_get_each_notification_once(cluster: Cluster) -> None:
    server = await cluster.server()
    names = ["h1", "h2", "h3", "h4"]
    hosts = [Host(cluster.folder, name, server.port, " ".join(names), ALL) for name in names]
    await cluster.add(*hosts)
    buses = [await cluster.connect(host) for host in hosts]
    watches = [await watch(bus) for bus in buses]
    rounds = 0
    began = time.monotonic()
    while time.monotonic() - began < 60:
        for name, bus in zip(names, buses, strict=True):
            await bus.post(f"t.{name}.did", f"{name} {rounds}".encode(), object=f"o{rounds % 3}")
        rounds += 1
        await asyncio.sleep(0.01)
    # A looping notification would come before its forwarder's marker, or after a second one.
    for turn in ("first", "second"):
        for name, bus in zip(names, buses, strict=True):
            await bus.post("t.marker", f"{turn} {name}".encode())
        await asyncio.gather(*(each.until(*(f"{turn} {name}" for name in names)) for each in watches))
    print(rounds, "rounds")
    for each in watches:
        assert len(each.texts) == len(set(each.texts)) == len(names) * (rounds + 2)
        for name in names:
            mine = [text for text in each.texts if text.startswith(f"{name} ")]
            assert mine == [f"{name} {index}" for index in range(rounds)]


async def test_a_bus_with_gateways_into_two_clusters_passes_nothing_on(cluster: Cluster) -> None:
    server = await cluster.server()
    servers = f"Servers={url(server.port)}\nRoster="
    hosts = [Host(cluster.folder, name, server.port, "h1 h2", ALL) for name in ("h1", "h2", "h3")]
    hosts[2].configure(f"[Cluster]\nName=other\n{servers}h2 h3\nHost=h3\n{ALL}")
    (cluster.folder / "second").mkdir()
    (cluster.folder / "second/nats.conf").write_text(f"[Cluster]\nName=other\n{servers}h2 h3\nHost=h2\n{ALL}")
    second = Program(
        PROGRAMS / "tribune-nats",
        f"--config={cluster.folder}/second",
        environment={"TRIBUNE_ADDRESS": hosts[1].address},
    )
    try:
        cluster.hosts += hosts
        await hosts[1].start_bus()
        await second.start()
        await hosts[1].start_gateway()
        for host in (hosts[0], hosts[2]):
            await host.start()
        for host in hosts:
            await host.wait_for_status("all hosts are there")
        buses = [await cluster.connect(host) for host in hosts]
        watches = [await watch(bus) for bus in buses]
        await buses[0].post("t.a", b"from h1")
        await watches[1].until("from h1")
        await buses[1].post("t.a", b"from h2")
        await watches[2].until("from h2")
        await buses[2].post("t.a", b"from h3")
        await watches[1].until("from h3")
        await buses[1].post("t.a", b"end")
        assert [await each.until("end") for each in watches] == [
            ["from h1", "from h2", "end"],
            ["from h1", "from h2", "from h3", "end"],
            ["from h2", "from h3", "end"],
        ]
    finally:
        await second.end()


@pytest.mark.any_server
async def test_a_payload_that_nats_does_not_take_is_said_and_counted(cluster: Cluster) -> None:
    server = await cluster.server(extra="max_payload: 4096")
    hosts = await cluster.trio(ALL, port=server.port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    watching = await watch(db2)
    async with db1.observe("cluster.link.didInterrupt") as losses:
        await db1.post("t.a", b"x" * 5_000)
        await db1.post("t.a", b"end")
        await watching.until("end")
        assert (await anext(losses)).json() == {"host": "db1", "lost": 1}
    await hosts[0].gateway.wait_for_line("t.a is too long for NATS")


async def test_what_is_posted_during_a_cut_is_counted_by_both_sides(cluster: Cluster) -> None:
    relay, *hosts = await cluster.relayed(ALL)
    db1, db2 = [await cluster.connect(host) for host in hosts]
    watching = await watch(db2)
    await db1.post("t.a", b"before")
    await watching.until("before")
    async with db1.observe("cluster.link.*") as here, db2.observe("cluster.link.didInterrupt") as there:
        await relay.sever()
        await next_named(here, "cluster.link.didDisconnect")
        for index in range(7):
            await db1.post("t.a", f"lost {index}".encode())
        assert await next_lost(here, "db1") == 7
        await relay.mend()
        await next_named(here, "cluster.link.didConnect")
        await db1.post("t.a", b"after")
        assert await watching.until("after") == ["before", "after"]
        assert await next_lost(there, "db1") == 7


async def test_a_gateway_that_was_killed_comes_back_and_says_that_something_may_be_missing(cluster: Cluster) -> None:
    hosts = await cluster.trio(ALL)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    watching = await watch(db2)
    await db1.post("t.a", b"before")
    await watching.until("before")
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await hosts[0].gateway.end()
        await db1.post("t.a", b"away")
        await hosts[0].start_gateway()
        await hosts[0].wait_for_status("all hosts are there")
        await db1.post("t.a", b"after")
        assert await watching.until("after") == ["before", "after"]
        assert (await anext(losses)).json() == {"host": "db1"}


async def test_the_bus_can_be_killed_and_started_again(cluster: Cluster) -> None:
    hosts = await cluster.trio(ALL)
    db1 = await cluster.connect(hosts[0])
    await hosts[1].bus.end()
    await hosts[1].wait_for_status("no bus")
    await hosts[1].start_bus()
    await hosts[1].wait_for_status("all hosts are there")
    db2 = await cluster.connect(hosts[1])
    watching = await watch(db2)
    await db1.post("t.a", b"again")
    await watching.until("again")


async def test_a_gateway_that_is_started_anew_says_that_it_may_have_missed_something(cluster: Cluster) -> None:
    hosts = await cluster.trio(ALL)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    async with db2.observe(INTERRUPTED, limit=1 << 20) as observation:
        await hosts[1].gateway.end()
        await db1.post("t.missed", b"1")
        await hosts[1].start_gateway()
        await next_named(observation, INTERRUPTED)


async def test_a_forged_notification_silences_nobody(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = await cluster.trio(ALL, port=server.port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    async with db2.observe("t.*") as observation:
        await db1.post("t.a", b"0")
        assert (await anext(observation)).text == "0"
        headers = {"Tribune-Instance": f"{1:032}", "Tribune-Number": "1000/1000"}
        await publish(server.port, "tribune.v1.test.post.db1.t.a", headers)
        assert (await anext(observation)).text == ""
        for number in range(20):
            await db1.post("t.a", str(number).encode())
            assert (await anext(observation)).text == str(number)
    await hosts[1].gateway.wait_for_line("lost an unknown number of notifications of db1")


async def test_two_gateways_of_the_same_name_silence_neither(cluster: Cluster) -> None:
    server = await cluster.server()
    names = {"": "db1", "double": "db1", "other": "db2"}
    hosts = [Host(cluster.folder / folder, name, server.port, "db1 db2", ALL) for folder, name in names.items()]
    await cluster.add(*hosts)
    one, double, db2 = [await cluster.connect(host) for host in hosts]
    async with db2.observe("t.*") as observation:
        for number in range(20):
            for bus in (one, double):
                await bus.post("t.a", str(number).encode())
                assert (await anext(observation)).text == str(number)
    for host in hosts[:2]:
        await host.gateway.wait_for_line("another gateway says that it is db1")
    await hosts[2].gateway.wait_for_line("lost an unknown number of notifications of db1")
