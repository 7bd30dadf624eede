# SPDX-License-Identifier: Apache-2.0
"""FleetLock: leases for machines that ask by HTTP."""

import asyncio
import contextlib
import json
import os
import random
import socket
from pathlib import Path

import pytest
import tribune

from faults import SEED, Faults
from questions import QUERY
from support import DEADLINE, Cluster, Host, jetstream, lasting
from test_leases import NAMES, ROSTER, Lease, fault_kinds

PRE_REBOOT = "/v1/pre-reboot"
STEADY_STATE = "/v1/steady-state"
WORKERS = '[FleetLock "workers"]\nSlots=1\n'
VETO = "cluster.fleetlock.shouldReboot"
COUNT = int(os.environ.get("TRIBUNE_CLUSTER_CALLS", "300"))


def body(client: str, group: str = "workers") -> bytes:
    return json.dumps({"client_params": {"id": client, "group": group}}).encode()


def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=512)


async def exchange(host: Host, request: bytes, source: str) -> tuple[int, dict]:
    """The status and the JSON of the reply."""
    async with asyncio.timeout(2 * DEADLINE):
        reader, writer = await asyncio.open_connection(*host.listener.getsockname(), local_addr=(source, 0))
        writer.write(request)
        reply = await reader.read()
        writer.close()
    head, _, text = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(text)


