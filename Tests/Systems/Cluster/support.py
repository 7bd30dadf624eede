# SPDX-License-Identifier: Apache-2.0
"""NATS servers, hosts with a bus and a gateway each, and relays that cut their links."""

import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import tribune

# Only guards against hanging.
DEADLINE = 60
REPOSITORY = Path(__file__).resolve().parents[3]
ENDED = "(it has ended)"
PROGRAMS = Path(os.environ.get("TRIBUNE_BIN_DIR", REPOSITORY / ".build/release")).absolute()
NATS_SERVER = os.environ.get("NATS_SERVER") or str(REPOSITORY / ".build/python/bin/nats-server")
VERSION_TEXT = subprocess.run([NATS_SERVER, "--version"], check=True, capture_output=True, text=True).stdout
NATS_VERSION = tuple(map(int, re.findall(r"\d+", VERSION_TEXT)[:3]))


def free_port() -> int:
    """A free port below those that the kernel gives to connections."""
    while True:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", random.randrange(16_384, 32_768))) as one:
            return one.getsockname()[1]


def url(port: int) -> str:
    return f"nats://127.0.0.1:{port}"


def lasting(seconds: float) -> Callable[[Callable], Callable]:
    """Sets a test's own time limit."""

    def mark(function: Callable) -> Callable:
        function.seconds_max = seconds
        return function

    return mark


class Program:
    """A process with waits for lines on its standard error."""

    def __init__(
        self, *command: object, environment: dict[str, str] | None = None, passed: socket.socket | None = None
    ) -> None:
        """`passed` is a socket that the process gets as from systemd."""
        self._command = [str(word) for word in command]
        self._descriptors = () if passed is None else (passed.fileno(),)
        if passed is not None:
            script = f'exec 3<&{passed.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
            self._command = ["bash", "-c", script, "bash", *self._command]
        self._environment = os.environ | (environment or {})
        self.lines: list[str] = []
        self._news = asyncio.Condition()
        self.process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.lines = []
        creation = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=self._descriptors,
            )
        )
        try:
            await asyncio.shield(creation)
        finally:
            # asyncio may wait forever for a process whose creation is cancelled.
            self.process = await creation
            self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in self.process.stderr:
            async with self._news:
                self.lines.append(line.decode(errors="replace").rstrip())
                self._news.notify_all()
        async with self._news:
            self.lines.append(ENDED)
            self._news.notify_all()

    async def wait_for_line(self, text: str, after: int = 0) -> None:
        """Waits until a line behind the first `after` has the text."""
        async with asyncio.timeout(DEADLINE), self._news:
            await self._news.wait_for(lambda: any(text in line or line == ENDED for line in self.lines[after:]))
        assert any(text in line for line in self.lines[after:]), ["it has ended", *self.lines[-20:]]

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    async def end(self, number: int = signal.SIGKILL) -> int:
        if self.process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            # In this order: a signal to an ended process would take its status.
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        status = await self.process.wait()
        await self._reader
        self.process = None
        return status


class NatsServer:
    """A NATS server, which can be killed and restarted at the same port."""

    def __init__(
        self, folder: Path, name: str = "n1", routes: tuple[int, ...] = (), extra: str = "", *, relayed: bool = False
    ) -> None:
        self.name = name
        self.port = free_port()
        self.cluster_port = free_port()
        self._path = folder / f"{name}.conf"
        self._lines = [f"server_name: {name}", "host: 127.0.0.1", f"port: {self.port}"]
        if routes:
            # Otherwise, servers and clients tell each other ways around the relays.
            hidden = 'advertise: "127.0.0.1:1", no_advertise: true' if relayed else ""
            listen = f"listen: 127.0.0.1:{self.cluster_port}"
            self._lines.append(f"cluster {{ name: t, {listen}, routes: [{', '.join(map(url, routes))}], {hidden} }}")
        self.configure(extra)
        self.program = Program(NATS_SERVER, "--config", self._path)

    def configure(self, extra: str) -> None:
        self._path.write_text("\n".join([*self._lines, extra]))

    async def start(self) -> None:
        await self.program.start()
        await self.program.wait_for_line("Server is ready")

    async def end(self) -> None:
        await self.program.end()


