# SPDX-License-Identifier: Apache-2.0
"""Lists and monitors, with a real bus."""

from __future__ import annotations

import os

import pytest
from conftest import RunningBus

from tribune import Answer, Code, Question, Suspension, Traffic, TribuneError

DEFINITION = """
# What a view asks.
protocol ListedView { required should listed.shouldClose (force: bool) }
"""


async def approve(question: Question) -> Answer:
    return True


async def test_the_bus_lists_what_is_registered(bus: RunningBus) -> None:
    async with bus.connect() as one:
        async with (
            one.observe("listed.*", object="x", suspension=Suspension.HOLD, awaited=True),
            one.hold("listed.shouldStop", why="busy", label="me", expires_in=60) as hold,
            one.declare("view/listed", "ListedView", DEFINITION),
            await one.attach(
                approve,
                "listed.shouldClose",
                object="view/listed",
                order=-3,
                timeout=2.5,
                label="closer",
                protocols=["ListedView"],
            ) as attachment,
        ):
            own = await one.own()
            assert (own.id, own.observations, own.delegates) == (one.id, 1, 1)
            assert own.peer.pid == os.getpid()
            assert own in await one.connections() or own.age > 0
            observations = [o for o in await one.observations() if o.connection == one.id]
            assert [(o.pattern, o.object, o.suspension, o.is_awaited) for o in observations] == [
                ("listed.*", "x", Suspension.HOLD, True)
            ]
            (held,) = [h for h in await one.holds() if h.id == hold.id]
            assert (held.pattern, held.why, held.label) == ("listed.shouldStop", "busy", "me")
            assert held.remaining is not None
            assert 0 < held.remaining <= 60
            (delegate,) = [d for d in await one.delegates() if d.id == attachment.id]
            assert (delegate.order, delegate.timeout, delegate.label) == (-3, 2.5, "closer")
            assert delegate.patterns == ("listed.shouldClose",)
            (declared,) = [o for o in await one.objects() if o.object == "view/listed"]
            assert (declared.protocol, declared.connection) == ("ListedView", one.id)
            (protocol,) = [p for p in await one.protocols() if p.name == "ListedView"]
            assert (protocol.members, protocol.documentation) == (1, "What a view asks.")
            (member,) = await one.introspect("view/listed")
            assert (member.kind, member.is_required) == ("should", True)
            assert member.name == "listed.shouldClose"
            explanation = await one.explain("listed.shouldClose", "view/listed")
            assert [d.id for d in explanation.delegates] == [attachment.id]
            assert explanation.protocol == "ListedView"
            assert [h.id for h in (await one.explain("listed.shouldStop")).holds] == [hold.id]
        status = await one.status()
        assert status.pid == one.info.pid
        assert status.uptime > 0
        assert {account.resource for account in await one.accounts()} >= {"connections", "queues"}
        decision = await one.policy_decision("hold", "listed.*", connection=one.id)
        assert decision.is_allowed
        assert decision.uid == os.getuid()


async def test_a_connection_that_has_gone_is_listed(bus: RunningBus) -> None:
    async with bus.connect() as one:
        async with bus.connect() as other:
            identity = other.id
        assert identity in [gone.id for gone in await one.departed()]


async def test_what_is_not_there_cannot_be_introspected(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.introspect("NoSuchProtocol")
        assert caught.value.code in (Code.NOT_FOUND, Code.UNKNOWN_PROTOCOL)
        with pytest.raises(TribuneError):
            await one.policy_decision("hold", "a", connection="nobody")


async def test_definitions_with_mistakes_say_where(bus: RunningBus) -> None:
    async with bus.connect() as one:
        with pytest.raises(TribuneError) as caught:
            await one.define("protocol X {\n  nonsense\n}").make()
        assert caught.value.code is Code.INVALID_PROTOCOL
        assert caught.value.message.startswith("2:")


async def test_a_monitor_sees_what_passes(bus: RunningBus) -> None:
    async with bus.connect() as one, bus.connect() as other:
        async with one.monitor("seen.**") as monitor:
            await other.post("seen.post", b"text", object="x")
            await other.ask("seen.shouldAct")
            found = [await anext(monitor) for _ in range(3)]
        shown = [
            (frame.kind, frame.name, frame.object, frame.payload, frame.sender)
            for frame in found
            if isinstance(frame, Traffic)
        ]
        assert shown == [
            ("post", "seen.post", "x", b"text", other.id),
            ("ask", "seen.shouldAct", "", b"", other.id),
            ("verdict", "", "", b"", None),
        ]
