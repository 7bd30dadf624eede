# SPDX-License-Identifier: Apache-2.0
"""tribune-web against clients that attack it, or have no access."""

import asyncio
import base64
import contextlib
import os
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clients import ask_awkward_delegates, ask_with_reasons
from support import DEADLINE, PROGRAMS, Bus, Events, Web, wait_for_line

TOKEN = "correct-horse-battery-staple"


@pytest.mark.parametrize(
    "path", ["/", "/page.css", "/page.js", "/plot.js", "/icon.svg", "/metrics", "/healthz", "/none"]
)
def test_every_response_keeps_other_sites_out(web: Web, path: str) -> None:
    response = web.get(path)
    assert response.status == (404 if path == "/none" else 200)
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_no_method_changes_anything(web: Web, method: str) -> None:
    response = web.get("/", method)
    assert response.status == 405
    assert response.headers["Allow"] == "GET, HEAD"


def test_head_is_get_without_the_body(web: Web) -> None:
    response = web.get("/", "HEAD")
    assert (response.status, response.text) == (200, "")
    assert int(response.headers["Content-Length"]) == len(web.get("/").text.encode())
    assert web.get("/events", "HEAD").headers["Content-Type"] == "text/event-stream"


def test_a_body_is_refused_and_not_read(web: Web) -> None:
    with web.raw() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert connection.makefile().readline().split()[1] == "413"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8080", 200),
        ("LocalHost", 200),
        ("[::1]:9790", 200),
        ("bus.example.org", 200),
        ("bus.example.org:443", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("localhost:80:80", 421),
        ("localhost:", 421),
        ("localhost:http", 421),
        ("127.0.0.1.", 421),
        ("", 421),
    ],
)
def test_only_known_hosts_are_served(start, host: str, status: int) -> None:
    web = start("[Web]\nHosts=bus.example.org\n")
    for path in ("/", "/healthz", "/metrics"):
        assert web.get(path, Host=host).status == status


def test_two_hosts_or_none_are_refused(web: Web) -> None:
    for hosts in ("", "Host: localhost\r\nHost: evil.example\r\n"):
        with web.raw() as connection:
            connection.sendall(f"GET / HTTP/1.1\r\n{hosts}\r\n".encode())
            assert connection.makefile().readline().split()[1] in ("400", "421")


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
        ("cross-site", "navigate", 200),
        ("same-origin", "cors", 200),
    ],
)
def test_pages_of_others_get_nothing(web: Web, site: str, mode: str, status: int) -> None:
    assert web.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode=mode).status == status


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (basic(TOKEN), 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Bearer {TOKEN[:-1]}x", 401),
        (basic(TOKEN.upper()), 401),
        ("Basic !!!!", 401),
        (TOKEN, 401),
        ("", 401),
    ],
)
def test_a_token_is_needed_if_there_is_one(start, tmp_path: Path, authorization: str, status: int) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    web = start(f"[Web]\nTokenFile={tmp_path}/token\n")
    for path in ("/", "/metrics", "/events"):
        response = web.get(path, "HEAD", Authorization=authorization)
        assert response.status == status
    assert ("WWW-Authenticate" in response.headers) == (status == 401)
    assert web.get("/healthz").status == 200


@pytest.mark.parametrize(
    ("host", "token"),
    [
        (b"evil.example\0", TOKEN.encode()),
        (b"evil.example\0localhost", TOKEN.encode()),
        (b"\0localhost", TOKEN.encode()),
        (b"localhost", TOKEN[:-1].encode() + b"\0"),
        (b"localhost", TOKEN[:-1].encode() + b"\0" + TOKEN[-1:].encode()),
        (b"localhost", b"x\0" + TOKEN.encode()),
        (b"localhost", b"\0" + TOKEN.encode()),
    ],
)
def test_a_nul_opens_nothing(start, tmp_path: Path, host: bytes, token: bytes) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    web = start(f"[Web]\nTokenFile={tmp_path}/token\n")
    with web.raw() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\nAuthorization: Bearer " + token + b"\r\n\r\n")
        assert connection.makefile("rb").readline().split()[1] in (b"400", b"401", b"421")


def test_other_hosts_need_a_line_and_a_token(tmp_path: Path) -> None:
    for name, configuration, message in [
        ("1", "", "other hosts reach port"),
        ("2", "[Web]\nAllowNetwork=yes\n", "web.conf:2: error: AllowNetwork= needs TokenFile="),
        ("3", "[Web]\nTokenFile=/nonexistent\n", 'TokenFile=: "/nonexistent" cannot be read'),
    ]:
        folder = tmp_path / name
        folder.mkdir()
        status, errors = Web.refusing(folder, configuration, hosts="0.0.0.0")
        assert status == 1
        assert message in errors


def test_by_hand_it_opens_a_port_and_finds_the_page(bus: Bus, tmp_path: Path) -> None:
    with subprocess.Popen(
        [PROGRAMS / "tribune-web", "--listen=0", f"--config={tmp_path}"],
        env=os.environ | {"TRIBUNE_ADDRESS": bus.address},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        port = re.search(r"port (\d+) of this host alone", wait_for_line(process.stderr, "listening on"))[1]
        assert "<title>" in urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=DEADLINE).read().decode()
        process.terminate()


@pytest.mark.parametrize("address", ["localhost:1", "1.2.3.4:99999", ":1", "nonsense", "127.0.0.1"])
def test_by_hand_a_wrong_address_is_said(tmp_path: Path, address: str) -> None:
    web = subprocess.run(
        [PROGRAMS / "tribune-web", f"--listen={address}", f"--config={tmp_path}"], capture_output=True, text=True
    )
    assert (web.returncode, f"--listen={address}: " in web.stderr) == (1, True)


