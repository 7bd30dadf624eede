# SPDX-License-Identifier: Apache-2.0
"""Gateways that NATS refuses, or that do not trust it, until the mistake is corrected."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from keys import Authority, NKey, credentials
from questions import NAME, QUERY, approving, until_allowed
from support import Cluster, Host

pytestmark = pytest.mark.any_server

LOCAL = "IP:127.0.0.1,DNS:localhost"


@dataclass
class Login:
    """A server's way of login, with right and wrong settings of a host."""

    server: str
    options: str
    right: dict[str, str]
    wrong: dict[str, str]
    reason: str

    def host(self, cluster: Cluster, name: str, port: int, files: dict[str, str]) -> Host:
        folder = cluster.folder / f"login-{name}"
        folder.mkdir()
        self.write(cluster, name, files)
        host = Host(cluster.folder, name, port, "db1 db2", QUERY, self.options.replace("{}", str(folder)))
        cluster.hosts.append(host)
        return host

    @staticmethod
    def write(cluster: Cluster, name: str, files: dict[str, str]) -> None:
        for file, content in files.items():
            (cluster.folder / f"login-{name}" / file).write_text(content)


def password(_: Path) -> Login:
    return Login(
        server='authorization { user: tribune, password: "right" }',
        options="User=tribune\nPasswordFile={}/password",
        right={"password": "right\n"},
        wrong={"password": "wrong\n"},
        reason="Authentication Violation",
    )


def nkey(folder: Path) -> Login:
    user, other = NKey(folder, "user", "user"), NKey(folder, "other", "user")
    return Login(
        server=f"authorization {{ users: [ {{ nkey: {user.public} }} ] }}",
        options=f"PublicKey={user.public}\nSeedFile={{}}/seed",
        right={"seed": user.seed},
        wrong={"seed": other.seed},
        reason="Authentication Violation",
    )


def token(folder: Path) -> Login:
    operator, account = NKey(folder, "operator", "operator"), NKey(folder, "account", "account")
    user, stranger = NKey(folder, "user", "user"), NKey(folder, "stranger", "account")
    unlimited = {"subs": -1, "data": -1, "payload": -1}
    limits = unlimited | {"imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    lines = [
        f"operator: {operator.token(operator)}",
        "resolver: MEMORY",
        f"resolver_preload: {{ {account.public}: {operator.token(account, limits=limits)} }}",
    ]
    return Login(
        server="\n".join(lines),
        options="CredentialsFile={}/creds",
        right={"creds": credentials(account.token(user, **unlimited), user.seed)},
        wrong={"creds": credentials(stranger.token(user, **unlimited), user.seed)},
        reason="Authentication Violation",
    )


def tls(server: tuple[Path, Path], authority: Authority) -> str:
    certificate, key = server
    return f'tls {{ cert_file: "{certificate}", key_file: "{key}", ca_file: "{authority.certificate}", verify: true }}'


TLS_OPTIONS = "AuthorityFile={}/ca\nCertificateFile={}/certificate\nKeyFile={}/key"


def files_of(authority: Authority, client: tuple[Path, Path]) -> dict[str, str]:
    certificate, key = client
    return {"ca": authority.certificate.read_text(), "certificate": certificate.read_text(), "key": key.read_text()}


def authority(folder: Path) -> Login:
    ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
    right = files_of(ours, ours.sign("client", LOCAL))
    return Login(
        server=tls(ours.sign("server", LOCAL), ours),
        options=TLS_OPTIONS,
        right=right,
        wrong=right | {"ca": theirs.certificate.read_text()},
        reason="SSL Error",
    )


def certificate(folder: Path) -> Login:
    ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
    return Login(
        server=tls(ours.sign("server", LOCAL), ours),
        options=TLS_OPTIONS,
        right=files_of(ours, ours.sign("client", LOCAL)),
        wrong=files_of(ours, theirs.sign("client", LOCAL)),
        # With TLS 1.3, a client only sees the connection end.
        reason="",
    )


@pytest.mark.parametrize("kind", [password, nkey, token, authority, certificate])
async def test_what_is_wrong_is_said_and_vetoes_until_it_is_right(cluster: Cluster, kind: Callable) -> None:
    login = kind(cluster.folder)
    server = await cluster.server(extra=login.server)
    db1 = login.host(cluster, "db1", server.port, login.wrong)
    db2 = login.host(cluster, "db2", server.port, login.right)
    for host in (db1, db2):
        await host.start()
    here, there = [await cluster.connect(host) for host in (db1, db2)]
    await there.attach(approving, NAME)
    reason = f"cannot connect: {login.reason}"
    await db1.wait_for_status(f"cluster unreachable: {reason}")
    await db1.gateway.wait_for_line(f"not connected to NATS: {reason}")
    verdict = await here.ask(NAME)
    assert not verdict
    assert verdict.outcomes[0].reason.startswith("cluster unreachable: cannot connect: ")
    assert login.reason in verdict.outcomes[0].reason
    assert not await there.ask(NAME)
    login.write(cluster, "db1", login.right)
    for host in (db1, db2):
        await until_allowed(host)


async def test_a_server_with_the_certificate_of_another_is_not_trusted(cluster: Cluster) -> None:
    ours = Authority(cluster.folder, "ours")
    server = await cluster.server(extra=tls(ours.sign("server", "DNS:elsewhere.example,IP:192.0.2.1"), ours))
    files = files_of(ours, ours.sign("client", LOCAL))
    host = Login("", TLS_OPTIONS, {}, {}, "").host(cluster, "db1", server.port, files)
    await host.start()
    await host.wait_for_status("SSL Error")
    assert not await (await cluster.connect(host)).ask(NAME)


async def test_a_server_without_tls_learns_no_password(cluster: Cluster) -> None:
    login = password(cluster.folder)
    server = await cluster.server(extra=login.server)
    host = login.host(cluster, "db1", server.port, login.right)
    host.configure(host.configuration.replace("nats://", "tls://"))
    await host.start()
    await host.wait_for_status("cluster unreachable: cannot connect: ")
    await host.gateway.wait_for_line("Secure Connection")
    assert not await (await cluster.connect(host)).ask(NAME)


async def test_a_password_that_is_changed(cluster: Cluster) -> None:
    login = password(cluster.folder)
    server = await cluster.server(extra=login.server)
    hosts = [login.host(cluster, name, server.port, login.right) for name in ("db1", "db2")]
    for host in hosts:
        await host.start()
    for host in hosts:
        await host.wait_for_status("all hosts are there")
    bus = await cluster.connect(hosts[0])
    await server.end()
    server.configure(login.server.replace("right", "changed"))
    await server.start()
    for host in hosts:
        await host.wait_for_status("Authentication Violation")
    assert not await bus.ask(NAME)
    for host in hosts:
        login.write(cluster, host.name, {"password": "changed\n"})
    for host in hosts:
        await until_allowed(host)
