# SPDX-License-Identifier: Apache-2.0
"""Retained notifications of the whole cluster."""

import asyncio
import base64
import json
import signal

import pytest
import tribune

from support import DEADLINE, Cluster, Host, jetstream, lasting, request
from test_leases import NAMES, ROSTER

pytestmark = pytest.mark.any_server

RETAIN = '[Retain "disk.**"]\n'
NAME = "disk.didMount"


async def next_text(observation: tribune.Observation) -> str:
    async for delivery in observation:
        assert isinstance(delivery, tribune.Notification), delivery
        return delivery.text
    raise AssertionError("the observation has ended")


async def until_text(bus: tribune.Bus, text: str, name: str = NAME) -> None:
    """Waits until this text is retained of the name's only object."""
    async with bus.observe(name, retained=True) as observation:
        while await next_text(observation) != text:
            continue


async def test_a_value_is_retained_everywhere_and_cleared_everywhere(cluster: Cluster) -> None:
    hosts = await cluster.trio(RETAIN, port=(await jetstream(cluster)).port)
    db1, db2, db3 = [await cluster.connect(host) for host in hosts]
    async with db2.observe(NAME) as two, db3.observe(NAME) as three, db1.observe(NAME) as one:
        await db1.post(NAME, b'{"by":1}', object="disk/usb \u00e4", retain=True)
        assert [await next_text(each) for each in (one, two, three)] == ['{"by":1}'] * 3
        for bus in (db1, db2, db3):
            assert [(entry.name, entry.object) for entry in await bus.retained()] == [(NAME, "disk/usb \u00e4")]
        await db3.post(NAME, b'{"by":3}', object="disk/usb \u00e4", retain=True)
        assert [await next_text(each) for each in (one, two, three)] == ['{"by":3}'] * 3
        await db2.post(NAME, b"", object="disk/usb \u00e4", retain=True)
        assert [await next_text(each) for each in (one, two, three)] == [""] * 3
        for bus in (db1, db2, db3):
            assert await bus.retained() == []


