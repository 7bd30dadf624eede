# SPDX-License-Identifier: Apache-2.0
"""Random faults of a cluster, from a seed: cut links, killed gateways and NATS servers."""

import asyncio
import contextlib
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable

from support import Cluster, Host, NatsServer, Relay

SEED = int(os.environ.get("TRIBUNE_CLUSTER_SEED", random.randrange(1 << 32)))


class Faults:
    """One fault after another, each for a while. Every kind occurs before one is repeated."""

    def __init__(self, cluster: Cluster, *kinds: str) -> None:
        print(f"TRIBUNE_CLUSTER_SEED={SEED}")
        self._cluster = cluster
        self._chance = random.Random(SEED)
        self._kinds = kinds
        self.counts: Counter[str] = Counter()

    async def run(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Continues until `is_over` and each kind has occurred. Everything is mended at the end."""
        while not is_over() or len(self.counts) < len(set(self._kinds)):
            for kind in self._chance.sample(self._kinds, len(self._kinds)):
                if is_over() and self.counts[kind]:
                    continue
                await asyncio.sleep(self._chance.uniform(0.1, 1))
                await getattr(self, kind)()
                self.counts[kind] += 1

    @contextlib.asynccontextmanager
    async def continuing(self) -> AsyncIterator[None]:
        """Continues during a block, and fails if a fault could not be made or mended."""
        faults = asyncio.create_task(self.run())
        try:
            yield
        finally:
            faults.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await faults

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.uniform(0, 2))

    async def _sever(self, *relays: Relay) -> None:
        for relay in relays:
            await relay.sever()
        await self._pause()
        for relay in relays:
            await relay.mend()

    async def _silence(self, *relays: Relay) -> None:
        for relay in relays:
            relay.silence()
        await self._pause()
        for relay in relays:
            await relay.mend()

    async def _kill_servers(self, *servers: NatsServer) -> None:
        for server in servers:
            await server.end()
        await self._pause()
        await asyncio.gather(*(server.start() for server in servers))

    def _host(self) -> Host:
        return self._chance.choice(self._cluster.hosts)

    async def sever_host(self) -> None:
        await self._sever(*self._cluster.links[self._host().name])

    async def silence_host(self) -> None:
        await self._silence(*self._cluster.links[self._host().name])

    async def sever_link(self) -> None:
        await self._sever(self._chance.choice(self._cluster.links[self._host().name]))

    async def sever_route(self) -> None:
        await self._sever(self._chance.choice(self._cluster.routes))

    async def silence_route(self) -> None:
        await self._silence(self._chance.choice(self._cluster.routes))

    async def kill_server(self) -> None:
        await self._kill_servers(self._chance.choice(self._cluster.servers))

    async def kill_all_servers(self) -> None:
        await self._kill_servers(*self._cluster.servers)

    async def kill_gateway(self) -> None:
        await self._kill_gateway(self._host())

    async def _kill_gateway(self, host: Host) -> None:
        await host.gateway.end()
        await self._pause()
        await host.start_gateway()
