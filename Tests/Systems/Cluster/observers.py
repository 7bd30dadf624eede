# SPDX-License-Identifier: Apache-2.0
"""Observers on a host."""

import asyncio
from collections import Counter

import tribune

INTERRUPTED = "cluster.link.didInterrupt"
CONNECTED = "cluster.link.didConnect"


class Watch:
    """The userInfo that a host's observer receives, in order."""

    def __init__(self, bus: tribune.Bus, pattern: str = "t.**", *, retained: bool = False) -> None:
        self._observation = bus.observe(pattern, limit=1 << 20, retained=retained)
        self.texts: list[str] = []

    async def start(self) -> "Watch":
        await self._observation.__aenter__()
        return self

    async def until(self, *markers: str) -> list[str]:
        """Everything received so far, once all markers have arrived."""
        missing = set(markers) - set(self.texts)
        while missing:
            delivery = await anext(self._observation)
            assert isinstance(delivery, tribune.Notification), delivery
            self.texts.append(delivery.text)
            missing.discard(delivery.text)
        return self.texts


async def watch(bus: tribune.Bus) -> Watch:
    return await Watch(bus).start()


class Ledger:
    """What a host has received from each other host, and the losses that its gateway reported.

    A notification's userInfo is the host, a space and a number, and perhaps another space and more text.

    Ledgers with the same `news` have the same `changes`.
    """

    def __init__(
        self,
        name: str,
        bus: tribune.Bus,
        news: asyncio.Condition | None = None,
        patterns: tuple[str, ...] = ("t.**", INTERRUPTED, CONNECTED),
    ) -> None:
        self.name = name
        self.bus = bus
        self.arrived: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        # Reported losses of unknown size, by host or "any".
        self.unknown: Counter[str] = Counter()
        self.last: dict[tuple[str, str], int] = {}
        self._newest: dict[str, int] = {}
        self._news = news or asyncio.Condition()
        self._observation = bus.observe(*patterns, limit=1 << 20)

    async def start(self) -> None:
        """Begins to observe: later posts are not missed."""
        await self._observation.__aenter__()

    async def watch(self) -> None:
        async for delivery in self._observation:
            assert isinstance(delivery, tribune.Notification), delivery
            async with self._news:
                self._take(delivery)
                self._news.notify_all()

    def _take(self, news: tribune.Notification) -> None:
        if news.name == CONNECTED:
            # A new gateway cannot count its misses.
            self.unknown["any"] += 1
        elif news.name != INTERRUPTED:
            host, number, *_ = news.text.split(" ", 2)
            newest = self._newest.get(host, -1)
            assert int(number) > newest, f"{self.name} got {news} behind {newest}"
            self._newest[host] = self.last[host, news.name] = int(number)
            self.arrived[host] += 1
        else:
            loss = news.json()
            if "lost" in loss:
                self.lost[loss["host"]] += loss["lost"]
            else:
                self.unknown[loss.get("host", "any")] += 1

    def unknowns(self, host: str) -> int:
        return self.unknown[host] + self.unknown["any"]

    async def changes(self) -> None:
        async with self._news:
            await self._news.wait()


async def next_named(observation: tribune.Observation, name: str) -> tribune.Notification:
    async for delivery in observation:
        if isinstance(delivery, tribune.Notification) and delivery.name == name:
            return delivery
    raise AssertionError("the observation has ended")


async def next_lost(observation: tribune.Observation, host: str) -> int:
    while True:
        loss = (await next_named(observation, INTERRUPTED)).json()
        if loss.get("host") == host and "lost" in loss:
            return loss["lost"]
