# SPDX-License-Identifier: Apache-2.0
"""Askers and delegates of the whole cluster's questions."""

import asyncio

import tribune

from support import DEADLINE, PROGRAMS, Host, Program

QUERY = '[Query "cluster.**"]\nScope=cluster\n'
NAME = "cluster.shouldReboot"


async def approving(question: tribune.Question) -> tribune.Answer:
    return True


async def vetoing(question: tribune.Question) -> tribune.Answer:
    return tribune.Veto(f"no {question.name} of {question.object}")


class Hanging:
    """A delegate that defers by ten minutes, and never answers."""

    def __init__(self) -> None:
        self.asked, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self, question: tribune.Question) -> tribune.Answer:
        question.defer(600, "thinking")
        self.asked.set()
        try:
            return await asyncio.Future()
        finally:
            self.ended.set()


async def progress_of_flushing(
    asker: tribune.Bus, asked: str, answerer: tribune.Bus, name: str
) -> list[tuple[str, str]]:
    """The progress that an asker gets of "postgres", which defers beyond HostTimeoutSec=, and approves."""
    released = asyncio.Event()

    async def slow(question: tribune.Question) -> tribune.Answer:
        question.defer(30, "flushing")
        await released.wait()
        return True

    await answerer.attach(slow, name, label="postgres")
    seen: list[tuple[str, str]] = []

    def progress(news: tribune.Progress) -> None:
        seen.append((news.label, news.status))
        if "flushing" in news.status:
            asyncio.get_running_loop().call_later(2, released.set)

    assert await asker.ask(asked, progress=progress)
    return seen


def outcomes(verdict: tribune.Verdict) -> dict[str, tuple[str, str]]:
    return {outcome.label: (outcome.kind.value, outcome.reason) for outcome in verdict.outcomes}


def patient(host: Host, *user_info: str) -> Program:
    """A tribunectl that asks until it is allowed."""
    environment = {"TRIBUNE_ADDRESS": host.address}
    return Program(PROGRAMS / "tribunectl", "ask", NAME, *user_info, "--wait-until-allowed", environment=environment)


async def until_allowed(host: Host, *user_info: str) -> None:
    """Waits until all hosts are there and the question is allowed."""
    await host.wait_for_status("all hosts are there")
    program = patient(host, *user_info)
    await program.start()
    try:
        async with asyncio.timeout(2 * DEADLINE):
            assert await program.process.wait() == 0, program.lines
    finally:
        await program.end()
