# SPDX-License-Identifier: Apache-2.0
"""Many questions and notifications while links are cut, gateways killed and servers restarted: accounts must add up."""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Callable

import tribune

from support import Cluster, Host, Relay

# One of these numbers makes the same cuts in the same order again.
SEED = int(os.environ.get("TRIBUNE_CLUSTER_SEED", random.randrange(1 << 32)))
SECONDS = float(os.environ.get("TRIBUNE_CLUSTER_SECONDS", "20"))
NAMES = ("db1", "db2", "db3")
SECTIONS = '[Export "t.**"]\n[Import "t.**"]\n[Query "cluster.**"]\nScope=cluster\n'


class Faults:
    """Cuts links and kills programs, each for a while."""

    def __init__(self, cluster: Cluster, seed: int, *, kills: bool) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._kills = kills
        self.count = 0

    async def run(self, until: float) -> None:
        kinds = [self._sever, self._silence]
        if self._kills:
            kinds += [self._kill_gateway, self._restart_server]
        while time.monotonic() < until:
            await asyncio.sleep(self._random.uniform(0.2, 1.5))
            await self._random.choice(kinds)()
            self.count += 1

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.uniform(0.1, 3))

    def _relay(self) -> Relay:
        return self._random.choice(self._cluster.relays)

    async def _sever(self) -> None:
        relay = self._relay()
        await relay.sever()
        await self._pause()
        await relay.mend()

    async def _silence(self) -> None:
        relay = self._relay()
        relay.silence()
        await self._pause()
        await relay.mend()

    async def _kill_gateway(self) -> None:
        host = self._random.choice(self._cluster.hosts)
        await host.gateway.end()
        await self._pause()
        await host.start_gateway()

    async def _restart_server(self) -> None:
        server = self._cluster.servers[0]
        await server.end()
        await self._pause()
        await server.start()


async def make(cluster: Cluster, options: str) -> list[tribune.Bus]:
    server = await cluster.server()
    hosts = []
    for name in NAMES:
        relay = await cluster.relay(server.port)
        hosts.append(Host(cluster.folder, name, relay.port, " ".join(NAMES), SECTIONS, options))
        # A gateway that does not run cannot veto, so its absence has to.
        hosts[-1].require("host:db1" if name != "db1" else "host:db2")
    await cluster.add(*hosts)
    return [await cluster.connect(host) for host in hosts]


async def test_nothing_is_allowed_that_a_host_has_not_approved(cluster: Cluster) -> None:
    print("seed", SEED)
    buses = await make(cluster, "HostTimeoutSec=1s")
    # The numbers of the questions that each host has approved.
    approved: dict[str, set[int]] = {name: set() for name in NAMES}
    vetoing: set[str] = set()
    choice = random.Random(SEED)

    def delegate(name: str):
        async def answer(question: tribune.Question) -> tribune.Answer:
            number = question.json()["number"]
            if name in vetoing:
                return tribune.Veto("not now")
            approved[name].add(number)
            return True

        return answer

    for name, bus in zip(NAMES, buses, strict=True):
        await bus.attach(delegate(name), "cluster.**", label="local")
    until = time.monotonic() + SECONDS
    faults = Faults(cluster, SEED, kills=True)
    cutting = asyncio.create_task(faults.run(until))
    verdicts: Counter[bool] = Counter()
    number = 0
    while time.monotonic() < until or number == 0:
        vetoing.clear()
        if choice.random() < 0.3:
            vetoing.add(choice.choice(NAMES))
        numbers = range(number, number + 3)
        number += 3
        asks = [
            bus.ask("cluster.shouldReboot", {"number": index}, deadline=8)
            for index, bus in zip(numbers, buses, strict=True)
        ]
        for index, verdict in zip(numbers, await asyncio.gather(*asks), strict=True):
            verdicts[bool(verdict)] += 1
            if verdict:
                assert not vetoing, (index, verdict)
                assert all(index in approved[name] for name in NAMES), (index, verdict)
    await cutting
    print(number, "questions", dict(verdicts), faults.count, "faults")
    for host in cluster.hosts:
        await host.wait_for_status("all hosts are there")
    vetoing.clear()
    for bus in buses:
        while not await bus.ask("cluster.shouldReboot", {"number": -1}):
            continue


class Account:
    """What a host has received of each other one, and what it knows to have missed."""

    def __init__(self, name: str, bus: tribune.Bus) -> None:
        self._name = name
        self._bus = bus
        self.received: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.watching = asyncio.Event()
        self._news = asyncio.Condition()

    async def watch(self) -> None:
        async with self._bus.observe("t.**", "cluster.link.didInterrupt") as observation:
            self.watching.set()
            async for delivery in observation:
                assert isinstance(delivery, tribune.Notification), delivery
                async with self._news:
                    self._take(delivery)
                    self._news.notify_all()

    def _take(self, news: tribune.Notification) -> None:
        if news.name != "cluster.link.didInterrupt":
            self.received[news.text] += 1
            return
        loss = news.json()
        if "lost" in loss and loss["host"] != self._name:
            self.lost[loss["host"]] += loss["lost"]

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        async with self._news:
            await self._news.wait_for(condition)

    def arrived(self, name: str) -> int:
        return sum(text.startswith(f"{name} ") for text in self.received)


async def test_each_notification_arrives_once_or_is_counted(cluster: Cluster) -> None:
    print("seed", SEED)
    buses = await make(cluster, "")
    accounts = [Account(name, bus) for name, bus in zip(NAMES, buses, strict=True)]
    watching = [asyncio.create_task(account.watch()) for account in accounts]
    for account in accounts:
        await account.watching.wait()
    posted: Counter[str] = Counter()

    async def post(topics: str) -> None:
        for name, bus in zip(NAMES, buses, strict=True):
            for topic in topics:
                await bus.post(f"t.{topic}", f"{name} {topic} {posted[name]}")
                posted[name] += 1

    # What comes before the first notification of a name that a host has seen, it cannot miss.
    await post("ab")
    for account in accounts:
        await account.wait_for(lambda account=account: len(account.received) == 2 * len(NAMES))
    until = time.monotonic() + SECONDS
    faults = Faults(cluster, SEED, kills=False)
    cutting = asyncio.create_task(faults.run(until))
    while time.monotonic() < until:
        await post("aab")
        # Lets the others have their turn.
        await asyncio.sleep(0.001)
    await cutting
    for host in cluster.hosts:
        await host.wait_for_status("all hosts are there")
    # The last of each name shows what is missing before it.
    await post("ab")
    for account, here in zip(accounts, NAMES, strict=True):
        for there in NAMES:
            if there != here:
                await account.wait_for(
                    lambda account=account, there=there: account.arrived(there) + account.lost[there] >= posted[there]
                )
                arrived, lost = account.arrived(there), account.lost[there]
                print(f"{there} -> {here}: {posted[there]} posted, {arrived} arrived, {lost} lost")
                assert arrived + lost == posted[there]
        assert set(account.received.values()) == {1}, "a notification came twice"
    print(faults.count, "faults")
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
