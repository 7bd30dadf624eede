# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for the bus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from . import _wire
from ._errors import TribuneError
from ._messages import Progress


class Request:
    """A request that waits for the bus's reply."""

    __slots__ = (
        "deadline",
        "entries",
        "future",
        "is_taking_back",
        "progress",
        "since",
        "timer",
    )

    def __init__(self, future: asyncio.Future[Any], deadline: int, since: float) -> None:
        self.future = future
        #: Milliseconds; 0 for none.
        self.deadline = deadline
        #: When its deadline began.
        self.since = since
        #: Fails it at its deadline, while it waits for a bus.
        self.timer: asyncio.TimerHandle | None = None
        self.progress: Callable[[Progress], object] | None = None
        #: The items of a list that have come.
        self.entries: list[_wire.Entry] | None = None
        #: Whether it takes a registration back, which the end of the connection does, too.
        self.is_taking_back = False

    def settle(self, result: Any = None, error: TribuneError | None = None) -> None:
        """Resumes the caller."""
        if self.timer is not None:
            self.timer.cancel()
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)
