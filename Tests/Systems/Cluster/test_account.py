# SPDX-License-Identifier: Apache-2.0
"""Questions and notifications under faults of links, gateways and servers: the accounts must add up."""

import asyncio
import os
import random
import time
from collections import Counter

import tribune

from faults import SEED, Faults
from observers import Ledger
from questions import NAME, QUERY, until_allowed
from support import Cluster, Host, lasting

# Seconds and posts that must both be reached.
SECONDS = float(os.environ.get("TRIBUNE_CLUSTER_SECONDS", "20"))
POSTS = int(os.environ.get("TRIBUNE_CLUSTER_POSTS", "100000"))
ASKS = POSTS // 100
POSTS_PER_SECOND = 3_000
BATCH = 10
TOPICS = ("t.a", "t.b")
SECTIONS = f'[Export "t.**"]\n[Import "t.**"]\n{QUERY}'


class Posts:
    """All posts of the hosts, and their fate on each other host."""

    def __init__(self, names: list[str], buses: list[tribune.Bus]) -> None:
        self.ledgers = [Ledger(name, bus) for name, bus in zip(names, buses, strict=True)]
        self.count: Counter[str] = Counter()
        self._last: dict[tuple[str, str], int] = {}
        self._written_off: Counter[tuple[str, str]] = Counter()
        self._turn = asyncio.Lock()

    async def _post(self, ledger: Ledger, topic: str) -> None:
        number = self.count[ledger.name]
        self.count[ledger.name] += 1
        self._last[ledger.name, topic] = number
        await ledger.bus.post(topic, f"{ledger.name} {number}".encode())

    async def keep_posting(self, ledger: Ledger) -> None:
        pause = BATCH * len(self.ledgers) / POSTS_PER_SECOND
        while True:
            async with self._turn:
                for index in range(BATCH):
                    await self._post(ledger, TOPICS[index % 3 % 2])
            await asyncio.sleep(pause)

    @property
    def total(self) -> int:
        return self.count.total()

    def _missing(self, there: Ledger, here: Ledger) -> int:
        """How many of a host's notifications another host neither received nor counted as lost."""
        missing = self.count[there.name] - here.arrived[there.name] - here.lost[there.name]
        assert missing >= 0, f"{there.name} -> {here.name}: more were counted as lost than were"
        return missing

    def _is_settled(self, there: Ledger, here: Ledger, unknowns: dict[tuple[str, str], int]) -> bool:
        lasts = [(there.name, topic) for topic in TOPICS]
        if any(self._last[last] != here.last.get(last) for last in lasts):
            return False
        pair = (there.name, here.name)
        missing = self._missing(there, here)
        if missing <= self._written_off[pair]:
            return True
        if pair not in unknowns or here.unknowns(there.name) == unknowns[pair]:
            return False
        self._written_off[pair] = missing
        return True

    def unknowns(self, killed: str) -> dict[tuple[str, str], int]:
        """The reports of unknown losses so far, for each pair with the killed host."""
        return {
            # If NATS runs before the bus, a new gateway is not announced.
            (there.name, here.name): -1 if here.name == killed else here.unknowns(there.name)
            for there, here in self._pairs()
            if killed in (there.name, here.name)
        }

    def _pairs(self) -> list[tuple[Ledger, Ledger]]:
        return [(there, here) for there in self.ledgers for here in self.ledgers if there is not here]

    async def settle(self, unknowns: dict[tuple[str, str], int] | None = None) -> None:
        """Posts until each host has each other host's last notification, and has counted the missing ones.

        - `unknowns`: pairs that may lack uncounted notifications once they report more unknown losses than this.
        """
        async with self._turn:
            open_pairs = self._pairs()
            while open_pairs:
                for ledger in self.ledgers:
                    for topic in TOPICS:
                        await self._post(ledger, topic)
                try:
                    # Before a link or route exists, posts are lost: retry.
                    async with asyncio.timeout(3):
                        for there, here in self._pairs():
                            while not self._is_settled(there, here, unknowns or {}):
                                await here.changes()
                    return
                except TimeoutError:
                    open_pairs = [pair for pair in open_pairs if not self._is_settled(*pair, unknowns or {})]

    def report(self) -> None:
        for there, here in self._pairs():
            pair = (there.name, here.name)
            assert here.arrived[pair[0]] > self.count[pair[0]] // 4
            print(
                f"{pair[0]} -> {pair[1]}: {self.count[pair[0]]} posted, {here.arrived[pair[0]]} arrived,"
                f" {here.lost[pair[0]]} counted as lost, {self._written_off[pair]} lost with a gateway"
            )


