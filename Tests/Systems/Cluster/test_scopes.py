# SPDX-License-Identifier: Apache-2.0
"""Questions with a scope, and reports of hosts about themselves."""

import asyncio
import json
import os

import tribune

from questions import QUERY, approving, progress_of_flushing, vetoing
from support import Cluster, Host

SHARED = '[Query "host.**"]\n'
NAME = "host.shouldReboot"


def printed_outcomes(output: str) -> dict[str, tuple[str, str]]:
    return {one["label"]: (one["outcome"], one["reason"]) for one in json.loads(output)["outcomes"]}


async def test_a_question_is_for_the_cluster_if_its_asker_says_so(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED)
    buses = [await cluster.connect(host) for host in hosts]
    await buses[1].attach(vetoing, NAME, label="restore")
    await buses[0].attach(approving, NAME)
    assert await hosts[0].tribunectl("ask", NAME, "-q") == (0, "")
    status, output = await hosts[0].tribunectl(
        "ask", NAME, "--scope=cluster", "--object=a", "--mode=all", "--json=short"
    )
    assert status == 1
    found = printed_outcomes(output)
    assert found["host:db1"][0] == "approved"
    assert found["host:db2"][0] == "vetoed"
    assert "no host.shouldReboot of a" in found["host:db2"][1]
    assert found["host:db3"][0] == "abstained"
    status, output = await hosts[1].tribunectl("ask", NAME, "--scope=cluster", "--json=short")
    assert status == 1
    assert printed_outcomes(output)["host:db2"][0] == "vetoed"


