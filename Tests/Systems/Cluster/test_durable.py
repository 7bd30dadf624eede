# SPDX-License-Identifier: Apache-2.0
"""Durable notifications: at least once, in order, through a stream of JetStream."""

import asyncio
import itertools
import json
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
import tribune

from faults import Faults
from observers import watch
from support import DEADLINE, Cluster, Host, NatsServer, jetstream, lasting, request
from test_account import SECONDS
from test_leases import NAMES, ROSTER

EXPORT = '[Export "t.**"]\nDurable=yes\n'
IMPORT = '[Import "t.**"]\nDurable=yes\n'
BOTH = EXPORT + IMPORT
STREAM = "tribune-durable_test"
COMES_IN = "durable notifications come in"


def host(cluster: Cluster, name: str, port: int, sections: str = BOTH, options: str = "") -> Host:
    return Host(cluster.folder, name, port, "db1 db2", sections, options)


async def pair(cluster: Cluster, *ports: int, options: str = "") -> tuple[Host, Host]:
    """Two hosts that import from each other."""
    hosts = [host(cluster, name, port, options=options) for name, port in zip(("db1", "db2"), ports, strict=True)]
    await cluster.add(*hosts)
    for each in hosts:
        await each.gateway.wait_for_line(COMES_IN)
    return hosts[0], hosts[1]


async def post(bus: tribune.Bus, texts: list[str], name: str = "t.a") -> None:
    """Posts, and waits until JetStream has stored it."""
    for text in texts:
        # Many others can wait before it.
        reply = await bus.post_awaited(name, text.encode(), deadline=300)
        assert (reply.acknowledged, reply.missing) == (1, ()), reply


async def stream_info(server: NatsServer) -> dict:
    return json.loads(await request(server.port, f"$JS.API.STREAM.INFO.{STREAM}", b""))


async def make_stream(server: NatsServer, config: dict) -> None:
    reply = json.loads(await request(server.port, f"$JS.API.STREAM.CREATE.{STREAM}", json.dumps(config).encode()))
    assert "error" not in reply, reply


async def until_all_have_all(server: NatsServer) -> None:
    """Waits until each gateway has acknowledged everything, after which it does not post it again."""
    last = (await stream_info(server))["state"]["last_seq"]
    async with asyncio.timeout(DEADLINE):
        while True:
            consumers = json.loads(await request(server.port, f"$JS.API.CONSUMER.LIST.{STREAM}", b""))["consumers"]
            if all(consumer["ack_floor"]["stream_seq"] == last for consumer in consumers):
                return


async def next_loss(observation: tribune.Observation) -> dict:
    delivery = await anext(observation)
    assert isinstance(delivery, tribune.Notification), delivery
    return delivery.json()


def numbered(text: str, count: int) -> list[str]:
    return [f"{text} {index}" for index in range(count)]