async def call(
    host: Host, path: str, content: bytes, method: str = "POST", source: str = "127.0.0.1", **fields: str | None
) -> tuple[int, dict]:
    """`_` in the names of fields stands for `-`. A field that is None is left out."""
    fields = {"Host": "localhost", "fleet_lock_protocol": "true", "Content_Length": str(len(content))} | fields
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value is not None]
    return await exchange(host, "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + content, source)


async def lock(host: Host, client: str, group: str = "workers") -> tuple[int, dict]:
    return await call(host, PRE_REBOOT, body(client, group))


async def unlock(host: Host, client: str, group: str = "workers") -> tuple[int, dict]:
    return await call(host, STEADY_STATE, body(client, group))


async def pair(cluster: Cluster, sections: str = WORKERS, port: int | None = None) -> list[Host]:
    port = port or (await jetstream(cluster)).port
    hosts = [Host(cluster.folder, name, port, "db1 db2", sections, listener=listener()) for name in ("db1", "db2")]
    await cluster.add(*hosts)
    return hosts


async def test_one_machine_after_the_other_through_any_gateway(cluster: Cluster) -> None:
    db1, db2 = await pair(cluster)
    assert await unlock(db1, "a") == (200, {"state": "absent"})
    assert await lock(db1, "a") == (200, {"state": "acquired"})
    assert await lock(db2, "a") == (200, {"state": "acquired"})
    status, error = await lock(db2, "b")
    assert (status, error["kind"]) == (409, "busy")
    assert error["value"].startswith("others have fleetlock.workers: fleetlock:a since ")
    assert error["value"].endswith(", for a reboot, through db2")
    assert await unlock(db2, "b") == (200, {"state": "absent"})
    assert await unlock(db2, "a") == (200, {"state": "released"})
    assert await unlock(db1, "a") == (200, {"state": "absent"})
    assert await lock(db1, "b") == (200, {"state": "acquired"})
    assert await db1.owners("fleetlock.workers") == ["fleetlock:b"]


async def test_a_group_has_slots_of_its_own(cluster: Cluster) -> None:
    db1, db2 = await pair(cluster, WORKERS + '[FleetLock "a.b"]\nSlots=2\n')
    assert (await lock(db1, "a"))[0] == 200
    assert (await lock(db1, "x", "a.b"))[0] == 200
    assert (await lock(db2, "y", "a.b"))[0] == 200
    status, error = await lock(db2, "z", "a.b")
    assert (status, error["kind"]) == (409, "busy")
    assert "fleetlock:x" in error["value"]
    assert "fleetlock:y" in error["value"]
    # A raised number takes effect after the earlier owners have released.
    db1.configure(db1.configuration.replace("Slots=2", "Slots=3"))
    await db1.gateway.end()
    await db1.start_gateway()
    status, error = await lock(db1, "z", "a.b")
    assert (status, error["kind"]) == (409, "other_slots")
    assert "it has 2 slots as long as fleetlock:x has it" in error["value"]


async def test_a_gateway_that_is_killed_changes_nothing(cluster: Cluster) -> None:
    db1, db2 = await pair(cluster)
    assert (await lock(db1, "a"))[0] == 200
    await db1.gateway.end()
    assert (await lock(db2, "b"))[0] == 409
    assert await lock(db2, "a") == (200, {"state": "acquired"})
    assert await unlock(db2, "a") == (200, {"state": "released"})
    waiting = asyncio.create_task(lock(db1, "b"))
    await db1.start_gateway()
    assert (await waiting)[0] in (200, 503)
    await db1.wait_for_status("all hosts are there")
    assert (await lock(db1, "b"))[0] == 200


async def test_what_a_client_has_is_seen_and_broken_like_a_host_s(cluster: Cluster) -> None:
    db1, db2 = await pair(cluster)
    assert (await lock(db1, "a:b.c_d-e"))[0] == 200
    owner = (await db2.leases())["fleetlock.workers"]["owners"][0]
    assert (owner["host"], owner["present"], owner["label"]) == (
        "fleetlock:a:b.c_d-e",
        None,
        "a reboot, through db1",
    )
    _, table = await db2.tribunectl("leases")
    assert "kept" in table
    assert "not there" not in table
    release = await db1.tribunectl("lease", "fleetlock.workers", "--release")
    assert release == (0, "this host does not have fleetlock.workers\n")
    bus = await cluster.connect(db2)
    async with bus.observe("cluster.lease.*") as news, Lease(db1, "fleetlock.workers", "--keep") as waiting:
        await waiting.wait_for_line("fleetlock:a:b.c_d-e has it since ")
        broken = ("lease", "fleetlock.workers", "--break=fleetlock:a:b.c_d-e", "--why=it was scrapped")
        assert await db2.tribunectl(*broken) == (0, "fleetlock.workers was taken from fleetlock:a:b.c_d-e\n")
        assert (await anext(news)).json() == {"host": "fleetlock:a:b.c_d-e", "by": "db2", "why": "it was scrapped"}
        assert await waiting.end() == 0
    await db2.gateway.wait_for_line("the lease fleetlock.workers was taken from fleetlock:a:b.c_d-e by tribunectl")


async def test_hosts_and_machines_take_turns(cluster: Cluster) -> None:
    db1, db2 = await pair(cluster)
    assert (await db2.tribunectl("lease", "fleetlock.workers", "--keep"))[0] == 0
    status, error = await lock(db1, "db2")
    assert (status, error["kind"]) == (409, "busy")
    assert error["value"].startswith("others have fleetlock.workers: db2 since ")
    assert await unlock(db1, "db2") == (200, {"state": "absent"})
    assert (await db2.tribunectl("lease", "fleetlock.workers", "--release"))[0] == 0
    assert (await lock(db1, "a"))[0] == 200
    bus = await cluster.connect(db2)
    async with (
        bus.observe("cluster.lease.didRelease") as news,
        Lease(db2, "fleetlock.workers", "--", "true") as waiting,
    ):
        await waiting.wait_for_line("fleetlock:a has it since ")
        assert (await unlock(db1, "a"))[0] == 200
        assert (await anext(news)).json() == {"host": "fleetlock:a"}
        assert await waiting.end() == 0


@pytest.mark.parametrize(
    ("changes", "status", "kind"),
    [
        ({"fleet_lock_protocol": None}, 400, "no_fleet_lock"),
        ({"fleet_lock_protocol": "false"}, 400, "no_fleet_lock"),
        ({"method": "GET"}, 405, "method_not_allowed"),
        ({"method": "PUT"}, 405, "method_not_allowed"),
        ({"path": "/v1/pre-reboot/"}, 404, "not_found"),
        ({"path": "/"}, 404, "not_found"),
        ({"Host": "evil.example"}, 421, "wrong_host"),
        ({"Sec_Fetch_Site": "cross-site"}, 403, "cross_site"),
        ({"content": b""}, 400, "invalid_body"),
        ({"content": b'{"client_params":'}, 400, "invalid_body"),
        ({"content": b"[" * 4_000}, 400, "invalid_body"),
        ({"content": b'{"client_params":{"id":"a"}}'}, 400, "invalid_body"),
        ({"content": b'{"client_params":{"id":"","group":"workers"}}'}, 400, "invalid_body"),
        ({"content": b'{"client_params":{"id":"a","id":"b","group":"workers"}}'}, 400, "invalid_body"),
        ({"content": body("a b")}, 400, "invalid_body"),
        ({"content": body("a", "wor/kers")}, 400, "invalid_body"),
        ({"content": body("a", "others")}, 400, "unknown_group"),
        ({"content": b" " * 4_096 + body("a")}, 413, "body_too_long"),
        ({"Content_Length": "1000000000000"}, 413, "body_too_long"),
        ({"Content_Length": None, "Transfer_Encoding": "chunked"}, 411, "length_required"),
    ],
)
async def test_what_is_no_call_is_refused_and_changes_nothing(
    cluster: Cluster, changes: dict, status: int, kind: str
) -> None:
    db1, _ = await pair(cluster)
    for path in (PRE_REBOOT, STEADY_STATE):
        received, error = await call(db1, **{"path": path, "content": body("a")} | changes)
        assert (received, error["kind"]) == (status, kind)
        assert error["value"]
    assert await db1.owners("fleetlock.workers") == []


async def test_a_body_may_come_in_pieces_and_be_as_long_as_is_said(cluster: Cluster) -> None:
    db1, _ = await pair(cluster)
    content = body("a").ljust(4_096)
    reader, writer = await asyncio.open_connection(*db1.listener.getsockname())
    head = f"POST {PRE_REBOOT} HTTP/1.1\r\nHost: localhost\r\nFleet-Lock-Protocol: true\r\nExpect: 100-continue\r\n"
    writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode())
    assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
    for start in range(0, len(content), 512):
        writer.write(content[start : start + 512])
        await writer.drain()
    assert b"HTTP/1.1 200" in await reader.read()
    writer.close()


