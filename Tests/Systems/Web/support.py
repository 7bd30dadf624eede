# SPDX-License-Identifier: Apache-2.0
"""A bus, tribune-web and a browser."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Only guards against hanging.
DEADLINE = 60
REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAMS = Path(os.environ.get("TRIBUNE_BIN_DIR", REPOSITORY / ".build/release")).absolute()
# Unpacked, because installed programs would start at the next boot.
UNPACKED = REPOSITORY / ".build/peers/root/usr/bin"


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(UNPACKED))
    assert found, f'there is no {name}; "tools/setup web" gets it'
    return found


def wait_for_line(stream, text: str) -> str:
    """Reads lines until one has the text, and returns that line."""
    seen = ""
    for line in stream:
        seen += line
        if text in line:
            return line
    raise AssertionError(f'it ended before it said "{text}": {seen}')


class Bus:
    """tribuned, which can be killed and restarted at the same address."""

    def __init__(self, folder: Path, *, has_keeper: bool = False) -> None:
        self.address = f"unix:{folder}/bus"
        configuration = folder / "bus-etc"
        configuration.mkdir()
        self._arguments = [f"--listen={folder}/bus", f"--config={configuration}"]
        self._keeper: subprocess.Popen[str] | None = None
        if has_keeper:
            self._keeper = self._started("--keep", f"--listen={folder}/keeper")
            self._arguments.append(f"--keeper={folder}/keeper")
        self.start()

    @staticmethod
    def _started(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([PROGRAMS / "tribuned", *arguments], stderr=subprocess.PIPE, text=True)
        wait_for_line(process.stderr, "listening on")
        return process

    def start(self) -> None:
        self.process = self._started(*self._arguments)

    def kill(self) -> None:
        self._kill(self.process)

    @staticmethod
    def _kill(process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        process.stderr.close()

    def end(self) -> None:
        self.kill()
        if self._keeper:
            self._kill(self._keeper)

    def tribunectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAMS / "tribunectl", *arguments],
            env=os.environ | {"TRIBUNE_ADDRESS": self.address},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAMS / "tribunectl", *arguments],
            env=os.environ | {"TRIBUNE_ADDRESS": self.address},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            text=True,
        )

    @contextlib.contextmanager
    def staying(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A tribunectl that reports that it is ready, and stays."""
        with subprocess.Popen(
            [PROGRAMS / "tribunectl", *arguments],
            env=os.environ | {"TRIBUNE_ADDRESS": self.address},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                wait_for_line(process.stderr, f", on {self.address}")
                yield process
            finally:
                process.send_signal(signal.SIGTERM)


class Web:
    """tribune-web on a port of 127.0.0.1 and on a Unix socket, as systemd passes them."""

    def __init__(
        self, folder: Path, bus_address: str, configuration: str = "", *, hosts: str = "127.0.0.1", port: int = 0
    ) -> None:
        etc = folder / "web-etc"
        etc.mkdir()
        (etc / "web.conf").write_text(configuration)
        self.path = f"{folder}/http"
        inet = socket.create_server((hosts, port), backlog=1024)
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(self.path)
        unix.listen(1024)
        self.port = inet.getsockname()[1]
        self.process = self._start(etc, bus_address, [inet, unix])
        for passed in (inet, unix):
            passed.close()

    @staticmethod
    def _start(etc: Path, bus_address: str, sockets: list[socket.socket]) -> subprocess.Popen[str]:
        numbers = [passed.fileno() for passed in sockets]
        moves = " ".join(f"{10 + at}<&{number}" for at, number in enumerate(numbers))
        places = " ".join(f"{3 + at}<&{10 + at} {10 + at}<&-" for at in range(len(numbers)))
        command = f'exec {moves}; exec {places}; LISTEN_PID=$$ LISTEN_FDS={len(numbers)} exec "$@"'
        return subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                "bash",
                PROGRAMS / "tribune-web",
                f"--config={etc}",
                f"--page={REPOSITORY / 'web'}",
            ],
            env=os.environ | {"TRIBUNE_ADDRESS": bus_address},
            pass_fds=numbers,
            stderr=subprocess.PIPE,
            text=True,
        )

    @classmethod
    def refusing(cls, folder: Path, configuration: str, *, hosts: str = "127.0.0.1") -> tuple[int, str]:
        """The exit status and the messages of a tribune-web that does not start."""
        web = cls(folder, f"unix:{folder}/none", configuration, hosts=hosts)
        _, errors = web.process.communicate(timeout=DEADLINE)
        return web.process.returncode, errors

    def wait_for_log(self, text: str) -> str:
        return wait_for_line(self.process.stderr, text)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(DEADLINE)
        self.process.stderr.close()

    def get(self, path: str, method: str = "GET", body: bytes | None = None, **fields: str) -> http.client.HTTPResponse:
        """The response, whose body is in `text`. `_` in the names of fields stands for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in fields.items()})
        response = connection.getresponse()
        response.text = response.read().decode()
        connection.close()
        return response

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)

    def private_kilobytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1])

    def open_descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Events:
    """The event stream, event by event."""

    def __init__(self, web: Web, **fields: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=DEADLINE)
        self._connection.request("GET", "/events", headers={k.replace("_", "-"): v for k, v in fields.items()})
        self.response = self._connection.getresponse()

    def line(self) -> str:
        line = self.response.readline().decode()
        assert line, "the stream ended"
        return line

    def next(self, name: str) -> object:
        """The data of the next event of that name."""
        event = None
        while True:
            line = self.line()
            if line.startswith("event: "):
                event = line[7:-1]
            elif line.startswith("data: ") and event == name:
                return json.loads(line[6:])

    def until(self, name: str, condition) -> object:
        while not condition(data := self.next(name)):
            pass
        return data

    def close(self) -> None:
        self.response.close()
        self._connection.close()


class Browser:
    """A headless Chromium, by WebDriver."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="tribune-chromium")
        self._driver = subprocess.Popen(
            [program("chromedriver"), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        line = wait_for_line(self._driver.stdout, "started successfully on port")
        self._port = int(re.search(r"port (\d+)", line)[1])
        arguments = [
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={self._profile.name}",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        capabilities = {
            "goog:chromeOptions": {"args": arguments, "binary": program("chromium")},
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": DEADLINE * 1000},
        }
        self._session = ""
        session = self._call("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self._session = f"/{session['sessionId']}"

    def _call(self, method: str, path: str, body: dict | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=2 * DEADLINE)
        connection.request(method, f"/session{self._session}{path}", None if body is None else json.dumps(body))
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{value['error']}: {value['message']}")
        return value

    def open(self, url: str) -> None:
        self._call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: object):
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str, *arguments: object):
        """Waits until an expression is true, evaluated at each change of the page. Returns its value."""
        script = """
          const [done, values] = [arguments[arguments.length - 1], [...arguments].slice(0, -1)];
          const holds = new Function("values", `return (${values.pop()})`);
          const observer = new MutationObserver(look);
          function look() {
            const value = holds(values);
            if (!value) return false;
            observer.disconnect();
            done(value);
            return true;
          }
          const all = {subtree: true, childList: true, attributes: true, characterData: true};
          if (!look()) observer.observe(document, all);
        """
        try:
            return self._call("POST", "/execute/async", {"script": script, "args": [*arguments, condition]})
        except AssertionError as error:
            page = self.run("return document.body.innerText")
            raise AssertionError(f"{error}\n{condition} is false on this page:\n{page}") from None

    def press(self, keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def cdp(self, command: str, **parameters: object):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width: int, height: int) -> None:
        self.cdp(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def scheme(self, name: str) -> None:
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def console(self) -> list[str]:
        """The browser's complaints since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def close(self) -> None:
        with contextlib.suppress(AssertionError, OSError):
            self._call("DELETE", "")
        self._driver.terminate()
        self._driver.wait()
        self._driver.stdout.close()
        self._profile.cleanup()