async def test_a_notification_arrives_as_it_was(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    db1, db2 = [await cluster.connect(each) for each in await pair(cluster, port, port)]
    large = b"x" * 500_000
    cases = [(b"", ""), (b"{}", "repo/main"), (b"\x00\xff\r\n", "ein Objekt: 100 %\u00e4"), (large, "o" * 255)]
    async with db2.observe("t.*") as observation:
        for user_info, name in cases:
            await db1.post("t.didHappen", user_info, object=name)
        for user_info, name in cases:
            delivery = await anext(observation)
            assert (delivery.name, delivery.object, delivery.user_info) == ("t.didHappen", name, user_info)


async def test_three_hosts_have_each_notification_once_and_in_order(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    hosts = await cluster.trio('[Export "**"]\n[Import "**"]\n' + BOTH, port=server.port)
    for each in hosts:
        await each.gateway.wait_for_line(COMES_IN)
    buses = [await cluster.connect(each) for each in hosts]
    watches = [await watch(bus) for bus in buses]
    for index in range(200):
        for number, bus in enumerate(buses):
            await bus.post(f"t.n{index % 3}", f"{number} {index}".encode())
    # A copy on another way would come before its host's marker, or after a second one.
    for turn in ("first", "second"):
        for number, bus in enumerate(buses):
            await bus.post("t.end", f"{turn} {number}".encode())
        for each in watches:
            await each.until(*(f"{turn} {number}" for number in range(len(buses))))
    for each in watches:
        assert set(Counter(each.texts).values()) == {1}
        for number in range(len(buses)):
            mine = [text for text in each.texts if text.startswith(f"{number} ")]
            assert mine == numbered(str(number), 200)


async def test_a_host_that_was_away_catches_up(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1 = await cluster.connect(one)
    await post(db1, ["before"])
    await until_all_have_all(server)
    await two.gateway.end()
    await two.bus.end()
    await post(db1, numbered("away", 50))
    await two.start_bus()
    watching = await watch(await cluster.connect(two))
    await two.start_gateway()
    await post(db1, ["after"])
    assert await watching.until("after") == [*numbered("away", 50), "after"]


async def test_a_host_that_joins_begins_with_what_is_posted_then(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    one = host(cluster, "db1", port)
    cluster.hosts.append(one)
    await one.start()
    await one.gateway.wait_for_line(COMES_IN)
    db1 = await cluster.connect(one)
    await post(db1, ["old"])
    two = host(cluster, "db2", port)
    await cluster.add(two)
    await two.gateway.wait_for_line(COMES_IN)
    watching = await watch(await cluster.connect(two))
    await post(db1, ["new"])
    assert await watching.until("new") == ["new"]


async def test_what_is_posted_while_the_server_is_away_arrives(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1 = await cluster.connect(one)
    watching = await watch(await cluster.connect(two))
    await post(db1, numbered("before", 20))
    await server.end()
    await one.wait_for_status("cluster unreachable")
    for text in numbered("away", 50):
        await db1.post("t.a", text.encode())
    await server.start()
    await post(db1, ["after"])
    assert await watching.until("after") == [*numbered("before", 20), *numbered("away", 50), "after"]


@pytest.mark.parametrize("side", [0, 1], ids=["out", "in"])
@pytest.mark.parametrize("cut", ["severed", "silent"])
async def test_what_is_posted_while_a_link_is_cut_arrives(cluster: Cluster, side: int, cut: str) -> None:
    server = await jetstream(cluster)
    relay = await cluster.relay(server.port)
    hosts = await pair(cluster, *((relay.port, server.port) if side == 0 else (server.port, relay.port)))
    db1, db2 = [await cluster.connect(each) for each in hosts]
    watching = await watch(db2)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await post(db1, numbered("before", 20))
        if cut == "severed":
            await relay.sever()
        else:
            relay.silence()
        for text in numbered("cut", 50):
            await db1.post("t.a", text.encode())
        await hosts[side].wait_for_status("cluster unreachable")
        await relay.mend()
        await post(db1, ["after"])
        assert await watching.until("after") == [*numbered("before", 20), *numbered("cut", 50), "after"]
        await db1.post("t.a", b"x" * 2_000_000)
        await post(db1, ["end"])
        assert await next_loss(losses) == {"host": "db1", "lost": 1}


async def test_what_a_poster_has_waited_for_survives_everything(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1 = await cluster.connect(one)
    await two.gateway.end()
    await post(db1, numbered("kept", 20))
    await one.gateway.end()
    await one.bus.end()
    await server.end()
    await server.start()
    watching = await watch(await cluster.connect(two))
    await two.start_gateway()
    assert await watching.until("kept 19") == numbered("kept", 20)


async def test_a_poster_that_waits_learns_that_jetstream_has_it_not(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, _ = await pair(cluster, server.port, server.port)
    db1 = await cluster.connect(one)
    await server.end()
    reply = await db1.post_awaited("t.a", b"x", deadline=1)
    missing = [(each.failure, each.peer.process) for each in reply.missing]
    assert missing == [(tribune.Failure.TIMED_OUT, "tribune-nats")]
    reply = await db1.post_awaited("t.other", b"x" * 100, object="o", deadline=1)
    assert reply.acknowledged == 0


async def test_a_gateway_that_was_killed_says_that_something_may_be_missing(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    one, two = await pair(cluster, port, port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await post(db1, ["before"])
        await watching.until("before")
        await one.gateway.end()
        await db1.post_acknowledged("t.a", b"away")
        await one.start_gateway()
        await post(db1, ["after"])
        assert await watching.until("after") == ["before", "after"]
        assert await next_loss(losses) == {"host": "db1"}


async def test_a_full_stream_refuses_and_nothing_is_lost(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port, options="DurableMaxBytes=64K")
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    await two.gateway.end()
    texts = [f"{index} {'x' * 5_000}" for index in range(50)]
    for text in texts:
        await db1.post("t.a", text.encode())
    await one.wait_for_status("durable notifications wait: JetStream refuses them: maximum bytes exceeded")
    await one.wait_for_status("db2 has read least of the stream")
    await two.start_gateway()
    await post(db1, ["end"])
    await one.gateway.wait_for_line("durable notifications wait no longer")
    assert await watching.until("end") == [*texts, "end"]


async def test_what_waits_too_long_is_lost_and_counted_on_both_sides(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    relay = await cluster.relay(server.port)
    one, two = await pair(cluster, relay.port, server.port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    await post(db1, ["before"])
    async with db1.observe("cluster.link.didInterrupt") as here, db2.observe("cluster.link.didInterrupt") as there:
        await relay.sever()
        await one.wait_for_status("cluster unreachable")
        for text in numbered("cut" + "x" * 2_000, 6_000):
            await db1.post_acknowledged("t.a", text.encode())
        reading = asyncio.create_task(watching.until("after"))
        await relay.mend()
        await post(db1, ["after"])
        arrived = await reading
        loss = await next_loss(here)
        assert loss["host"] == "db1"
        assert len(arrived) + loss["lost"] == 6_002
        assert await next_loss(there) == loss
    assert len(set(arrived)) == len(arrived)


async def test_what_the_bus_refuses_is_counted_and_keeps_nothing_waiting(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    one, two = await pair(cluster, port, port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    protocol = "protocol P { optional did t.didOther () }"
    async with db2.declare("o", "P", protocol), db2.observe("cluster.link.didInterrupt") as losses:
        await db1.post_awaited("t.a", b"{}", object="o")
        await post(db1, ["after"])
        assert await watching.until("after") == ["after"]
        assert await next_loss(losses) == {"host": "db1", "lost": 1}
    await two.gateway.wait_for_line("t.a of db1 was not posted")


async def test_what_comes_while_the_bus_is_away_waits_for_it(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1 = await cluster.connect(one)
    await post(db1, ["before"])
    await until_all_have_all(server)
    await two.bus.end()
    await two.wait_for_status("no bus")
    await post(db1, numbered("away", 20))
    two.gateway.send(signal.SIGSTOP)
    await two.start_bus()
    watching = await watch(await cluster.connect(two))
    two.gateway.send(signal.SIGCONT)
    await post(db1, ["after"])
    assert await watching.until("after") == [*numbered("away", 20), "after"]


async def test_unread_notifications_that_were_removed_are_announced(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    config = {
        "name": STREAM,
        "subjects": ["tribune.v1.test.durable.*.>"],
        "max_msgs": 3,
        "discard": "old",
        "storage": "file",
        "num_replicas": 1,
    }
    await make_stream(server, config)
    one, two = await pair(cluster, server.port, server.port)
    await one.gateway.wait_for_line("removes unread notifications when it is full")
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    await post(db1, ["before"])
    await until_all_have_all(server)
    await two.gateway.end()
    await post(db1, numbered("away", 10))
    watching = await watch(db2)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await two.start_gateway()
        assert await watching.until("away 9") == ["away 7", "away 8", "away 9"]
        assert await next_loss(losses) == {"host": "db1", "lost": 7}


async def remove(server: NatsServer, what: str) -> None:
    reply = json.loads(await request(server.port, f"$JS.API.{what}", b""))
    assert reply.get("success"), reply


async def test_a_consumer_and_a_stream_that_somebody_removes_are_made_again(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    await post(db1, ["before"])
    await watching.until("before")
    await remove(server, f"STREAM.DELETE.{STREAM}")
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await post(db1, ["of another stream"])
        assert await next_loss(losses) == {}
    await watching.until("of another stream")
    await remove(server, f"CONSUMER.DELETE.{STREAM}.db2")
    await post(db1, numbered("kept", 3))
    assert await watching.until("kept 2") == ["before", "of another stream", *numbered("kept", 3)]


async def away(cluster: Cluster, texts: list[str]) -> tuple[NatsServer, Host, tribune.Bus, tribune.Bus]:
    """The server, the second of two hosts, and both buses: it received the texts, then its gateway was killed."""
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    await post(db1, texts)
    await until_all_have_all(server)
    await two.gateway.end()
    return server, two, db1, db2


async def first_loss(db1: tribune.Bus, losses: tribune.Observation) -> dict:
    """The next announced loss: at the latest that of a post that is too long."""
    await db1.post("t.a", b"x" * 2_000_000)
    await post(db1, ["end"])
    return await next_loss(losses)


@pytest.mark.parametrize("removed", [f"CONSUMER.DELETE.{STREAM}.db2", f"STREAM.DELETE.{STREAM}"])
async def test_a_host_whose_consumer_or_stream_was_removed_while_it_was_away(cluster: Cluster, removed: str) -> None:
    server, two, db1, db2 = await away(cluster, numbered("before", 5))
    await remove(server, removed)
    await post(db1, numbered("away", 5))
    watching = await watch(db2)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await two.start_gateway()
        assert await watching.until("away 4") == numbered("away", 5)
        if removed.startswith("STREAM"):
            assert await next_loss(losses) == {}
        else:
            assert await first_loss(db1, losses) == {"host": "db1", "lost": 1}


async def test_a_host_that_does_not_know_what_it_had_says_so(cluster: Cluster) -> None:
    server, two, db1, db2 = await away(cluster, ["before"])
    (cluster.folder / "db2/durable-test").unlink()
    watching = await watch(db2)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await two.start_gateway()
        assert await next_loss(losses) == {}
        await post(db1, ["known"])
        await until_all_have_all(server)
        await two.gateway.end()
        await two.start_gateway()
        await two.gateway.wait_for_line(COMES_IN)
        assert await first_loss(db1, losses) == {"host": "db1", "lost": 1}
    assert await watching.until("end") == ["known", "end"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subjects": ["tribune.v1.test.durable.db1.>"]}, "its subjects are not"),
        ({"retention": "workqueue"}, "it is a work queue"),
        ({"no_ack": True}, "it does not acknowledge"),
    ],
)
async def test_a_stream_that_cannot_be_used_is_said(cluster: Cluster, change: dict, message: str) -> None:
    server = await jetstream(cluster)
    config = {"name": STREAM, "subjects": ["tribune.v1.test.durable.*.>"], "storage": "file", **change}
    await make_stream(server, config)
    one = host(cluster, "db1", server.port)
    cluster.hosts.append(one)
    await one.start()
    await one.gateway.wait_for_line(message)
    db1 = await cluster.connect(one)
    reply = await db1.post_awaited("t.a", b"x", deadline=1)
    assert reply.acknowledged == 0


async def test_a_server_without_jetstream_is_said(cluster: Cluster) -> None:
    one = host(cluster, "db1", (await cluster.server()).port)
    cluster.hosts.append(one)
    await one.start()
    await one.gateway.wait_for_line("durable notifications wait")


async def test_what_another_host_exports_without_durable_comes_in_and_is_said(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    hosts = [host(cluster, "db1", server.port, '[Export "t.**"]\n'), host(cluster, "db2", server.port, IMPORT)]
    await cluster.add(*hosts)
    db1, db2 = [await cluster.connect(each) for each in hosts]
    watching = await watch(db2)
    await db1.post("t.a", b"x")
    assert await watching.until("x") == ["x"]
    await hosts[1].gateway.wait_for_line("t.a of db1 is not durable")


def user(host: str, *denied: str) -> str:
    """A host's permissions for durable notifications in docs/CLUSTER.md."""
    start = "tribune.v1.test"
    publish = [f"{start}.*.{host}.>", f"{start}.presence.{host}", "$JS.API.>", f"$JS.ACK.{STREAM}.{host}.>"]
    subscribe = [
        f"{start}.{what}" for what in ("post.>", "presence.*", "lease.>", f"stored.{host}.*", f"deliver.{host}")
    ]
    subscribe += [f"{start}.{what}" for what in (f"ask.*.{host}.>", f"cancel.*.{host}", f"reply.*.{host}.*")]
    subscribe.append("_INBOX.>")
    permissions = json.dumps({"publish": {"allow": publish, "deny": denied}, "subscribe": subscribe})
    return f'{{ user: {host}, password: "secret", permissions: {permissions} }}'


async def test_hosts_that_may_speak_for_themselves_alone(cluster: Cluster) -> None:
    users = ", ".join(user(name) for name in ("db1", "db2"))
    extra = f'jetstream {{ store_dir: "{cluster.folder}/js" }}\nauthorization {{ users: [ {users} ] }}'
    server = await cluster.server(extra=extra)
    password = cluster.folder / "password"
    password.write_text("secret\n")
    hosts = []
    for name in ("db1", "db2"):
        hosts.append(host(cluster, name, server.port, options=f"User={name}\nPasswordFile={password}"))
    await cluster.add(*hosts)
    for each in hosts:
        await each.gateway.wait_for_line(COMES_IN)
    db1, db2 = [await cluster.connect(each) for each in hosts]
    watching = await watch(db2)
    texts = numbered("x", 10)
    await post(db1, texts)
    assert await watching.until(texts[-1]) == texts
    assert not any("ermission" in line for each in hosts for line in each.gateway.lines)


@lasting(300)
async def test_with_three_replicas_their_leader_may_be_killed_and_each_notification_comes_once(
    cluster: Cluster,
) -> None:
    await cluster.three_servers()
    hosts = [Host(cluster.folder, name, await cluster.link(name), ROSTER, BOTH, "Replicas=3") for name in NAMES]
    await cluster.add(*hosts)
    for each in hosts:
        await each.gateway.wait_for_line(COMES_IN)
    buses = [await cluster.connect(each) for each in hosts]
    watches = [await watch(bus) for bus in buses]
    texts: list[str] = []
    # The second turn needs the first leader back.
    for turn in ("first", "second"):
        leader = await cluster.leader(STREAM)
        mine = numbered(turn, 100)
        texts += mine
        posting = asyncio.create_task(post(buses[0], mine))
        await watches[0].until(mine[10])
        await leader.end()
        await posting
        await leader.start()
    await post(buses[0], ["end"])
    for each in watches:
        assert await each.until("end") == [*texts, "end"]


async def test_what_is_longer_than_half_of_the_stream_keeps_nothing_waiting(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    one, two = await pair(cluster, port, port, options="DurableMaxBytes=64K")
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    reply = await db1.post_awaited("t.a", b"x" * 40_000)
    assert [each.reason for each in reply.missing] == [f"it is longer than the stream {STREAM} takes"]
    await post(db1, ["after"])
    assert await watching.until("after") == ["after"]


async def test_what_all_hosts_have_gives_way_to_what_does_not_fit(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    # As the gateway makes it, except for messages as long as the whole stream.
    config = {
        "name": STREAM,
        "description": "Durable notifications, made by tribune-nats",
        "subjects": ["tribune.v1.test.durable.*.>"],
        "max_bytes": 64 << 10,
        "discard": "new",
        "storage": "file",
    }
    await make_stream(server, config)
    one, two = await pair(cluster, server.port, server.port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    watching = await watch(db2)
    texts = ["x" * 20_000, "y" * 50_000]
    await post(db1, texts[:1])
    await until_all_have_all(server)
    await post(db1, texts[1:])
    assert await watching.until(texts[1]) == texts


async def test_a_stream_is_used_where_its_consumers_cannot_be_listed(cluster: Cluster) -> None:
    users = ", ".join(user(name, "$JS.API.CONSUMER.LIST.>") for name in ("db1", "db2"))
    extra = f'jetstream {{ store_dir: "{cluster.folder}/js" }}\nauthorization {{ users: [ {users} ] }}'
    port = (await cluster.server(extra=extra)).port
    (cluster.folder / "password").write_text("secret\n")
    hosts = []
    for name in ("db1", "db2"):
        login = f"User={name}\nPasswordFile={cluster.folder}/password\nDurableMaxBytes=64K"
        hosts.append(host(cluster, name, port, options=login))
    await cluster.add(*hosts)
    db1, db2 = [await cluster.connect(each) for each in hosts]
    watching = await watch(db2)
    await post(db1, ["x" * 20_000, "y" * 20_000])
    await hosts[0].gateway.end()
    await hosts[0].start_gateway()
    await hosts[0].gateway.wait_for_line(f"the consumers of {STREAM} cannot be read")
    await post(db1, ["after"])
    await watching.until("after")


@pytest.mark.parametrize("sections", ["", EXPORT], ids=["unused", "exports"])
async def test_a_consumer_that_its_host_does_not_need_any_more_is_said(cluster: Cluster, sections: str) -> None:
    port = (await jetstream(cluster)).port
    _, two = await pair(cluster, port, port)
    await two.gateway.end()
    two.configure(two.configuration.replace(BOTH, sections))
    await two.start_gateway()
    await two.gateway.wait_for_line(f'"nats consumer rm {STREAM} db2"')


async def test_what_nobody_knows_the_poster_of_is_refused_and_counted(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    one, two = await pair(cluster, port, port)
    db1, db2 = [await cluster.connect(each) for each in (one, two)]
    await post(db1, ["before"])
    script = (
        "import asyncio, ctypes, tribune\n"
        "async def main():\n"
        f"    async with tribune.connect({one.address!r}) as bus:\n"
        "        print((await bus.post_awaited('t.a', 'x')).missing[0].reason)\n"
        "ctypes.CDLL(None).prctl(15, b'')\n"
        "asyncio.run(main())\n"
    )
    async with db2.observe("cluster.link.didInterrupt") as losses:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=subprocess.PIPE)
        async with asyncio.timeout(DEADLINE):
            output, _ = await process.communicate()
        assert output == b"its poster is not known\n"
        await post(db1, ["after"])
        assert await next_loss(losses) == {"host": "db1", "lost": 1}


async def test_what_is_shared_instead_is_not_acknowledged(cluster: Cluster) -> None:
    one = host(cluster, "db1", (await jetstream(cluster)).port, BOTH + '[Retain "t.kept.*"]\n')
    cluster.hosts.append(one)
    await one.start()
    await one.gateway.wait_for_line('[Retain "t.kept.*"]')
    db1 = await cluster.connect(one)
    reply = await db1.post_awaited("t.kept.a", b"x")
    assert [each.reason for each in reply.missing] == ["it is under [Retain], and so it is not durable"]


async def test_what_waits_for_the_bus_is_delivered_once(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    db1 = await cluster.connect(one)
    await two.bus.end()
    await two.wait_for_status("no bus")
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b'CONNECT {"verbose":false}\r\nSUB $JS.ACK.*.db2.> 1\r\n')
    await post(db1, ["x"])
    # Longer than JetStream waits without a word.
    async with asyncio.timeout(DEADLINE):
        for _ in range(4):
            while await reader.readline() != b"+WPI\r\n":
                pass
    writer.close()
    consumer = json.loads(await request(server.port, f"$JS.API.CONSUMER.INFO.{STREAM}.db2", b""))
    assert (consumer["num_ack_pending"], consumer["num_redelivered"]) == (1, 0)


async def test_a_gap_is_announced_before_anything_is_acknowledged_behind_it(cluster: Cluster) -> None:
    server, two, db1, db2 = await away(cluster, ["before"])
    await post(db1, numbered("away", 3))
    last = (await stream_info(server))["state"]["last_seq"]
    purge = json.dumps({"seq": last}).encode()
    assert json.loads(await request(server.port, f"$JS.API.STREAM.PURGE.{STREAM}", purge))["purged"] > 2
    await post(db1, ["after"])
    watching = await watch(db2)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        await two.start_gateway()
        await watching.until("away 2", "after")
        await until_all_have_all(server)
        await two.gateway.end()
        await two.start_gateway()
        assert await next_loss(losses) == {"host": "db1", "lost": 2}


async def test_a_loss_is_announced_once_the_bus_is_back(cluster: Cluster) -> None:
    port = (await jetstream(cluster)).port
    relay = await cluster.relay(port)
    _, two = await pair(cluster, port, relay.port)
    await two.gateway.end()
    two.configure(two.configuration.replace(BOTH, '[Import "t.**"]\n'))
    await two.start_gateway()
    await two.wait_for_status("all hosts are there")
    await two.bus.end()
    await two.wait_for_status("no bus")
    await relay.sever()
    await two.gateway.wait_for_line("cluster.link.didDisconnect was not posted")
    await two.gateway.wait_for_line("cluster.link.didInterrupt was not posted")
    two.gateway.send(signal.SIGSTOP)
    await two.start_bus()
    db2 = await cluster.connect(two)
    async with db2.observe("cluster.link.didInterrupt") as losses:
        two.gateway.send(signal.SIGCONT)
        assert await next_loss(losses) == {}


async def test_one_connection_to_the_bus_waits_for_jetstream_at_a_time(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    one, two = await pair(cluster, server.port, server.port)
    watching = await watch(await cluster.connect(two))
    async with one.connect() as db1:
        await server.end()
        await one.wait_for_status("cluster unreachable")
        await db1.post_acknowledged("t.a", b"kept")
    await one.bus.end()
    await one.gateway.wait_for_line("not connected to the bus")
    lines = len(one.gateway.lines)
    await one.start_bus()
    await one.gateway.wait_for_line("connected to the bus", after=lines)
    db1 = await cluster.connect(one)
    reply = await db1.post_awaited("t.a", b"not observed")
    assert (reply.acknowledged, reply.missing) == (0, ())
    async with db1.observe("cluster.link.didInterrupt") as losses:
        await server.start()
        assert await next_loss(losses) == {"host": "db1"}
    assert await watching.until("kept") == ["kept"]


class CountedKills(Faults):
    """Counts the kills of each host's gateway."""

    def __init__(self, cluster: Cluster, *kinds: str) -> None:
        super().__init__(cluster, *kinds)
        self.killed: Counter[str] = Counter()

    async def _kill_gateway(self, host: Host) -> None:
        self.killed[host.name] += 1
        await super()._kill_gateway(host)


async def test_what_was_confirmed_arrives_in_order_and_only_a_killed_gateway_repeats_one(cluster: Cluster) -> None:
    await jetstream(cluster)
    hosts = [Host(cluster.folder, name, await cluster.link(name), ROSTER, BOTH) for name in NAMES]
    await cluster.add(*hosts)
    for each in hosts:
        await each.gateway.wait_for_line(COMES_IN)
    buses = [await cluster.connect(each) for each in hosts]
    ends = [f"{name} end" for name in NAMES]
    watches = [await watch(bus) for bus in buses]
    watching = [asyncio.create_task(each.until(*ends)) for each in watches]
    confirmed: dict[str, list[str]] = {name: [] for name in NAMES}
    faults = CountedKills(cluster, "sever_host", "silence_host", "kill_gateway", "kill_server")
    end_of_faults = time.monotonic() + SECONDS
    cutting = asyncio.create_task(faults.run(lambda: time.monotonic() >= end_of_faults))

    async def keep_posting(name: str, bus: tribune.Bus) -> None:
        for number in itertools.count():
            if cutting.done():
                return
            text = f"{name} {number}"
            reply = await bus.post_awaited(f"t.n{number % 3}", text.encode(), deadline=2)
            if reply.acknowledged == 1:
                confirmed[name].append(text)
            await asyncio.sleep(0.001)

    await asyncio.gather(*(keep_posting(name, bus) for name, bus in zip(NAMES, buses, strict=True)), cutting)
    for bus, end in zip(buses, ends, strict=True):
        await post(bus, [end])
    for here, texts in zip(NAMES, await asyncio.gather(*watching), strict=True):
        for there in NAMES:
            mine = [text for text in texts if text.startswith(f"{there} ") and text not in ends]
            once = list(dict.fromkeys(mine))
            print(f"{there} -> {here}: {len(confirmed[there])} confirmed, {len(once)} arrived, {len(mine)} in all")
            assert set(confirmed[there]) <= set(once)
            assert once == sorted(once, key=lambda text: int(text.split()[1]))
        repeated = len(texts) - len(set(texts))
        print(here, repeated, "came twice,", faults.killed[here], "times killed")
        assert repeated <= faults.killed[here]
    print(faults.counts.total(), "faults")
