# SPDX-License-Identifier: Apache-2.0
"""The party of PartiesTests, through Varlink."""

import itertools
import os
import sys
import threading

import varlink


def say(*words: object) -> None:
    """Prints a line with one write, because two threads print."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def answer(client: varlink.Client, is_ready: threading.Event) -> None:
    with client.open("io.tribune.Bus") as delegate, client.open("io.tribune.Bus") as answering:
        for event in delegate.Delegate(_more=True, names=["varlink.shouldAct"], label="varlink"):
            if event["kind"] == "ready":
                is_ready.set()
            if event["kind"] != "question":
                continue
            number = event["userInfo"]["number"]
            say("answer", event["userInfo"]["asker"], number)
            if number % 2:
                decision = {"answer": "veto", "reason": f"varlink vetoes {number}"}
            else:
                decision = {"answer": "approve"}
            answering.Answer(ticket=event["ticket"], **decision)


def main() -> None:
    is_ready = threading.Event()
    with (
        varlink.Client(address=os.environ["TRIBUNE_VARLINK"]) as client,
        client.open("io.tribune.Bus") as asker,
    ):
        threading.Thread(target=answer, args=(client, is_ready), daemon=True).start()
        is_ready.wait()
        say("ready")
        others = enumerate(itertools.cycle(sys.argv[1:]))
        for line in sys.stdin:
            for number, other in itertools.islice(others, int(line)):
                reply = asker.Ask(
                    name=f"{other}.shouldAct", userInfo={"asker": "varlink", "number": number}
                )
                reasons = [
                    outcome["reason"] for outcome in reply["outcomes"] if "reason" in outcome
                ]
                say("verdict", other, number, *reasons)
            say("asked")


main()
