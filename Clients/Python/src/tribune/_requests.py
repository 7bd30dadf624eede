# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for the bus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from . import _wire
from ._callbacks import ignore
from ._errors import TribuneError, violation
from ._messages import Progress
from ._registrations import ActionTerm

# The limit of a list, in bytes of all its frames.
LIST_MAX: Final = 256 << 20


class Request:
    """A request that waits for the bus's reply."""

    __slots__ = (
        "_length",
        "action",
        "deadline",
        "entries",
        "future",
        "is_taking_back",
        "progress",
        "since",
        "timer",
    )

    def __init__(self, future: asyncio.Future[Any], deadline: int | None, since: float) -> None:
        self.future = future
        #: The deadline in milliseconds; 0 for the bus's default, None for no deadline.
        self.deadline = deadline
        self.since = since
        self.timer: asyncio.TimerHandle | None = None
        self.progress: Callable[[Progress], object] | None = None
        self.entries: list[_wire.Entry] | None = None
        self._length = 0
        self.is_taking_back = False
        #: The action that begins if the verdict allows it.
        self.action: ActionTerm | None = None

    def add(self, entry: _wire.Entry, length: int) -> None:
        """Adds an item of a list. `length` is the length of the frame with the item.

        Raises `TribuneError` if the list is too long.
        """
        if self.entries is None:
            return
        self._length += length
        if self._length > LIST_MAX:
            raise violation(f"the bus sends a list of over {LIST_MAX} bytes")
        self.entries.append(entry)

    async def outlasting_caller(self) -> None:
        """Waits for the reply. If the task is cancelled, the request goes on."""
        self.future.add_done_callback(ignore)
        await asyncio.shield(self.future)

    def settle(self, result: Any = None, error: TribuneError | None = None) -> None:
        """Resumes the caller with the result or the error."""
        if self.timer is not None:
            self.timer.cancel()
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)
