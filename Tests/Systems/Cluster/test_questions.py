# SPDX-License-Identifier: Apache-2.0
"""Questions to the whole cluster."""

import asyncio
import json
import signal

import pytest
import tribune

from questions import NAME, QUERY, Hanging, approving, outcomes, patient, progress_of_flushing, until_allowed, vetoing
from support import DEADLINE, PROGRAMS, Cluster, Host, Program, publish


@pytest.mark.any_server
async def test_each_host_gives_its_verdict(cluster: Cluster) -> None:
    db1, db2, db3 = [await cluster.connect(host) for host in await cluster.trio(QUERY)]
    await db2.attach(approving, NAME, label="one")
    await db3.attach(approving, NAME, label="other")
    verdict = await db1.ask(NAME)
    assert verdict
    assert not verdict.is_unanswered
    assert outcomes(verdict) == {"host:db2": ("approved", ""), "host:db3": ("approved", "")}


async def test_while_the_bus_refuses_the_gateway_as_a_delegate_questions_are_vetoed(cluster: Cluster) -> None:
    hosts = await cluster.trio('[Query "service.**"]\nScope=cluster\n')
    db1 = await cluster.connect(hosts[0])
    assert await db1.ask("service.shouldStop")
    await hosts[0].gateway.end()
    definition = "protocol Service { optional should service.shouldStop () }"
    async with db1.declare("web", "Service", definition):
        await hosts[0].start_gateway()
        verdict = await db1.ask("service.shouldStop")
        assert not verdict
        assert "the bus refuses the gateway" in verdict.outcomes[0].reason
    status, output = await hosts[0].tribunectl("ask", "service.shouldStop", "--wait-until-allowed")
    assert status == 0, output


async def test_nobody_answering_anywhere_is_unanswered(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY)
    db1 = await cluster.connect(hosts[0])
    for default in (True, False):
        verdict = await db1.ask(NAME, default=default)
        assert bool(verdict) == default
        assert verdict.is_unanswered
        assert {kind for kind, _ in outcomes(verdict).values()} == {"abstained"}


async def test_a_veto_crosses_with_who_and_why(cluster: Cluster) -> None:
    db1, db2, db3 = [await cluster.connect(host) for host in await cluster.trio(QUERY)]

    async def vetoing(question: tribune.Question) -> tribune.Answer:
        assert (question.object, question.json(), question.is_dry_run) == ("rack/ä 1", {"why": "kernel"}, False)
        return tribune.Veto("its replica is not in sync")

    await db2.attach(approving, NAME)
    await db3.attach(vetoing, NAME, label="postgres")
    verdict = await db1.ask(NAME, {"why": "kernel"}, object="rack/ä 1")
    assert not verdict
    kind, reason = outcomes(verdict)["host:db3"]
    assert kind == "vetoed"
    assert reason.startswith("postgres (pid ")
    assert reason.endswith("): its replica is not in sync")


async def test_a_hold_elsewhere_vetoes_from_the_moment_it_is_taken(cluster: Cluster) -> None:
    db1, _, db3 = [await cluster.connect(host) for host in await cluster.trio(QUERY)]
    assert await db1.ask(NAME)
    async with db3.hold(NAME, why="a restore is running", label="restore"):
        verdict = await db1.ask(NAME)
        assert not verdict
        assert "a restore is running" in outcomes(verdict)["host:db3"][1]
    assert await db1.ask(NAME)


async def test_all_reasons_of_all_hosts(cluster: Cluster) -> None:
    buses = [await cluster.connect(host) for host in await cluster.trio(QUERY)]
    for number, bus in enumerate(buses, 1):
        await bus.attach(
            lambda _, number=number: asyncio.sleep(0, tribune.Veto(f"no {number}")), NAME, label=f"d{number}"
        )
    found = outcomes(await buses[0].ask(NAME, mode=tribune.Mode.ALL))
    assert set(found) == {"d1", "host:db2", "host:db3"}
    assert found["host:db2"][1].endswith("no 2")
    assert found["host:db3"][1].endswith("no 3")