async def test_a_host_that_comes_gets_what_there_is(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    hosts = [Host(cluster.folder, name, port, "db1 db2", RETAIN) for name in ("db1", "db2")]
    cluster.hosts += hosts
    await hosts[0].start()
    db1 = await cluster.connect(hosts[0])
    for index in range(100):
        await db1.post(f"disk.n{index}", index, retain=True)
    await hosts[1].start()
    db2 = await cluster.connect(hosts[1])
    received = {}
    async with db2.observe("disk.**", retained=True) as observation:
        async for delivery in observation:
            received[delivery.name] = delivery.text
            if len(received) == 100:
                break
    assert received == {f"disk.n{index}": str(index) for index in range(100)}


async def test_a_bus_that_has_lost_everything_gets_it_back(cluster: Cluster) -> None:
    hosts = await cluster.trio(RETAIN, port=(await jetstream(cluster)).port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db1.post(NAME, b"1", retain=True)
    await until_text(db2, "1")
    await hosts[0].bus.end()
    await hosts[0].wait_for_status("no bus")
    await hosts[0].start_bus()
    await until_text(await cluster.connect(hosts[0]), "1")


async def test_what_was_posted_while_the_gateway_was_away_is_newer_than_what_it_had_sent(cluster: Cluster) -> None:
    hosts = await cluster.trio(RETAIN, port=(await jetstream(cluster)).port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db1.post(NAME, b"old", retain=True)
    await until_text(db2, "old")
    await hosts[0].gateway.end()
    await db1.post(NAME, b"new", retain=True)
    await hosts[0].start_gateway()
    await until_text(db2, "new")
    await until_text(db1, "new")


async def test_what_the_bus_drops_before_the_gateway_reads_it_is_shared_nevertheless(cluster: Cluster) -> None:
    hosts = await cluster.trio(RETAIN, port=(await jetstream(cluster)).port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db2.post("disk.theirs", b"old", retain=True)
    await db1.post("disk.ours", b"old", retain=True)
    await until_text(db1, "old", "disk.theirs")
    await until_text(db2, "old", "disk.ours")
    hosts[0].gateway.send(signal.SIGSTOP)
    # The values follow more than the socket takes, and precede more than the bus keeps for a slow observer.
    for number in range(8_000):
        await db1.post("disk.flood", b"x" * 20_000, retain=True)
        if number == 200:
            for name in ("disk.theirs", "disk.ours"):
                await db1.post(name, b"new", retain=True)
    await db1.post("disk.last", b"new", retain=True)
    hosts[0].gateway.send(signal.SIGCONT)
    for name in ("disk.last", "disk.theirs", "disk.ours"):
        await until_text(db2, "new", name)


async def test_what_the_cluster_has_wins_over_what_a_host_had_before_it_joined(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    hosts = [Host(cluster.folder, name, port, "db1 db2", RETAIN) for name in ("db1", "db2")]
    cluster.hosts += hosts
    await hosts[0].start()
    db1 = await cluster.connect(hosts[0])
    await hosts[1].start_bus()
    db2 = await cluster.connect(hosts[1])
    await db1.post(NAME, b"of the cluster", retain=True)
    await db2.post(NAME, b"of a host", retain=True)
    await db2.post("disk.other", b"of a host alone", retain=True)
    await hosts[1].start_gateway()
    await until_text(db2, "of the cluster")
    await until_text(db1, "of a host alone", "disk.other")
    await until_text(db1, "of the cluster")


async def until_all_have_what_the_bucket_has(port: int, buses: list[tribune.Bus], names: list[str]) -> None:
    async with asyncio.timeout(DEADLINE):
        for name in names:
            texts: set[str] = set()
            while len(texts) != 1:
                query = {"last_by_subj": f"$KV.tribune_test.{name}./"}
                reply = json.loads(
                    await request(port, "$JS.API.STREAM.MSG.GET.KV_tribune_test", json.dumps(query).encode())
                )
                texts = {base64.b64decode(reply["message"].get("data", "")).decode()}
                for bus in buses:
                    async with bus.observe(name, retained=True) as observation:
                        texts.add(await next_text(observation))


async def test_two_that_post_at_once_agree_in_the_end(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    buses = [await cluster.connect(host) for host in await cluster.trio(RETAIN, port=port)]
    names = [f"disk.n{index}" for index in range(100)]
    for name in names:
        await asyncio.gather(
            *(bus.post(name, f"{name} of {number}".encode(), retain=True) for number, bus in enumerate(buses))
        )
    for number, bus in enumerate(buses):
        await bus.post("disk.marker", number, retain=True)
        for other in buses:
            await until_text(other, str(number), "disk.marker")
    await until_all_have_what_the_bucket_has(port, buses, names)


async def test_hosts_agree_after_a_gateway_stood_still(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    hosts = await cluster.trio(RETAIN, port=port)
    buses = [await cluster.connect(host) for host in hosts]
    names = [f"disk.n{index}" for index in range(20)]
    hosts[0].gateway.send(signal.SIGSTOP)
    for name in names:
        for number in (0, 1):
            await buses[number].post(name, f"{name} of {number}".encode(), retain=True)
        await until_text(buses[2], f"{name} of 1", name)
    hosts[0].gateway.send(signal.SIGCONT)
    await buses[0].post("disk.marker", b"0", retain=True)
    await until_text(buses[1], "0", "disk.marker")
    await until_all_have_what_the_bucket_has(port, buses, names)


async def test_values_wait_for_a_server_that_was_away(cluster: Cluster) -> None:
    hosts = await cluster.trio(RETAIN, port=(await jetstream(cluster)).port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db1.post(NAME, b"before", retain=True)
    await until_text(db2, "before")
    await cluster.servers[0].end()
    await hosts[0].wait_for_status("cluster unreachable")
    await db1.post(NAME, b"meanwhile", retain=True)
    await cluster.servers[0].start()
    await until_text(db2, "meanwhile")


async def test_values_wait_for_room_in_a_bucket_that_is_full(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    bucket = {
        "name": "KV_tribune_test",
        "subjects": ["$KV.tribune_test.>"],
        "max_msgs_per_subject": 1,
        "max_bytes": 20_000,
        "discard": "new",
        "allow_rollup_hdrs": True,
        "retention": "limits",
        "storage": "file",
        "num_replicas": 1,
    }
    made = json.loads(await request(port, f"$JS.API.STREAM.CREATE.{bucket['name']}", json.dumps(bucket).encode()))
    assert "error" not in made, made
    hosts = await cluster.trio(RETAIN, port=port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    for index in range(10):
        await db1.post(f"disk.n{index}", f"{index} {'x' * 5_000}".encode(), retain=True)
    await hosts[0].gateway.wait_for_line("JetStream refuses it")
    assert len(await db1.retained()) == 10
    wider = json.dumps(bucket | {"max_bytes": 1_000_000}).encode()
    changed = json.loads(await request(port, f"$JS.API.STREAM.UPDATE.{bucket['name']}", wider))
    assert "error" not in changed, changed
    for index in range(10):
        await until_text(db2, f"{index} {'x' * 5_000}", f"disk.n{index}")


@lasting(300)
async def test_with_three_replicas_their_leader_may_be_killed(cluster: Cluster) -> None:
    await cluster.three_servers()
    hosts = [Host(cluster.folder, name, await cluster.link(name), ROSTER, RETAIN, "Replicas=3") for name in NAMES]
    await cluster.add(*hosts)
    buses = [await cluster.connect(host) for host in hosts]
    names = [f"disk.n{index}" for index in range(20)]
    # The second turn needs the first leader back.
    for turn in ("first", "second"):
        leader = await cluster.leader("KV_tribune_test")
        for name in names[:10]:
            await buses[0].post(name, turn.encode(), retain=True)
        await leader.end()
        for name in names[10:]:
            await buses[0].post(name, turn.encode(), retain=True)
        for bus in buses:
            for name in names:
                await until_text(bus, turn, name)
        await leader.start()


async def test_a_server_without_jetstream_is_said(cluster: Cluster) -> None:
    hosts = await cluster.trio(RETAIN)
    await hosts[0].gateway.wait_for_line("nothing retained is shared")