class Questions:
    """Simultaneous questions of all hosts. Now and then, a host vetoes them."""

    def __init__(self, names: list[str], buses: list[tribune.Bus]) -> None:
        self._buses = dict(zip(names, buses, strict=True))
        self._approved: dict[str, set[int]] = {name: set() for name in names}
        self._vetoing: str | None = None
        self._chance = random.Random(SEED)
        self.count = 0
        self.allowed = 0

    async def attach(self) -> None:
        for name, bus in self._buses.items():
            await bus.attach(self._delegate(name), NAME, label="local")

    def _delegate(self, name: str):
        async def answer(question: tribune.Question) -> tribune.Answer:
            if name == self._vetoing:
                return tribune.Veto("not now")
            self._approved[name].add(question.json()["number"])
            return True

        return answer

    async def keep_asking(self) -> None:
        while True:
            self._vetoing = self._chance.choice(list(self._buses)) if self._chance.random() < 0.3 else None
            await asyncio.gather(*(self._ask(bus) for bus in self._buses.values()))

    async def _ask(self, bus: tribune.Bus) -> None:
        number = self.count
        self.count += 1
        verdict = await bus.ask(NAME, {"number": number}, deadline=8)
        if verdict:
            self.allowed += 1
            assert self._vetoing is None, (number, verdict)
            silent = [name for name, numbers in self._approved.items() if number not in numbers]
            assert not silent, (number, silent, verdict)

    async def are_allowed_again(self, hosts: list[Host]) -> None:
        self._vetoing = None
        await asyncio.gather(*(until_allowed(host, '{"number":-1}') for host in hosts))


class AccountedFaults(Faults):
    """Faults that settle the account after the death of a gateway, whose counts are lost."""

    def __init__(self, cluster: Cluster, posts: Posts, *kinds: str) -> None:
        super().__init__(cluster, *kinds)
        self._posts = posts

    async def kill_gateway(self) -> None:
        host = self._host()
        unknowns = self._posts.unknowns(host.name)
        await self._kill_gateway(host)
        await host.wait_for_status("all hosts are there")
        await self._posts.settle(unknowns)


@lasting(900)
async def test_the_accounts_of_posts_and_questions_add_up_whatever_is_cut_and_killed(cluster: Cluster) -> None:
    names = [f"db{number}" for number in range(1, 4 + SEED % 3)]
    await cluster.three_servers()
    hosts = []
    for name in names:
        host = Host(cluster.folder, name, await cluster.link(name), " ".join(names), SECTIONS, "HostTimeoutSec=1s")
        # A gateway that does not run cannot veto, so its absence has to.
        host.require("host:db1" if name != "db1" else "host:db2")
        hosts.append(host)
    await cluster.add(*hosts)
    posts = Posts(names, [await cluster.connect(host) for host in hosts])
    questions = Questions(names, [await cluster.connect(host) for host in hosts])
    await questions.attach()
    faults = AccountedFaults(
        cluster,
        posts,
        "sever_host",
        "silence_host",
        "sever_link",
        "sever_route",
        "silence_route",
        "kill_server",
        "kill_all_servers",
        "kill_gateway",
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ledger.watch()) for ledger in posts.ledgers]
        # A host cannot miss notifications before the first one of their name.
        await posts.settle()
        tasks += [group.create_task(posts.keep_posting(ledger)) for ledger in posts.ledgers]
        tasks.append(group.create_task(questions.keep_asking()))
        began = time.monotonic()
        await faults.run(
            lambda: time.monotonic() - began >= SECONDS and posts.total >= POSTS and questions.count >= ASKS
        )
        seconds = time.monotonic() - began
        await posts.settle()
        tasks.pop().cancel()
        await questions.are_allowed_again(hosts)
        for task in tasks:
            task.cancel()
    posts.report()
    print(f"{len(names)} hosts, {posts.total} posts, {questions.count} questions in {seconds:.0f} s")
    print(f"{questions.allowed} allowed; {faults.counts.total()} faults: {dict(faults.counts)}")
    assert questions.allowed > ASKS // 20