async def test_a_dry_run_stays_one_and_an_override_goes_past_all(cluster: Cluster) -> None:
    db1, db2, _ = [await cluster.connect(host) for host in await cluster.trio(QUERY)]
    dry: list[bool] = []

    async def vetoing(question: tribune.Question) -> tribune.Answer:
        dry.append(question.is_dry_run)
        return tribune.Veto("no")

    await db2.attach(vetoing, NAME)
    verdict = await db1.ask(NAME, dry_run=True)
    assert not verdict
    assert dry == [True]
    verdict = await db1.ask(NAME, override="the building is on fire")
    assert verdict.is_overridden
    assert verdict
    assert dry == [True, False]


async def test_more_time_is_given_and_the_asker_sees_for_what(cluster: Cluster) -> None:
    db1, db2, _ = [await cluster.connect(host) for host in await cluster.trio(QUERY, "HostTimeoutSec=1s")]
    seen = await progress_of_flushing(db1, NAME, db2, NAME)
    assert ("host:db2", "postgres: flushing") in seen


async def test_values_come_from_every_host(cluster: Cluster) -> None:
    buses = [await cluster.connect(host) for host in await cluster.trio(QUERY)]
    for number, bus in enumerate(buses, 1):
        await bus.attach(lambda _, number=number: asyncio.sleep(0, tribune.Value(number)), "cluster.freeBytes")
    reply = await buses[1].collect("cluster.freeBytes")
    assert sorted(reply.values) == [b"1", b"2", b"3"]


async def test_who_stops_asking_cancels_everywhere(cluster: Cluster) -> None:
    db1, db2, _ = [await cluster.connect(host) for host in await cluster.trio(QUERY)]
    hanging = Hanging()
    await db2.attach(hanging, NAME)
    query = asyncio.create_task(db1.ask(NAME, deadline=600))
    await hanging.asked.wait()
    query.cancel()
    async with asyncio.timeout(DEADLINE):
        await hanging.ended.wait()


