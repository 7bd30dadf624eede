# SPDX-License-Identifier: Apache-2.0
"""Busy programs on the bus, with the Python client."""

import asyncio
import contextlib
import sys

from support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "Clients/Python/src"))
import tribune


async def ask(address: str, count: int) -> None:
    """Asks `count` times, 50 at a time."""
    async with tribune.connect(address) as bus:

        async def ask_some() -> None:
            for _ in range(count // 50):
                await bus.ask("a.shouldRun", object="object/1", user_info={"number": 1})

        await asyncio.gather(*(ask_some() for _ in range(50)))


async def ask_with_reasons(address: str, count: int) -> None:
    """Asks `count` times, each with 8 KiB of reasons in the verdict."""
    async with tribune.connect(address) as bus, contextlib.AsyncExitStack() as holds:
        for number in range(8):
            await holds.enter_async_context(bus.hold("a.shouldRun", why="w" * 1024, label=f"hold {number}"))
        await ask(address, count)


async def ask_awkward_delegates(address: str, count: int) -> None:
    """Asks `count` delegates with long and awkward labels."""
    async with tribune.connect(address) as bus:

        async def approve(_: tribune.Question) -> bool:
            return True

        for number in range(count):
            label = f'{number} "\\}}\n\r\0\u2028' + "ü" * 115
            await bus.attach(approve, "a.shouldRun", label=label)
        assert await bus.ask("a.shouldRun")


async def ask_many(address: str, count: int, is_over: asyncio.Event) -> bool:
    """Asks `count` delegates, which answer after `is_over`. Returns whether it is allowed."""
    async with tribune.connect(address) as bus:

        async def approve(_: tribune.Question) -> bool:
            await is_over.wait()
            return True

        for number in range(count):
            await bus.attach(approve, "many.shouldRun", label=f"delegate {number}", timeout=60)
        return bool(await bus.ask("many.shouldRun", deadline=60))