async def request(port: int, subject: str, payload: bytes) -> bytes:
    """NATS's reply to a request, without a client library."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b'CONNECT {"verbose":false}\r\nSUB inbox 1\r\n')
    writer.write(f"PUB {subject} inbox {len(payload)}\r\n".encode() + payload + b"\r\n")
    try:
        async with asyncio.timeout(DEADLINE):
            while True:
                line = await reader.readline()
                if line.startswith(b"MSG "):
                    return await reader.readexactly(int(line.split()[-1]))
    finally:
        writer.close()


async def publish(port: int, subject: str, headers: dict[str, str]) -> None:
    """Publishes a message without a client library, and waits until the server has it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = ("NATS/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n").encode()
    writer.write(b'CONNECT {"verbose":false,"headers":true}\r\n')
    writer.write(f"HPUB {subject} {len(head)} {len(head)}\r\n".encode() + head + b"\r\nPING\r\n")
    try:
        async with asyncio.timeout(DEADLINE):
            while await reader.readline() != b"PONG\r\n":
                continue
    finally:
        writer.close()


class Relay:
    """Forwards TCP connections to a port, unless it is severed or silenced."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())
        out = None
        try:
            back, out = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(self._copy(reader, out), self._copy(back, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(asyncio.current_task())
            for end in (writer, out):
                if end is not None:
                    end.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._passes.wait()
            writer.write(data)
            await writer.drain()
        raise OSError("the other end has gone")

    def silence(self) -> None:
        """Forwards nothing and closes nothing, as if packets were dropped."""
        self._passes.clear()

    async def sever(self) -> None:
        """Ends all connections, and accepts none."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()

    async def mend(self) -> None:
        self._passes.set()
        if self._server is None:
            await self.start()