async def test_without_jetstream_nobody_is_told_yes(cluster: Cluster) -> None:
    db1, _ = await pair(cluster, port=(await cluster.server()).port)
    for reply in (await lock(db1, "a"), await unlock(db1, "a")):
        assert (reply[0], reply[1]["kind"]) == (503, "failed")
        assert "JetStream" in reply[1]["value"]


async def test_without_nats_nobody_is_told_yes(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    db1, _ = await pair(cluster, port=server.port)
    assert (await lock(db1, "a"))[0] == 200
    await server.end()
    await db1.wait_for_status("cluster unreachable")
    for reply in (await lock(db1, "a"), await unlock(db1, "a")):
        assert (reply[0], reply[1]["kind"]) == (503, "unreachable")
        assert reply[1]["value"].startswith("cluster unreachable: ")
    await server.start()
    for host in cluster.hosts:
        await host.wait_for_status("all hosts are there")
    assert (await lock(db1, "b"))[0] == 409


async def test_a_silent_link_has_an_answer_in_time(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    relay = await cluster.relay(server.port)
    db1 = Host(cluster.folder, "db1", relay.port, "db1 db2", WORKERS, listener=listener())
    db2 = Host(cluster.folder, "db2", server.port, "db1 db2", WORKERS, listener=listener())
    await cluster.add(db1, db2)
    assert (await unlock(db1, "a"))[0] == 200
    relay.silence()
    replies = await asyncio.gather(*(lock(db1, f"a{number}") for number in range(100)))
    assert {status for status, _ in replies} == {503}
    await relay.mend()
    await db1.wait_for_status("all hosts are there")
    assert len(await db2.owners("fleetlock.workers")) <= 1


async def test_a_veto_of_any_host_counts(cluster: Cluster) -> None:
    sections = f'[FleetLock "workers"]\nAsk={VETO}\n{QUERY}'
    db1, db2 = await pair(cluster, sections)
    seen: list[tuple[str, str]] = []
    async with db2.connect() as bus, bus.hold(VETO, why="a restore is running"):
        status, error = await lock(db1, "a")
        assert (status, error["kind"]) == (409, "vetoed")
        assert error["value"].startswith(f"{VETO}: host:db2 (")
        assert error["value"].endswith("a restore is running")
        assert await db1.owners("fleetlock.workers") == []
        assert (await unlock(db1, "a"))[0] == 200
    assert (await lock(db1, "a"))[0] == 200
    assert (await unlock(db1, "a"))[0] == 200
    async with db1.connect() as bus:

        async def decide(question: tribune.Question) -> bool:
            seen.append((question.object, question.json()["group"]))
            return True

        await bus.attach(decide, VETO)
        assert (await lock(db1, "a"))[0] == 200
    assert seen == [("a", "workers")]
    assert (await unlock(db1, "a"))[0] == 200
    await db2.gateway.end()
    status, error = await lock(db1, "a")
    assert (status, error["kind"]) == (409, "vetoed")
    assert "host:db2" in error["value"]
    await db1.bus.end()
    await db1.wait_for_status("no bus")
    status, error = await lock(db1, "a")
    assert (status, error["kind"]) == (503, "no_verdict")


async def test_a_question_that_cannot_be_read_is_no_yes(cluster: Cluster) -> None:
    db1, _ = await pair(cluster, '[FleetLock "workers"]\nAsk=not a name\n')
    status, error = await lock(db1, "a")
    assert (status, error["kind"]) == (503, "misconfigured")
    assert (await unlock(db1, "a"))[0] == 200


async def test_who_has_no_token_gets_nothing(cluster: Cluster) -> None:
    token = Path(cluster.folder, "token")
    token.write_text("correct-horse-battery-staple\n")
    db1, _ = await pair(cluster, f"{WORKERS}[FleetLock]\nTokenFile={token}\nHosts=lock.example.org\n")
    status, error = await lock(db1, "a")
    assert (status, error["kind"]) == (401, "unauthorized")
    bearer = {"Authorization": "Bearer correct-horse-battery-staple", "Host": "lock.example.org"}
    assert (await call(db1, PRE_REBOOT, body("a"), **bearer))[0] == 200
    # A client sends this for http://x:correct-horse-battery-staple@localhost/.
    basic = "Basic eDpjb3JyZWN0LWhvcnNlLWJhdHRlcnktc3RhcGxl"
    assert (await call(db1, STEADY_STATE, body("a"), Authorization=basic))[0] == 200


@pytest.mark.parametrize(
    ("section", "address", "message"),
    [
        ("", "0.0.0.0", "other hosts reach port"),
        ("[FleetLock]\nAllowNetwork=yes\n", "0.0.0.0", "other hosts reach port"),
        ("[FleetLock]\nTokenFile=/nonexistent\n", "127.0.0.1", "TokenFile= has no token"),
    ],
)
async def test_a_mistake_lets_nobody_in_and_the_gateway_goes_on(
    cluster: Cluster, section: str, address: str, message: str
) -> None:
    port = (await jetstream(cluster)).port
    outside = socket.create_server((address, 0))
    db1 = Host(cluster.folder, "db1", port, "db1 db2", section + WORKERS, listener=outside)
    db2 = Host(cluster.folder, "db2", port, "db1 db2")
    await cluster.add(db1, db2)
    await db1.gateway.wait_for_line("FleetLock is not served: ")
    await db1.gateway.wait_for_line(message)
    assert (await db1.tribunectl("lease", "db", "--", "true"))[0] == 0
    with socket.create_connection(("127.0.0.1", outside.getsockname()[1])) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.recv(1)


async def test_those_who_hold_connections_disturb_nothing_else(cluster: Cluster) -> None:
    db1, db2 = await pair(cluster)
    async with contextlib.AsyncExitStack() as stack:
        for number in range(400):
            _, writer = await asyncio.open_connection(*db1.listener.getsockname())
            stack.callback(writer.close)
            if number % 2:
                writer.write(f"POST {PRE_REBOOT} HTTP/1.1\r\nHost: localhost\r\nA: ".encode())
        assert (await db1.tribunectl("lease", "db", "--", "true"))[0] == 0
        assert (await lock(db2, "a"))[0] == 200
        assert (await call(db1, STEADY_STATE, body("a"), source="127.0.0.2"))[0] == 200


class Machine:
    """A client that reboots as often as it may."""

    inside = 0
    most = 0

    def __init__(self, name: str, hosts: list[Host], chance: random.Random) -> None:
        self._name = name
        self._hosts = hosts
        self._chance = chance

    async def _insist(self, path: str) -> None:
        """Asks any gateway until one grants it, with pauses, as a client does."""
        while True:
            with contextlib.suppress(ConnectionError, IndexError):
                if (await call(self._chance.choice(self._hosts), path, body(self._name)))[0] == 200:
                    return
            await asyncio.sleep(0.02)

    async def run(self, reboots: list[str]) -> None:
        while len(reboots) < COUNT:
            await self._insist(PRE_REBOOT)
            Machine.inside += 1
            Machine.most = max(Machine.most, Machine.inside)
            await asyncio.sleep(0.02)
            reboots.append(self._name)
            Machine.inside -= 1
            await self._insist(STEADY_STATE)


async def trio(cluster: Cluster, servers: int) -> list[Host]:
    """Three hosts that serve two slots, each linked through a relay."""
    if servers == 1:
        await jetstream(cluster)
    else:
        await cluster.three_servers()
    sections = '[FleetLock "workers"]\nSlots=2\n'
    links = {name: await cluster.link(name) for name in NAMES}
    hosts = [
        Host(cluster.folder, name, ports, ROSTER, sections, f"Replicas={servers}", listener=listener())
        for name, ports in links.items()
    ]
    await cluster.add(*hosts)
    return hosts


@pytest.mark.parametrize("servers", [1, 3])
async def test_who_loses_a_race_is_told_that_others_were_faster(cluster: Cluster, servers: int) -> None:
    hosts = await trio(cluster, servers)
    clients = [(hosts[number % 3], f"m{number}") for number in range(12)]
    for _ in range(10):
        replies = await asyncio.gather(*(lock(*client) for client in clients))
        assert sorted(status for status, _ in replies) == [200] * 2 + [409] * 10, replies
        assert {error["kind"] for status, error in replies if status == 409} == {"busy"}
        for client, (status, _) in zip(clients, replies, strict=True):
            assert status == 409 or (await unlock(*client))[0] == 200


@pytest.mark.parametrize("servers", [1, 3])
@lasting(300)
async def test_never_more_than_there_are_slots_whatever_is_killed(cluster: Cluster, servers: int) -> None:
    hosts = await trio(cluster, servers)
    Machine.inside = Machine.most = 0
    chance = random.Random(SEED)
    machines = [Machine(f"m{number}", hosts, chance) for number in range(6)]
    reboots: list[str] = []
    async with Faults(cluster, *fault_kinds(servers)).continuing():
        await asyncio.gather(*(machine.run(reboots) for machine in machines))
    assert Machine.most == 2
    assert len(set(reboots)) == len(machines)
