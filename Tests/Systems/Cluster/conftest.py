# SPDX-License-Identifier: Apache-2.0

import asyncio
import functools
import inspect
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support import DEADLINE, Cluster


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "any_server: depends on what a server of NATS can do")


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> None:
    """Runs coroutine functions as tests."""
    if name.startswith("test_") and inspect.iscoroutinefunction(obj):
        setattr(collector.obj, name, _run(obj))


def _run(function: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    async def bounded(cluster: Cluster, named: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(getattr(function, "seconds_max", 3 * DEADLINE)):
                await function(cluster, **named)
        except BaseException:
            for host in cluster.hosts:
                print(f"--- {host.name} ({host.status})", *host.gateway.lines[-40:], sep="\n")
            for server in cluster.servers:
                print(f"--- server at {server.port}", *server.program.lines[-20:], sep="\n")
            raise
        finally:
            await cluster.end()

    @functools.wraps(function)
    def run(cluster: Cluster, **named: Any) -> None:
        asyncio.run(bounded(cluster, named))

    return run


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(Path(tempfile.mkdtemp(prefix="tribune-")))
