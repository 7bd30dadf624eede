# SPDX-License-Identifier: Apache-2.0
"""Leases, which one host of the cluster has at a time."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
import tribune

from faults import SEED, Faults
from support import DEADLINE, NATS_VERSION, PROGRAMS, Cluster, Host, NatsServer, jetstream, lasting, request

NAMES = ("db1", "db2", "db3")
ROSTER = " ".join(NAMES)
COUNT = int(os.environ.get("TRIBUNE_CLUSTER_LEASES", "200"))


async def trio(cluster: Cluster) -> list[Host]:
    server = await jetstream(cluster)
    return await cluster.trio("", port=server.port)


async def write(server: NatsServer, lease: str, value: bytes) -> None:
    """Writes a value that no gateway would write."""
    reply = json.loads(await request(server.port, f"$KV.tribune-leases_test.{lease}", value))
    assert "error" not in reply, reply


class Lease:
    """A tribunectl with waits for lines on its standard error."""

    def __init__(self, host: Host, *arguments: str) -> None:
        self._host = host
        self._arguments = arguments
        self.lines: list[str] = []

    async def __aenter__(self) -> "Lease":
        self.process = await asyncio.create_subprocess_exec(
            PROGRAMS / "tribunectl",
            "lease",
            *self._arguments,
            env=os.environ | {"TRIBUNE_ADDRESS": self._host.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.stdin.close()
        await self.process.wait()

    async def wait_for_line(self, text: str) -> str:
        async with asyncio.timeout(DEADLINE):
            async for line in self.process.stderr:
                self.lines.append(line.decode().rstrip())
                if text in self.lines[-1]:
                    return self.lines[-1]
        raise AssertionError(self.lines)

    async def runs(self) -> None:
        """Waits until the command reports that it runs."""
        async with asyncio.timeout(DEADLINE):
            assert await self.process.stdout.readline() == b"runs\n", (await self.process.stderr.read()).decode()

    async def end(self) -> int:
        """Lets the command end."""
        self.process.stdin.close()
        async with asyncio.timeout(DEADLINE):
            return await self.process.wait()


STAY = ("--", "sh", "-c", "echo runs; read line; exit 0")
FAIL = ("--", "sh", "-c", "exit 3")


@pytest.mark.any_server
async def test_one_host_after_the_other(cluster: Cluster) -> None:
    db1, db2, _ = await trio(cluster)
    async with Lease(db1, "db", *STAY) as first:
        await first.runs()
        assert await db2.owners("db") == ["db1"]
        assert (await db2.tribunectl("lease", "db", "--wait=0", "--", "true"))[0] == 75
        async with Lease(db2, "db", *STAY) as second:
            await second.wait_for_line("waiting for db")
            line = await second.wait_for_line("db1 has it since ")
            assert f"for sh (pid {first.process.pid}" in line
            assert await first.end() == 0
            await second.runs()
            assert await db1.owners("db") == ["db2"]
            assert await second.end() == 0
    assert await db1.owners("db") == []


async def test_a_command_that_fails_keeps_it_until_somebody_says_otherwise(cluster: Cluster) -> None:
    db1, db2, _ = await trio(cluster)
    status, output = await db1.tribunectl("lease", "db", *FAIL)
    assert status == 3
    assert "keeps db, until" in output
    assert (await db2.tribunectl("lease", "db", "--wait=0", "--", "true"))[0] == 75
    assert (await db1.leases())["db"]["owners"][0]["running"] is False
    # The host itself gets it again, and a success releases it.
    assert (await db1.tribunectl("lease", "db", "--wait=0", "--", "true"))[0] == 0
    assert await db1.owners("db") == []


async def test_it_is_kept_over_a_reboot_and_released_by_the_steady_state(cluster: Cluster) -> None:
    db1, db2, _ = await trio(cluster)
    assert (await db1.tribunectl("lease", "reboot", "--keep"))[0] == 0
    await db1.gateway.end()
    await db1.bus.end()
    assert (await db2.tribunectl("lease", "reboot", "--wait=0", "--keep"))[0] == 75
    await db1.start()
    assert await db2.owners("reboot") == ["db1"]
    async with Lease(db2, "reboot", "--keep") as second:
        await second.wait_for_line("db1 has it since")
        assert (await db1.tribunectl("lease", "reboot", "--release")) == (0, "released reboot\n")
        assert await second.end() == 0
    assert await db1.owners("reboot") == ["db2"]
    assert (await db1.tribunectl("lease", "reboot", "--release")) == (0, "this host does not have reboot\n")


async def test_a_ghost_is_shown_and_broken_by_name(cluster: Cluster) -> None:
    db1, db2, db3 = await trio(cluster)
    assert (await db1.tribunectl("lease", "db", "--keep"))[0] == 0
    await db1.gateway.end()
    await db2.wait_for_status("missing: db1")
    owner = (await db2.leases())["db"]["owners"][0]
    assert (owner["host"], owner["present"]) == ("db1", False)
    assert "gone" in (await db2.tribunectl("leases"))[1]
    bus = await cluster.connect(db3)
    async with bus.observe("cluster.lease.didBreak") as breaks, Lease(db2, "db", "--", "true") as waiting:
        await waiting.wait_for_line("is not there")
        assert (await db3.tribunectl("lease", "db", "--break=db1"))[0] == 2
        status, output = await db3.tribunectl("lease", "db", "--break=db2", "--why=gone")
        assert status == 1
        assert "db2 does not have db" in output
        assert (await db3.tribunectl("lease", "db", "--break=db1", "--why=its disk is broken"))[0] == 0
        news = await anext(breaks)
        assert news.object == "db"
        assert news.json() == {"host": "db1", "by": "db3", "why": "its disk is broken"}
        assert await waiting.end() == 0
    await db3.gateway.wait_for_line("the lease db was taken from db1 by tribunectl")


async def test_a_host_whose_lease_was_broken_learns_that_and_releases_no_other(cluster: Cluster) -> None:
    db1, db2, _ = await trio(cluster)
    async with Lease(db1, "db", *STAY) as first:
        await first.runs()
        assert (await db2.tribunectl("lease", "db", "--break=db1", "--why=we know better"))[0] == 0
        await db1.gateway.wait_for_line("on db2, the lease db was taken from this host: we know better")
        assert (await db2.tribunectl("lease", "db", "--keep"))[0] == 0
        await first.end()
        await first.wait_for_line("db was taken from this host meanwhile")
    assert await db1.owners("db") == ["db2"]


async def test_one_command_at_a_time_on_one_host(cluster: Cluster) -> None:
    db1, *_ = await trio(cluster)
    async with Lease(db1, "db", *STAY) as first:
        await first.runs()
        status, output = await db1.tribunectl("lease", "db", "--release")
        assert status == 1
        assert "still runs under it" in output
        async with Lease(db1, "db", *STAY) as second:
            await second.wait_for_line("db1 has it since")
            first.process.kill()
            await second.runs()
            assert await second.end() == 0
    assert await db1.owners("db") == []


async def test_a_wait_that_is_interrupted_leaves_nothing(cluster: Cluster) -> None:
    db1, db2, _ = await trio(cluster)
    async with Lease(db1, "db", *STAY) as first:
        await first.runs()
        async with Lease(db2, "db", *STAY) as second:
            await second.wait_for_line("db1 has it since")
            second.process.send_signal(signal.SIGINT)
            assert await second.end() == 128 + signal.SIGINT
            assert await first.end() == 0
    assert await db1.owners("db") == []


async def test_two_slots(cluster: Cluster) -> None:
    db1, db2, db3 = await trio(cluster)
    async with Lease(db1, "db", "--slots=2", *STAY) as first, Lease(db2, "db", "--slots=2", *STAY) as second:
        await first.runs()
        await second.runs()
        assert (await db3.tribunectl("lease", "db", "--slots=2", "--wait=0", "--", "true"))[0] == 75
        status, output = await db3.tribunectl("lease", "db", "--", "true")
        assert status == 255
        assert "it has 2 slots as long as" in output
        assert await second.end() == 0
        assert (await db3.tribunectl("lease", "db", "--slots=2", "--", "true"))[0] == 0
        assert await first.end() == 0


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"garbage",
        b"{}",
        b'{"version":2,"slots":1,"owners":[]}',
        b'{"version":1,"slots":0,"owners":[]}',
        b'{"version":1,"slots":1,"owners":[{}]}',
        b'{"version":1,"slots":1,"owners":[' + b"0," * 30_000 + b"0]}",
    ],
)
async def test_what_nobody_could_have_written_is_no_free_lease(cluster: Cluster, value: bytes) -> None:
    server = await jetstream(cluster)
    db1, *_ = await cluster.trio("", port=server.port)
    assert (await db1.tribunectl("lease", "other", "--", "true"))[0] == 0
    await write(server, "db", value)
    status, output = await db1.tribunectl("lease", "db", "--", "true")
    assert status == 255
    assert "what NATS has of it cannot be used" in output
    status, output = await db1.tribunectl("leases")
    assert status == 1
    assert "unreadable" in output


async def test_without_jetstream_there_are_no_leases(cluster: Cluster) -> None:
    db1, *_ = await cluster.trio("")
    status, output = await db1.tribunectl("lease", "db", "--", "true")
    assert status == 255
    assert "JetStream" in output
    assert "nothing was changed" in output


@pytest.mark.any_server
async def test_copies_that_there_cannot_be(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    db1, *_ = await cluster.trio("", "Replicas=3", port=server.port)
    status, output = await db1.tribunectl("lease", "db", "--", "true")
    assert status == 255
    assert "Replicas=3 cannot be made" in output


@pytest.mark.any_server
@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_age": 3_600_000_000_000, "discard": "new"}, "would release leases by the clock"),
        ({"discard": "old"}, "discards old values"),
        ({"discard": "new", "max_bytes": 64}, "nothing was changed"),
    ],
)
async def test_a_bucket_that_cannot_keep_leases(cluster: Cluster, settings: dict, problem: str) -> None:
    server = await jetstream(cluster)
    db1, *_ = await cluster.trio("", port=server.port)
    stream = {
        "name": "KV_tribune-leases_test",
        "subjects": ["$KV.tribune-leases_test.>"],
        "max_msgs_per_subject": 1,
        "retention": "limits",
        "storage": "file",
        "num_replicas": 1,
    }
    made = json.loads(
        await request(server.port, f"$JS.API.STREAM.CREATE.{stream['name']}", json.dumps(stream | settings).encode())
    )
    assert "error" not in made, made
    status, output = await db1.tribunectl("lease", "db", "--", "true")
    assert status == 255
    assert problem in output


@pytest.mark.any_server
async def test_a_bucket_that_is_gone_frees_nothing(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    db1, db2, _ = await cluster.trio("", port=server.port)
    for host in (db1, db2):
        assert (await host.tribunectl("lease", "db", "--", "true"))[0] == 0
    assert (await db1.tribunectl("lease", "db", "--keep"))[0] == 0
    await request(server.port, "$JS.API.STREAM.DELETE.KV_tribune-leases_test", b"")
    status, output = await db2.tribunectl("lease", "db", "--", "true")
    assert status == 255
    assert "restart the gateways" in output


async def test_a_silent_link_gives_no_lease(cluster: Cluster) -> None:
    server = await jetstream(cluster)
    relay, db1, db2 = await cluster.relayed(port=server.port)
    for host in (db1, db2):
        assert (await host.tribunectl("lease", "db", "--", "true"))[0] == 0
    relay.silence()
    status, output = await db1.tribunectl("lease", "db", "--wait=0", "--", "echo", "inside")
    assert status == 255
    assert "inside" not in output
    await relay.mend()
    await db1.wait_for_status("all hosts are there")
    who = await db2.owners("db")
    assert who in ([], ["db1"])
    assert (await db1.tribunectl("lease", "db", "--", "true"))[0] == 0
    assert (await db2.tribunectl("lease", "db", "--", "true"))[0] == 0


CRITICAL = """
mkdir "$0/inside" || { echo overlap >>"$0/overlaps"; exit 1; }
echo "$1" >>"$0/account"
sleep 0.03
rmdir "$0/inside"
"""


async def work(host: Host, folder: Path, results: list[int], problems: list[str]) -> None:
    command = ("lease", "db", "--", "sh", "-c", CRITICAL, str(folder), host.name)
    while len(results) < COUNT and not problems:
        # Without a limit of its own: another host's tribunectl may try for 25 s to release the lease.
        status, output = await host.tribunectl(*command, seconds_max=None)
        if status == 0:
            results.append(status)
        elif status != 255:
            problems.append(output)


# Older clusters may confirm two writes that expect the same revision (nats-server's issue 4320).
CONFIRMS_ONE = NATS_VERSION >= (2, 9, 21)


@pytest.mark.any_server
@pytest.mark.xfail(not CONFIRMS_ONE, reason="the gateway does not see how old the servers are", strict=True)
async def test_servers_that_may_confirm_two_owners_are_not_used(cluster: Cluster) -> None:
    await cluster.three_servers()
    hosts = [Host(cluster.folder, name, await cluster.link(name), ROSTER, "", "Replicas=3") for name in NAMES]
    await cluster.add(*hosts)
    status, output = await hosts[0].tribunectl("lease", "db", "--", "true")
    assert status == (0 if CONFIRMS_ONE else 255), output


ONE_AND_THREE = pytest.mark.parametrize(
    "servers", [1, pytest.param(3, marks=pytest.mark.skipif(not CONFIRMS_ONE, reason="two can have it"))]
)


async def linked(cluster: Cluster, servers: int) -> list[Host]:
    """Three hosts, each linked through a relay."""
    if servers == 1:
        await jetstream(cluster)
    else:
        await cluster.three_servers()
    hosts = [Host(cluster.folder, name, await cluster.link(name), ROSTER, "", f"Replicas={servers}") for name in NAMES]
    await cluster.add(*hosts)
    return hosts


def fault_kinds(servers: int) -> list[str]:
    kinds = ["kill_gateway", "kill_gateway", "kill_server", "sever_host", "silence_host"]
    return kinds + (["sever_route", "silence_route"] if servers > 1 else [])


@pytest.mark.any_server
@ONE_AND_THREE
@lasting(300)
async def test_never_two_at_a_time_whatever_is_killed(cluster: Cluster, servers: int) -> None:
    hosts = await linked(cluster, servers)
    results: list[int] = []
    problems: list[str] = []
    async with Faults(cluster, *fault_kinds(servers)).continuing():
        await asyncio.gather(*(work(host, cluster.folder, results, problems) for host in hosts))
    assert not problems
    account = (cluster.folder / "account").read_text().split()
    assert not (cluster.folder / "overlaps").exists()
    assert len(account) == len(results)
    assert set(account) == set(NAMES)


async def state(bus: tribune.Bus, verb: str, lease_id: str, deadline: float) -> str | None:
    """The state in the reply, or None without one before the deadline."""
    try:
        reply = await bus.query(f"cluster.lease.{verb}", {"id": lease_id}, object="db", deadline=deadline)
    except tribune.TribuneError:
        return None
    return None if reply.value is None else json.loads(reply.value)["state"]


async def take_turns(bus: tribune.Bus, chance: random.Random, turns: list[str], inside: set[str]) -> None:
    """Gives up early, and asks again with the same id."""
    while len(turns) < COUNT:
        lease_id = f"{chance.getrandbits(128):032x}"
        while await state(bus, "acquire", lease_id, chance.choice((0.5, 0.8, 2, 5, 25))) != "acquired":
            await asyncio.sleep(chance.uniform(0, 0.1))
        assert not inside
        inside.add(lease_id)
        await asyncio.sleep(0.02)
        inside.remove(lease_id)
        replied = await state(bus, "release", lease_id, 25)
        # After a try without an answer, the release is uncertain.
        assert replied != "absent"
        while replied not in ("released", "absent"):
            await asyncio.sleep(0.1)
            replied = await state(bus, "release", lease_id, 25)
        turns.append(lease_id)


@pytest.mark.any_server
@ONE_AND_THREE
@lasting(300 + 2 * COUNT)
async def test_nobody_loses_what_it_was_told_that_it_has(cluster: Cluster, servers: int) -> None:
    buses = [await cluster.connect(host) for host in await linked(cluster, servers)]
    turns: list[str] = []
    inside: set[str] = set()
    async with Faults(cluster, *fault_kinds(servers)).continuing(), asyncio.TaskGroup() as group:
        for index, bus in enumerate(buses):
            group.create_task(take_turns(bus, random.Random(SEED + index), turns, inside))
    assert len(turns) >= COUNT
