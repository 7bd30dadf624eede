# SPDX-License-Identifier: Apache-2.0
"""The party of PartiesTests, in Python."""

import asyncio
import itertools
import sys

import tribune


async def main() -> None:
    async with tribune.connect() as bus:

        @bus.delegate("python.shouldAct", label="python")
        async def decide(question: tribune.Question) -> tribune.Answer:
            asker, number = question.json()["asker"], question.json()["number"]
            print("answer", asker, number, flush=True)
            return tribune.Veto(f"python vetoes {number}") if number % 2 else True

        await decide.ready()
        print("ready", flush=True)
        others = enumerate(itertools.cycle(sys.argv[1:]))
        while line := await asyncio.to_thread(sys.stdin.readline):
            for number, other in itertools.islice(others, int(line)):
                verdict = await bus.ask(f"{other}.shouldAct", {"asker": "python", "number": number})
                reasons = [outcome.reason for outcome in verdict.outcomes]
                print("verdict", other, number, *filter(None, reasons), flush=True)
            print("asked", flush=True)


asyncio.run(main())