async def test_a_question_is_for_one_host_if_its_asker_says_so(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = await cluster.trio(QUERY, port=server.port)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db2.attach(vetoing, "cluster.shouldReboot")
    assert (await hosts[0].tribunectl("ask", "cluster.shouldReboot", "-q"))[0] == 1
    assert (await hosts[0].tribunectl("ask", "cluster.shouldReboot", "--scope=host", "-q"))[0] == 0
    await server.end()
    await hosts[0].wait_for_status("cluster unreachable")
    assert (await hosts[0].tribunectl("ask", "cluster.shouldReboot", "--scope=host", "-q"))[0] == 0
    status, output = await hosts[0].tribunectl("ask", "cluster.shouldReboot", "--scope=cluster")
    assert (status, "cluster unreachable" in output) == (1, True)
    await db1.attach(vetoing, "cluster.shouldReboot")
    assert (await hosts[0].tribunectl("ask", "cluster.shouldReboot", "--scope=host", "-q"))[0] == 1


async def test_a_guard_asks_the_cluster(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED)
    db3 = await cluster.connect(hosts[2])
    command = ("guard", "--scope=cluster", "host.reboot", "--", "echo", "rebooting")
    assert await hosts[0].tribunectl(*command) == (0, "rebooting\n")
    async with db3.hold(NAME, why="a backup is running"):
        status, output = await hosts[0].tribunectl(*command)
        assert (status, "a backup is running" in output, "rebooting" in output) == (77, True, False)
        status, output = await hosts[0].tribunectl(*command[:2], "--override=it burns", *command[2:])
        assert (status, "a backup is running" in output, "rebooting" in output) == (0, True, True)


async def test_more_time_is_given_on_the_own_host_as_well(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED, "HostTimeoutSec=1s")
    db1 = await cluster.connect(hosts[0])
    seen = await progress_of_flushing(db1, f"scope.cluster.{NAME}", db1, NAME)
    assert ("host:db1", "postgres: flushing") in seen


async def test_values_of_each_host(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED)
    for number, bus in enumerate([await cluster.connect(host) for host in hosts]):
        await bus.attach(lambda _, number=number: asyncio.sleep(0, tribune.Value(number)), "host.freeBytes")
    status, output = await hosts[1].tribunectl("query", "--scope=cluster", "--collect", "host.freeBytes")
    assert (status, sorted(output.split())) == (0, ["0", "1", "2"])
    await hosts[2].gateway.end()
    status, output = await hosts[1].tribunectl("query", "--scope=cluster", "--collect", "host.freeBytes")
    assert (status, {"0", "1"} <= set(output.split())) == (0, True)
    assert "host.freeBytes lacks values\n  failed by host:db3 (" in output
    assert "abstained" not in output


async def test_without_a_gateway_there_is_no_verdict(cluster: Cluster) -> None:
    host = Host(cluster.folder, "db1", 1, "db1 db2")
    cluster.hosts.append(host)
    await host.start_bus()
    for arguments in (("ask", NAME), ("guard", "host.reboot", "--", "true"), ("query", "shop.stock")):
        status, output = await host.tribunectl(arguments[0], "--scope=cluster", *arguments[1:])
        assert (status, "is tribune-nats running?" in output) == (255, True)
    # A delegate with a wide pattern is no gateway.
    db1 = await cluster.connect(host)
    async with await db1.attach(approving, "**"), db1.hold("host.shouldReboot", why="a backup is running"):
        for scope in ("host", "cluster"):
            status, output = await host.tribunectl("guard", f"--scope={scope}", "host.reboot", "--", "true")
            assert (status, "is tribune-nats running?" in output) == (255, True)
    for verb in (("holds",), ("explain", NAME)):
        status, output = await host.tribunectl(*verb, "--scope=cluster")
        assert (status, "is tribune-nats running?" in output) == (1, True)


async def test_a_roster_without_others_is_no_cluster_to_ask(cluster: Cluster) -> None:
    server = await cluster.server()
    host = Host(cluster.folder, "db1", server.port, "db1", SHARED)
    cluster.hosts.append(host)
    await host.start()
    status, output = await host.tribunectl("ask", NAME, "--scope=cluster")
    assert (status, "Roster= in [Cluster] has no other host to ask" in output) == (1, True)


async def test_the_holds_of_all_hosts(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED + '[Query "cluster.**"]\nScope=cluster\n')
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    async with (
        db1.hold("host.shouldReboot", why="a backup is running", label="backup"),
        db2.hold("**", object="disk/1", why="a restore is running"),
        db2.hold("private.shouldStop", why="nobody else may ask this"),
    ):
        status, output = await hosts[2].tribunectl("holds", "--scope=cluster", "--json=short")
        assert status == 0
        holds = {(one["host"], one["name"], one["object"], one["why"]) for one in map(json.loads, output.splitlines())}
        assert holds == {
            ("db1", "host.shouldReboot", "", "a backup is running"),
            ("db2", "**", "disk/1", "a restore is running"),
        }
        _, output = await hosts[1].tribunectl("holds", "--scope=cluster")
        assert "nobody else may ask this" in output
        assert "3 holds of 3 hosts listed." in output
        await hosts[0].gateway.end()
        status, output = await hosts[2].tribunectl("holds", "--scope=cluster")
        assert (status, "db1: no gateway of db1 is connected to NATS" in output) == (1, True)


async def test_delegates_of_the_configuration_leave_the_lists_to_those_who_have_them(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY)
    for arguments in (("holds",), ("explain", "cluster.shouldReboot")):
        status, output = await hosts[0].tribunectl(*arguments, "--scope=cluster")
        assert (status, " 3 hosts " in output, "no answer" in output) == (0, True, False)
    await hosts[2].gateway.end()
    for arguments in (("holds",), ("explain", "cluster.shouldReboot")):
        status, output = await hosts[0].tribunectl(*arguments, "--scope=cluster", "--json=short")
        assert (status, output) == (1, "tribunectl: db3: no gateway of db3 is connected to NATS\n")


async def test_whom_all_hosts_would_ask(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED + '[Query "cluster.**"]\nScope=cluster\n')
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db1.attach(approving, NAME, label="one")
    await db2.attach(approving, NAME, label="two", order=7)
    async with db2.hold(NAME, why="a restore is running"):
        status, output = await hosts[2].tribunectl("explain", NAME, "--scope=cluster", "--json=short")
    assert status == 0
    rows = [json.loads(line) for line in output.splitlines()]
    assert [(row["host"], row["why"]) for row in rows if "why" in row] == [("db2", "a restore is running")]
    assert [(row["host"], row["label"], row["order"]) for row in rows if "order" in row] == [
        ("db1", "one", 0),
        ("db2", "two", 7),
    ]
    status, output = await hosts[2].tribunectl("explain", "private.shouldStop", "--scope=cluster")
    assert (status, "db1: " in output, "does not answer private.shouldStop" in output) == (1, True, True)


async def test_a_host_that_the_roster_does_not_have_counts_while_it_is_there(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = [Host(cluster.folder, name, server.port, "db1 db2", QUERY) for name in ("db1", "db2")]
    await cluster.add(*hosts)
    db1 = await cluster.connect(hosts[0])
    name = "cluster.shouldReboot"
    assert await db1.ask(name)
    guest = Host(cluster.folder, "db3", server.port, "db1 db2", QUERY)
    cluster.hosts.append(guest)
    async with db1.observe("tribune.delegate.*") as changes:
        await guest.start()
        await (await cluster.connect(guest)).attach(vetoing, name)
        changed = aiter(changes)
        while not (await anext(changed)).name.endswith("didAttach"):
            continue
        verdict = await db1.ask(name)
        assert not verdict
        assert "host:db3" in {outcome.label for outcome in verdict.outcomes}
        await guest.gateway.end()
        assert await db1.ask(name)
        while not (await anext(changed)).name.endswith("didDetach"):
            continue
        assert {outcome.label for outcome in (await db1.ask(name)).outcomes} == {"host:db2"}


async def test_who_on_other_hosts_posts_and_asks(cluster: Cluster) -> None:
    hosts = await cluster.trio(SHARED + '[Export "t.*"]\n[Import "t.*"]\n')
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    is_asked, is_answered = asyncio.Event(), asyncio.Event()

    async def waiting(_: tribune.Question) -> tribune.Answer:
        is_asked.set()
        await is_answered.wait()
        return True

    async def peers(bus: tribune.Bus) -> list[dict]:
        return [json.loads(value) for value in (await bus.collect("cluster.peers")).values]

    await db1.attach(waiting, NAME)
    async with db1.observe("t.*") as observation:
        for _ in range(2):
            await db2.post("t.didHappen")
            await anext(observation)
    asking = asyncio.create_task(db2.ask(f"scope.cluster.{NAME}", object="a"))
    await is_asked.wait()
    us = {"pid": os.getpid(), "uid": os.getuid()}
    own, *others = await peers(db1)
    assert [(one["host"], one["name"], one["count"]) for one in own["posts"]] == [("db2", "t.didHappen", 2)]
    assert [(one["host"], one["name"], one["object"]) for one in own["questions"]] == [("db2", NAME, "a")]
    for row in own["posts"] + own["questions"]:
        assert row.items() >= us.items()
        assert row["process"]
    assert not any(other["posts"] for other in others)
    is_answered.set()
    assert await asking
    assert not (await peers(db1))[0]["questions"]