class Host:
    """A bus and a gateway, which serves FleetLock if it gets a socket for it."""

    def __init__(
        self,
        folder: Path,
        name: str,
        port: int | Sequence[int],
        roster: str,
        sections: str = "",
        cluster: str = "",
        environment: dict[str, str] | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        self.name = name
        self.listener = listener
        servers = " ".join(map(url, (port,) if isinstance(port, int) else port))
        self._folder = folder / name
        (self._folder / "etc").mkdir(parents=True)
        self.path = f"{self._folder}/bus"
        self.address = f"unix:{self.path}"
        self.configure(f"[Cluster]\nName=test\nHost={name}\nServers={servers}\nRoster={roster}\n{cluster}\n{sections}")
        self.bus = Program(
            PROGRAMS / "tribuned", f"--listen={self.path}", f"--config={self._folder}/etc", environment=environment
        )
        self._notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notices.bind(f"{self._folder}/notify")
        self._notices.setblocking(False)
        self._notice_reader: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._is_ready = False
        self.status = ""
        self.gateway = Program(
            PROGRAMS / "tribune-nats",
            f"--config={self._folder}/etc",
            environment=(environment or {})
            | {
                "TRIBUNE_ADDRESS": self.address,
                "NOTIFY_SOCKET": f"{self._folder}/notify",
                "STATE_DIRECTORY": str(self._folder),
            },
            passed=listener,
        )

    def configure(self, text: str) -> None:
        self.configuration = text
        (self._folder / "etc/nats.conf").write_text(text)

    def require(self, label: str) -> None:
        """Makes the absence of a delegate a veto."""
        (self._folder / "etc/tribuned.conf").write_text(f'[Query "cluster.**"]\nRequireDelegate=label:{label}\n')

    async def start(self) -> None:
        await self.start_bus()
        await self.start_gateway()

    async def start_bus(self) -> None:
        await self.bus.start()
        await self.bus.wait_for_line("listening on")

    async def start_gateway(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._notices.recv(65_536):
                continue
        self.status, self._is_ready = "", False
        # Read always, because the gateway waits for a full notify socket.
        self._notice_reader = self._notice_reader or asyncio.create_task(self._listen())
        await self.gateway.start()
        await self._wait_for(lambda: self._is_ready)

    async def wait_for_status(self, text: str) -> None:
        """Waits until the gateway reports this status to the service manager."""
        await self._wait_for(lambda: text in self.status)

    async def _listen(self) -> None:
        while True:
            notice = await asyncio.get_running_loop().sock_recv(self._notices, 65_536)
            async with self._news:
                for line in notice.decode().splitlines():
                    if line.startswith("STATUS="):
                        self.status = line.removeprefix("STATUS=")
                    self._is_ready |= line == "READY=1"
                self._news.notify_all()

    async def stop_listening(self) -> None:
        """Stops reading the gateway's notices, and fills their socket."""
        self._notice_reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._notice_reader
        self._notice_reader = None
        # A single sender would reach its own limit first.
        for _ in range(8):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(BlockingIOError):
                sender.setblocking(False)
                while True:
                    sender.sendto(b"X_FULL=1", f"{self._folder}/notify")

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE), self._news:
            await self._news.wait_for(condition)

    def connect(self) -> tribune._bus.Connecting:
        return tribune.connect(self.address)

    async def tribunectl(self, *arguments: str, seconds_max: float | None = DEADLINE) -> tuple[int, str]:
        """The status and the output of tribunectl."""
        process = await asyncio.create_subprocess_exec(
            PROGRAMS / "tribunectl",
            *arguments,
            env=os.environ | {"TRIBUNE_ADDRESS": self.address},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        async with asyncio.timeout(seconds_max):
            output, _ = await process.communicate()
        return process.returncode, output.decode()

    async def leases(self) -> dict[str, dict]:
        """The leases of the cluster, as tribunectl lists them."""
        _, output = await self.tribunectl("leases", "--json=short")
        return {lease["lease"]: lease for lease in map(json.loads, output.splitlines())}

    async def owners(self, lease: str) -> list[str]:
        found = (await self.leases()).get(lease, {"owners": []})
        return sorted(owner["host"] for owner in found["owners"])

    async def end(self) -> None:
        await self.gateway.end()
        await self.bus.end()
        if self._notice_reader is not None:
            self._notice_reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._notice_reader
        self._notices.close()
        if self.listener is not None:
            self.listener.close()


class Cluster:
    """All servers, hosts and relays of a test, which ends them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers: list[NatsServer] = []
        self.relays: list[Relay] = []
        self.links: dict[str, list[Relay]] = {}
        self.routes: list[Relay] = []
        self.hosts: list[Host] = []
        self._stack = contextlib.AsyncExitStack()

    async def server(self, *arguments: object, **named: object) -> NatsServer:
        server = NatsServer(self.folder, *arguments, **named)
        self.servers.append(server)
        await server.start()
        return server

    async def relay(self, target: int) -> Relay:
        relay = Relay(target)
        self.relays.append(relay)
        await relay.start()
        return relay

    async def three_servers(self) -> list[NatsServer]:
        """A cluster of NATS with JetStream, all of whose routes are relays."""
        for name in ("n1", "n2", "n3"):
            routes = [await self.relay(server.cluster_port) for server in self.servers]
            self.routes += routes
            ports = tuple(relay.port for relay in routes) or (1,)
            store = f'jetstream {{ store_dir: "{self.folder}/{name}" }}'
            await self.server(name, ports, store, relayed=True)
        waiting = [asyncio.create_task(one.program.wait_for_line("new metadata leader")) for one in self.servers]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        return self.servers

    async def leader(self, stream: str) -> NatsServer:
        """The server that leads a stream, once all three have all of it. Before that, the loss of one may stop it."""
        async with asyncio.timeout(DEADLINE):
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        reply = await request(self.servers[0].port, f"$JS.API.STREAM.INFO.{stream}", b"")
                    group = json.loads(reply).get("cluster", {})
                    if "leader" in group and [one["current"] for one in group.get("replicas", [])] == [True, True]:
                        return next(server for server in self.servers if server.name == group["leader"])

    async def link(self, name: str) -> list[int]:
        """A host's ports for the servers, each through a separate relay."""
        self.links[name] = [await self.relay(server.port) for server in self.servers]
        return [relay.port for relay in self.links[name]]

    async def add(self, *hosts: Host) -> None:
        """Starts the hosts, and waits until they know each other."""
        self.hosts += hosts
        for host in hosts:
            await host.start()
        for host in hosts:
            await host.wait_for_status("all hosts are there")

    async def trio(self, sections: str, cluster: str = "", port: int | None = None) -> list[Host]:
        """Three hosts of one server."""
        port = port or (await self.server()).port
        hosts = [Host(self.folder, name, port, "db1 db2 db3", sections, cluster) for name in ("db1", "db2", "db3")]
        await self.add(*hosts)
        return hosts

    async def relayed(self, sections: str = "", options: str = "", port: int | None = None) -> tuple[Relay, Host, Host]:
        """Two hosts of one server, and the first one's relay."""
        port = port or (await self.server()).port
        relay = await self.relay(port)
        one, two = [
            Host(self.folder, name, each, "db1 db2", sections, options)
            for name, each in (("db1", relay.port), ("db2", port))
        ]
        await self.add(one, two)
        return relay, one, two

    async def connect(self, host: Host) -> tribune.Bus:
        return await self._stack.enter_async_context(host.connect())

    async def end(self) -> None:
        with contextlib.suppress(Exception):
            await self._stack.aclose()
        for host in self.hosts:
            await host.end()
        for relay in self.relays:
            await relay.sever()
        for server in self.servers:
            await server.end()
        shutil.rmtree(self.folder, ignore_errors=True)


async def jetstream(cluster: Cluster, name: str = "n1", routes: tuple[int, ...] = (), extra: str = "") -> NatsServer:
    return await cluster.server(name, routes, extra=f'jetstream {{ store_dir: "{cluster.folder}/{name}", {extra} }}')