async def test_the_questions_of_a_gateway_that_died_end_elsewhere(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    hanging = Hanging()
    await db2.attach(hanging, NAME)
    query = asyncio.create_task(db1.ask(NAME, deadline=600))
    await hanging.asked.wait()
    await hosts[0].gateway.end()
    verdict = await query
    assert not verdict
    assert outcomes(verdict)["host:db2"][0] == "gone"
    async with asyncio.timeout(DEADLINE):
        await hanging.ended.wait()


@pytest.mark.any_server
@pytest.mark.parametrize("way", ["killed", "stopped"])
@pytest.mark.parametrize("policy", ["veto", "abstain"])
async def test_a_host_that_does_not_answer(cluster: Cluster, way: str, policy: str) -> None:
    hosts = await cluster.trio(QUERY, f"HostTimeoutSec=2s\nOnMissingHost={policy}")
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db2.attach(approving, NAME)
    if way == "killed":
        await hosts[2].gateway.end()
    else:
        hosts[2].gateway.send(signal.SIGSTOP)
    verdict = await db1.ask(NAME, mode=tribune.Mode.ALL)
    assert bool(verdict) == (policy == "abstain")
    found = outcomes(verdict)
    assert found["host:db2"][0] == "approved"
    assert found["host:db3"][0] == ("failed" if policy == "veto" else "abstained")
    if way == "killed":
        await hosts[2].start_gateway()
    else:
        hosts[2].gateway.send(signal.SIGCONT)
    await until_allowed(hosts[0])


async def test_a_host_whose_bus_hangs_is_not_missing(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY, "HostTimeoutSec=2s\nOnMissingHost=abstain")
    db1, _, db3 = [await cluster.connect(host) for host in hosts]
    async with db3.hold(NAME, why="a restore is running"):
        hosts[2].bus.send(signal.SIGSTOP)
        verdict = await db1.ask(NAME, mode=tribune.Mode.ALL)
        assert not verdict
        kind, reason = outcomes(verdict)["host:db3"]
        assert (kind, reason) == ("failed", "the bus of db3 does not answer")
        hosts[2].bus.send(signal.SIGCONT)
        verdict = await db1.ask(NAME, mode=tribune.Mode.ALL)
        assert outcomes(verdict)["host:db3"][0] == "vetoed"
    await until_allowed(hosts[0])


async def test_a_silent_delegate_of_another_host_has_its_whole_time(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY, "HostTimeoutSec=1s\nOnMissingHost=abstain")
    db1, _, db3 = [await cluster.connect(host) for host in hosts]

    async def silent(question: tribune.Question) -> tribune.Answer:
        return await asyncio.Future()

    await db3.attach(silent, NAME, label="silent", timeout=2)
    verdict = await db1.ask(NAME, mode=tribune.Mode.ALL)
    kind, reason = outcomes(verdict)["host:db3"]
    assert kind == "vetoed"
    assert reason.startswith("silent (pid ")
    assert reason.endswith("did not answer in time")


@pytest.mark.parametrize("policy", ["veto", "abstain"])
@pytest.mark.parametrize("cut", ["severed", "silent"])
async def test_a_gateway_without_its_cluster_vetoes(cluster: Cluster, policy: str, cut: str) -> None:
    relay, *hosts = await cluster.relayed(QUERY, f"HostTimeoutSec=2s\nOnMissingHost={policy}")
    db1, db2 = [await cluster.connect(host) for host in hosts]
    await db2.attach(approving, NAME)
    assert await db1.ask(NAME)
    if cut == "severed":
        await relay.sever()
    else:
        relay.silence()
    verdict = await db1.ask(NAME)
    assert not verdict
    await hosts[0].wait_for_status("cluster unreachable")
    verdict = await db1.ask(NAME, deadline=1)
    assert not verdict
    kind, reason = outcomes(verdict)["host:db2"]
    assert kind == "vetoed"
    assert reason.startswith("cluster unreachable: ")
    await relay.mend()
    await until_allowed(hosts[0])


@pytest.mark.any_server
async def test_a_host_that_only_reconnects_still_vetoes(cluster: Cluster) -> None:
    relay, *hosts = await cluster.relayed(QUERY, "OnMissingHost=abstain")
    db1, db2 = [await cluster.connect(host) for host in hosts]
    await db1.attach(vetoing, NAME)
    await relay.sever()
    await hosts[0].wait_for_status("cluster unreachable")
    # Longer than NATS needs to report that the host is not connected.
    loop = asyncio.get_running_loop()
    mending = loop.create_future()
    loop.call_later(2, lambda: mending.set_result(loop.create_task(relay.mend())))
    verdict = await db2.ask(NAME, deadline=DEADLINE)
    await (await mending)
    assert not verdict
    assert outcomes(verdict)["host:db1"][0] == "vetoed"


async def test_a_question_in_flight_is_vetoed_when_the_link_is_lost(cluster: Cluster) -> None:
    relay, *hosts = await cluster.relayed(QUERY, "OnMissingHost=abstain")
    db1, db2 = [await cluster.connect(host) for host in hosts]
    asked = asyncio.Event()

    async def hanging(question: tribune.Question) -> tribune.Answer:
        asked.set()
        return await asyncio.Future()

    await db2.attach(hanging, NAME)
    query = asyncio.create_task(db1.ask(NAME))
    await asked.wait()
    await relay.sever()
    verdict = await query
    assert not verdict
    assert outcomes(verdict)["host:db2"][1].startswith("cluster unreachable")


async def test_a_host_whose_bus_is_gone_vetoes(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY)
    db1 = await cluster.connect(hosts[0])
    assert await db1.ask(NAME)
    await hosts[1].bus.end()
    verdict = await db1.ask(NAME, mode=tribune.Mode.ALL)
    assert not verdict
    assert outcomes(verdict)["host:db2"][0] == "failed"
    await hosts[1].wait_for_status("no bus")
    await hosts[1].start_bus()
    await hosts[1].wait_for_status("all hosts are there")
    await until_allowed(hosts[0])


async def test_a_name_that_a_host_does_not_share_is_not_answered(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = [
        Host(cluster.folder, "db1", server.port, "db1 db2", '[Query "host.**"]\nScope=cluster\n'),
        Host(cluster.folder, "db2", server.port, "db1 db2", QUERY),
    ]
    await cluster.add(*hosts)
    db1, db2 = [await cluster.connect(host) for host in hosts]
    await db2.attach(approving, "host.shouldReboot")
    verdict = await db1.ask("host.shouldReboot")
    assert not verdict
    assert outcomes(verdict)["host:db2"] == ("failed", "db2 does not answer host.shouldReboot to other hosts")


async def test_a_cluster_that_is_not_configured_vetoes(cluster: Cluster) -> None:
    host = Host(cluster.folder, "db1", 1, "db1", QUERY)
    cluster.hosts.append(host)
    await host.start()
    bus = await cluster.connect(host)
    verdict = await bus.ask(NAME)
    assert not verdict
    assert outcomes(verdict) == {
        "cluster": ("vetoed", "cluster unreachable: Roster= in [Cluster] has no other host to ask")
    }


async def test_no_server_at_all_vetoes_from_the_start(cluster: Cluster) -> None:
    server = await cluster.server()
    await server.end()
    host = Host(cluster.folder, "db1", server.port, "db1 db2", QUERY, "OnMissingHost=abstain")
    cluster.hosts.append(host)
    await host.start()
    bus = await cluster.connect(host)
    verdict = await bus.ask(NAME)
    assert not verdict
    assert outcomes(verdict)["host:db2"][1].startswith("cluster unreachable: ")


def permissions(*hosts: str) -> str:
    """Each host's permissions in docs/CLUSTER.md."""
    users = [
        f"""{{ user: {host}, password: "secret {host}", permissions: {{
          publish: [ "tribune.v1.test.*.{host}.>", "tribune.v1.test.presence.{host}" ]
          subscribe: [
            "tribune.v1.test.post.>", "tribune.v1.test.ask.*.{host}.>", "tribune.v1.test.cancel.*.{host}",
            "tribune.v1.test.reply.*.{host}.*", "tribune.v1.test.presence.*", "tribune.v1.test.lease.>"
          ] }} }}"""
        for host in hosts
    ]
    return f"authorization {{ users: [ {', '.join(users)} ] }}"


async def test_hosts_whose_rosters_differ_veto_until_they_agree(cluster: Cluster) -> None:
    server = await cluster.server()
    rosters = {"db1": "db1 db2", "db2": "db1 db2 db3", "db3": "db3 db2 db1"}
    options = "OnMissingHost=abstain"
    hosts = [Host(cluster.folder, name, server.port, rosters[name], QUERY, options) for name in rosters]
    await cluster.add(*hosts)
    for host in hosts:
        await host.gateway.wait_for_line("questions to the cluster are vetoed")
        await host.wait_for_status("Roster= of db")
    buses = [await cluster.connect(host) for host in hosts]
    # A hanging vetoer is as good as missing.
    await buses[2].attach(vetoing, NAME)
    hosts[2].gateway.send(signal.SIGSTOP)
    for bus in buses[:2]:
        verdict = await bus.ask(NAME, deadline=DEADLINE)
        assert not verdict
        assert any("Roster= of db" in reason for _, reason in outcomes(verdict).values())
    hosts[2].gateway.send(signal.SIGCONT)
    await hosts[0].gateway.end()
    hosts[0].configure(hosts[0].configuration.replace("Roster=db1 db2", "Roster=db1\nRoster=db2 db3"))
    await hosts[0].start_gateway()
    for host in hosts:
        await host.wait_for_status("all hosts are there")
    verdict = await buses[0].ask(NAME)
    assert outcomes(verdict)["host:db3"] == ("vetoed", outcomes(verdict)["host:db3"][1])
    assert "Roster=" not in outcomes(verdict)["host:db3"][1]


async def test_hosts_that_only_say_that_they_are_there_delay_no_question(cluster: Cluster) -> None:
    server = await cluster.server()
    hosts = [Host(cluster.folder, name, server.port, "db1 db2", QUERY) for name in ("db1", "db2")]
    await cluster.add(*hosts)
    await hosts[0].gateway.wait_for_line("NATS lets this host speak for db2")
    for number in range(100):
        await publish(server.port, f"tribune.v1.test.presence.x{number}", {"Tribune-Instance": f"{number:032}"})
    await hosts[0].gateway.wait_for_line("is not asked: there are 64 hosts that Roster= does not have")
    db1 = await cluster.connect(hosts[0])
    for _ in range(3):
        assert await db1.ask(NAME)
    absent = [line for line in hosts[0].gateway.lines if "no gateway of x" in line]
    assert len(absent) == 1
    assert "is not asked for a minute" in absent[0]


@pytest.mark.any_server
async def test_hosts_that_may_speak_for_themselves_alone(cluster: Cluster) -> None:
    server = await cluster.server(extra=permissions("db1", "db2"))
    hosts = []
    for name in ("db1", "db2"):
        password = cluster.folder / f"password-{name}"
        password.write_text(f"secret {name}\n")
        login = f"User={name}\nPasswordFile={password}\nOnMissingHost=abstain"
        hosts.append(Host(cluster.folder, name, server.port, "db1 db2", QUERY, login))
    await cluster.add(*hosts)
    db1, db2 = [await cluster.connect(host) for host in hosts]
    await db2.attach(approving, NAME)
    assert not (await db1.ask(NAME)).is_unanswered
    (cluster.folder / "password-db1").write_text("wrong\n")
    await hosts[0].gateway.end()
    await hosts[0].start_gateway()
    verdict = await db1.ask(NAME)
    assert not verdict
    assert outcomes(verdict)["host:db2"][1].startswith("cluster unreachable: ")
    await hosts[0].gateway.wait_for_line("Authorization")
    assert not any("speak for" in line for line in hosts[1].gateway.lines)


@pytest.mark.parametrize(("login", "is_warned"), [("", True), ("User=db1\nPasswordFile=/dev/null", False)])
async def test_a_configuration_without_a_login_is_warned_of(cluster: Cluster, login: str, is_warned: bool) -> None:
    host = Host(cluster.folder, "db1", 1, "db1 db2", QUERY, login)
    cluster.hosts.append(host)
    check = Program(PROGRAMS / "tribune-nats", "--check-config", f"--config={cluster.folder}/db1/etc")
    await check.start()
    assert await check.process.wait() == 0
    await host.start()
    for program in (check, host.gateway):
        await program.end()
        assert any("any NATS client can approve in" in line for line in program.lines) == is_warned, program.lines


async def pair_and_double(cluster: Cluster) -> tuple[list[Host], Host]:
    """Two hosts, and another host with the second one's name, whose gateway does not run yet."""
    server = await cluster.server()
    hosts = [Host(cluster.folder, name, server.port, "db1 db2", QUERY) for name in ("db1", "db2")]
    await cluster.add(*hosts)
    other = Host(cluster.folder / "other", "db2", server.port, "db1 db2", QUERY)
    cluster.hosts.append(other)
    await other.start_bus()
    return hosts, other


async def test_two_gateways_of_the_same_name_approve_nothing(cluster: Cluster) -> None:
    hosts, other = await pair_and_double(cluster)
    await other.start_gateway()
    db1, db2, double = [await cluster.connect(host) for host in (*hosts, other)]
    await db2.attach(approving, NAME)
    await double.attach(approving, NAME)
    for host in (hosts[1], other):
        await host.gateway.wait_for_line("another gateway says that it is db2")
        await host.wait_for_status("another gateway says that it is db2")
    for _ in range(20):
        verdict = await db1.ask(NAME)
        assert not verdict
        assert "another gateway" in outcomes(verdict)["host:db2"][1]
    for bus in (db2, double):
        verdict = await bus.ask(NAME)
        assert not verdict
        assert "another gateway" in outcomes(verdict)["host:db1"][1]


async def test_a_second_gateway_of_a_name_lets_nothing_pass_when_it_starts(cluster: Cluster) -> None:
    hosts, other = await pair_and_double(cluster)
    db1, db2, double = [await cluster.connect(host) for host in (*hosts, other)]
    await db2.attach(vetoing, NAME)
    await double.attach(approving, NAME)
    asking = asyncio.create_task(each_is_vetoed(db1))
    asked_there = asyncio.create_task(each_is_vetoed(double, is_starting=True))
    await other.start_gateway()
    for host in (hosts[1], other):
        await host.gateway.wait_for_line("another gateway says that it is db2")
    for task in (asking, asked_there):
        assert not task.done(), task
        task.cancel()


async def each_is_vetoed(bus: tribune.Bus, is_starting: bool = False) -> None:
    """Asks repeatedly. If the gateway is starting, only verdicts with its delegates count."""
    while True:
        verdict = await bus.ask(NAME)
        if not is_starting or any(outcome.label == "host:db1" for outcome in verdict.outcomes):
            assert not verdict, verdict


async def test_a_host_whose_delegate_is_replaced_is_asked_all_the_same(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY)
    db1, db2, _ = [await cluster.connect(host) for host in hosts]
    await db2.attach(vetoing, NAME)
    async with db1.observe("tribune.delegate.didAttach") as news:
        await db1.attach(approving, NAME, label="other", replace=True)
        expected = {"other", "host:db2", "host:db3"}
        async for attached in news:
            expected -= {attached.json()["label"]}
            if not expected:
                break
    verdict = await db1.ask(NAME, mode=tribune.Mode.ALL)
    assert not verdict
    assert set(outcomes(verdict)) == {"other", "host:db2", "host:db3"}
    assert outcomes(verdict)["host:db2"][0] == "vetoed"


async def test_a_host_outside_the_roster_that_hangs_does_not_veto(cluster: Cluster) -> None:
    server = await cluster.server()
    # The gateway forgets a silent host sooner than that.
    options = "HostTimeoutSec=20s"
    hosts = [Host(cluster.folder, name, server.port, "db1 db2", QUERY, options) for name in ("db1", "db2", "db3")]
    await cluster.add(*hosts)
    await hosts[0].gateway.wait_for_line("db3, which Roster= does not have, is asked as well")
    db1 = await cluster.connect(hosts[0])
    hosts[2].gateway.send(signal.SIGSTOP)
    verdict = await db1.ask(NAME, deadline=DEADLINE)
    assert verdict
    assert outcomes(verdict)["host:db3"][0] in ("gone", "abstained")


async def test_nothing_passes_if_nats_brings_no_replies(cluster: Cluster) -> None:
    server = await cluster.server(
        extra='authorization { default_permissions: { subscribe: { deny: "tribune.v1.test.reply.>" } }\n'
        "users: [ { user: a, password: a } ] }"
    )
    (cluster.folder / "password").write_text("a\n")
    login = f"OnMissingHost=abstain\nUser=a\nPasswordFile={cluster.folder}/password"
    hosts = [Host(cluster.folder, name, server.port, "db1 db2", QUERY, login) for name in ("db1", "db2")]
    await cluster.add(*hosts)
    db1, db2 = [await cluster.connect(host) for host in hosts]
    await db2.attach(vetoing, NAME)
    verdict = await db1.ask(NAME)
    assert not verdict
    kind, reason = outcomes(verdict)["host:db2"]
    assert kind == "vetoed"
    assert reason.startswith("cluster unreachable: NATS refuses it: ")


@pytest.mark.parametrize("missing", ["cluster", "host"])
async def test_who_waits_asks_again_when_those_are_back_who_were_not_heard(cluster: Cluster, missing: str) -> None:
    server = await cluster.server()
    hosts = await cluster.trio(QUERY, port=server.port)
    if missing == "cluster":
        await server.end()
        await hosts[0].wait_for_status("cluster unreachable")
    else:
        await hosts[1].gateway.end()
    waiting = patient(hosts[0])
    await waiting.start()
    await waiting.wait_for_line("cluster unreachable" if missing == "cluster" else "no gateway of db2")
    db1 = await cluster.connect(hosts[0])
    async with db1.observe("cluster.mayReboot") as announcements:
        if missing == "cluster":
            await server.start()
        else:
            await hosts[1].start_gateway()
        assert (await anext(aiter(announcements))).object == ""
    assert await waiting.process.wait() == 0


async def test_explaining_shows_the_hosts_that_would_be_asked(cluster: Cluster) -> None:
    hosts = await cluster.trio(QUERY)
    status, output = await hosts[0].tribunectl("--json=short", "explain", NAME)
    assert status == 0
    assert "host:db2" in output
    assert "host:db3" in output
    assert json.loads(output.splitlines()[0])