def test_it_lists_only_while_somebody_looks(bus: Bus, web: Web) -> None:
    with bus.staying("monitor", "-o", "{kind} {says}") as monitor:
        lists = (line.split()[1] for line in monitor.stdout if line.startswith("list "))
        while next(lists) != "bus":
            pass
        with bus.staying("hold", "a.shouldB", "--why=no"):
            assert next(lists) == "bus"
            web.get("/metrics")
            assert "holds" in {next(lists) for _ in range(8)}


def test_the_unix_socket_is_served_too(web: Web) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(web.path)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.makefile().read().endswith("\n\nok\n")


def test_a_connection_has_one_request(web: Web) -> None:
    with web.raw() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        assert connection.makefile().read().count("HTTP/1.1 200") == 1


@pytest.mark.parametrize("length", ["-1", "x", "", "1, 1", "99999999999999999999"])
def test_a_wrong_length_ends_the_connection(web: Web, length: str) -> None:
    request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    with web.raw() as connection:
        connection.sendall(f"{request}Content-Length: {length}\r\n\r\n{request}\r\n".encode())
        statuses = re.findall(r"^HTTP/1\.1 (\d+)", connection.makefile().read(), re.M)
    # libmicrohttpd 0.9.75 sends the header of this response twice.
    assert set(statuses) in ({"400"}, {"413"})


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", id="long path"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 20_000 + b"\r\n", id="many fields"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"b" * 100_000 + b"\r\n\r\n", id="long field"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n" * 1000, id="TLS"),
        pytest.param(b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", id="version"),
        pytest.param(b"\x00" * 100_000, id="zeros"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            id="two lengths",
        ),
    ],
)
def test_malformed_and_huge_requests_are_refused(web: Web, request_bytes: bytes) -> None:
    before = web.private_kilobytes()
    for _ in range(20):
        with web.raw() as connection:
            try:
                connection.sendall(request_bytes)
                answer = connection.recv(65536)
            except OSError:
                continue
            assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5", b"HTTP/1.0 4", b"HTTP/1.0 5"))
    assert web.get("/healthz").status == 200
    assert web.private_kilobytes() < before + 4_000


def test_slow_senders_are_ended(web: Web) -> None:
    began = time.monotonic()
    with web.raw() as idle, web.raw() as trickling:
        trickling.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nA: ")
        trickling.settimeout(5)
        ended = False
        while not ended and time.monotonic() < began + DEADLINE:
            try:
                trickling.sendall(b"a")
                ended = trickling.recv(1024) == b""
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                ended = True
        assert ended
        assert idle.recv(1024) == b""
    assert web.get("/healthz").status == 200


def test_many_connections_leave_it_as_it_was(start) -> None:
    web = start("[Web]\nConnectionsMax=64\n")
    memory, descriptors = web.private_kilobytes(), web.open_descriptors()
    connections = []
    for _ in range(2_000):
        connection = web.raw()
        connections.append(connection)
    assert web.open_descriptors() < descriptors + 70
    with socket.create_connection(("127.0.0.1", web.port), timeout=DEADLINE, source_address=("127.0.0.2", 0)) as other:
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert other.makefile().read().endswith("ok\n")
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(web.path)
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert other.makefile().read().endswith("ok\n")
    for connection in connections:
        connection.close()
    assert web.get("/healthz").status == 200
    assert web.private_kilobytes() < memory + 8_000


@contextlib.contextmanager
def unread(web: Web, path: str) -> Iterator[str]:
    """Requests a path, and reads only the status. The kernel buffers little for a Unix socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE)
        connection.connect(web.path)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield connection.recv(12)[9:].decode()


def test_responses_that_nobody_reads_have_a_bound(bus: Bus, start: Callable[[str], Web]) -> None:
    asyncio.run(ask_awkward_delegates(bus.address, 200))
    web = start("[Web]\nMetricNamesMax=1000\n")
    with contextlib.closing(Events(web)) as page:
        page.until("connections", lambda connections: connections["rows"])
    size = len(web.get("/metrics").text)
    before = web.private_kilobytes()
    with contextlib.ExitStack() as responses:
        statuses = [responses.enter_context(unread(web, "/metrics")) for _ in range(2 * (32 << 20) // size)]
        assert statuses[0] == "200"
        assert statuses[-1] == "503"
        assert web.private_kilobytes() < before + 60_000
    assert web.get("/metrics").status == 200


def test_pages_that_nobody_reads_take_no_memory(bus: Bus, start: Callable[[str], Web]) -> None:
    web = start("[Web]\nPagesMax=64\n")
    with contextlib.closing(Events(web)) as page:
        asyncio.run(ask_with_reasons(bus.address, 600))
        page.until("bus", lambda now: now["asked"] == 600)
    before = web.private_kilobytes()
    with contextlib.ExitStack() as pages:
        for _ in range(60):
            assert pages.enter_context(unread(web, "/events")) == "200"
        # All of them together have left 240 MiB unread.
        assert web.private_kilobytes() < before + 16_000


def test_there_are_no_more_pages_than_configured(start) -> None:
    web = start("[Web]\nPagesMax=2\n")
    streams = [Events(web), Events(web)]
    for stream in streams:
        stream.next("bus")
    assert web.get("/events").status == 503
    assert "tribune_web_pages 2.0\n" in web.get("/metrics").text
    streams[0].close()
    # The server notices with its next event, at most five seconds later.
    deadline = time.monotonic() + DEADLINE
    while "tribune_web_pages 2.0\n" in web.get("/metrics").text and time.monotonic() < deadline:
        streams[1].line()
    assert Events(web).response.status == 200
