# SPDX-License-Identifier: Apache-2.0

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import Browser, Bus, Web


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "keeper: the bus has a keeper, so that it survives its death")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short path, as a socket's must be short."""
    with tempfile.TemporaryDirectory(prefix="tribune-") as folder:
        yield Path(folder)


@pytest.fixture
def bus(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bus]:
    bus = Bus(tmp_path, has_keeper=request.node.get_closest_marker("keeper") is not None)
    yield bus
    bus.end()


@pytest.fixture
def start(tmp_path: Path, bus: Bus) -> Iterator[Callable[[str], Web]]:
    """Starts tribune-web with a configuration."""
    started: list[Web] = []

    def start(configuration: str = "") -> Web:
        web = Web(tmp_path, bus.address, configuration)
        started.append(web)
        web.wait_for_log("connected to the bus")
        return web

    yield start
    for web in started:
        web.stop()


@pytest.fixture
def web(start: Callable[[], Web]) -> Web:
    return start()


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(shared_browser: Browser) -> Browser:
    shared_browser.open("about:blank")
    shared_browser.console()
    shared_browser.size(1280, 1000)
    shared_browser.scheme("light")
    return shared_browser
