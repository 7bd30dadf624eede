# SPDX-License-Identifier: Apache-2.0
"""The configurations of docs/CLUSTER.md, as they stand there, with ports of this machine."""

import os
import re
import subprocess
import textwrap

import pytest

from observers import Watch
from questions import NAME, QUERY, approving, outcomes, until_allowed
from support import DEADLINE, PROGRAMS, REPOSITORY, Cluster, Host, NatsServer, free_port

DOCUMENT = (REPOSITORY / "docs/CLUSTER.md").read_text()
BLOCKS = [textwrap.dedent(block) for block in re.findall(r"(?:^(?: {4}.*)?\n)+", DOCUMENT, re.MULTILINE)]
HOSTS = ("db1", "db2", "db3")


def block(text: str) -> str:
    """The only example that contains this line."""
    (found,) = [block for block in BLOCKS if text in block.splitlines()]
    return found


def added(verb: str) -> str:
    """The subjects of the list of further permissions."""
    lists = re.findall(rf"{verb} ((?:`[^`]+`,?\s+)*`[^`]+`)", DOCUMENT)
    return " ".join(f'"{subject}",' for one in lists for subject in re.findall("`([^`]+)`", one))


def server_configuration(number: int, ports: dict[str, int]) -> str:
    text = block("server_name: n1")
    user = text[text.index("{ user: db1") : text.index("# …")]
    for verb in ("publish", "subscribe"):
        user = user.replace(f"{verb}: [", f"{verb}: [ {added(verb)}")
    users = "\n".join(user.replace("db1", host).replace("DB1", host.upper()) for host in HOSTS)
    text = text[: text.index("{ user: db1")] + users + text[text.index("# …") :]
    text = text.replace("name: n1", f"name: n{number}").replace("listen: 10.0.0.1", f"listen: 10.0.0.{number}")
    return at_ports(text, ports)


def at_ports(text: str, ports: dict[str, int]) -> str:
    return re.sub(r"10\.0\.0\.\d:\d+", lambda found: f"127.0.0.1:{ports[found[0]]}", text)


async def test_three_servers_and_three_hosts(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = {f"10.0.0.{number}:{port}": free_port() for number in (1, 2, 3) for port in (4222, 6222)}
    for host in HOSTS:
        monkeypatch.setenv(f"{host.upper()}_PASSWORD", f"secret-{host}")
    for number in (1, 2, 3):
        text = server_configuration(number, ports).replace("/var/lib/nats", f"{cluster.folder}/js{number}")
        server = NatsServer(cluster.folder, f"n{number}")
        server.configure(text)
        cluster.servers.append(server)
        await server.start()
    hosts = []
    for name in HOSTS:
        password = cluster.folder / f"{name}.password"
        password.write_text(f"secret-{name}\n")
        login = block("User=db1").replace("=db1", f"={name}").replace("/etc/tribune/nats.password", str(password))
        host = Host(cluster.folder, name, 0, "")
        sections = '[Retain "disk.**"]\n[Export "build.*"]\nDurable=yes\n[Import "build.*"]\nDurable=yes\n'
        host.configure(at_ports(block("Name=shop"), ports) + login + f"Host={name}\n" + sections)
        hosts.append(host)
    await cluster.add(*hosts)
    for host in hosts:
        await host.gateway.wait_for_line("durable notifications come in")
    db1, db2, db3 = [await cluster.connect(host) for host in hosts]
    await db2.attach(approving, NAME)
    assert await db1.ask(NAME)
    watches = [await Watch(db3, pattern).start() for pattern in ("backup.*", "build.*", "disk.*")]
    await db1.post("backup.didFinish", b"plain")
    await db1.post("build.didFinish", b"durable")
    await db1.post("disk.isFull", b"retained", retain=True)
    for watching, text in zip(watches, ("plain", "durable", "retained"), strict=True):
        assert await watching.until(text) == [text]
    # Two of three servers suffice.
    await cluster.servers[0].end()
    for host in hosts:
        await until_allowed(host)
    # Until the other two have elected a leader of the bucket, the gateway calls it too slow, or a read times out.
    status, output = await hosts[0].tribunectl("lease", "backup", "--", "true")
    while status == 255 and ("NATS is too slow" in output or "cannot be read: Timeout" in output):
        status, output = await hosts[0].tribunectl("lease", "backup", "--", "true")
    assert status == 0, output
    violations = [line for one in cluster.servers for line in one.program.lines if "Violation" in line]
    assert all(line.rstrip('"').endswith(".nobody") for line in violations), violations


async def test_a_gateway_that_does_not_run_vetoes_also_without_systemd(cluster: Cluster) -> None:
    (labels,) = re.findall("`RequireDelegate=label:([^`]+)`", DOCUMENT)
    server = await cluster.server()
    hosts = [Host(cluster.folder, name, server.port, " ".join(HOSTS), QUERY) for name in HOSTS]
    hosts[0].require(labels)
    await cluster.add(*hosts)
    db1 = await cluster.connect(hosts[0])
    assert await db1.ask(NAME)
    await hosts[0].gateway.end()
    verdict = await db1.ask(NAME)
    assert not verdict
    assert [kind for kind, _ in outcomes(verdict).values()] == ["gone", "gone"]
    await hosts[0].start_gateway()
    await until_allowed(hosts[0])


@pytest.mark.parametrize("place", ["path", "sbin"])
async def test_the_demo_finds_a_server_that_is_installed(cluster: Cluster, place: str) -> None:
    # A copy, beside which there is no .build.
    demo = cluster.folder / "Examples/demo/cluster-demo"
    demo.parent.mkdir(parents=True)
    demo.write_text(
        (REPOSITORY / "Examples/demo/cluster-demo").read_text().replace("/usr/sbin", f"{cluster.folder}/sbin")
    )
    server, started = cluster.folder / place / "nats-server", cluster.folder / "started"
    server.parent.mkdir()
    server.write_text(f'#!/bin/sh\necho "$0" >{started}\n')
    server.chmod(0o755)
    environment = os.environ | {"PATH": f"{cluster.folder}/path:/usr/bin:/bin", "NATS_SERVER": ""}
    ended = subprocess.run(["bash", demo, PROGRAMS], env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert "FAILED: nats says nothing more" in ended.stderr
    assert started.read_text() == f"{server}\n"
