# SPDX-License-Identifier: Apache-2.0
"""Calls the callbacks of programs, and reports their exceptions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

_Argument = TypeVar("_Argument")


def report(message: str, error: BaseException) -> None:
    """Reports an exception that no caller receives, as asyncio does for callbacks."""
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})


def ignore(future: asyncio.Future[Any]) -> None:
    """Marks a future's exception as retrieved. Otherwise, asyncio might log the exception."""
    if not future.cancelled():
        future.exception()


def call(callback: Callable[[_Argument], object] | None, argument: _Argument) -> None:
    """Calls a program's callback, if there is one."""
    if callback is None:
        return
    try:
        callback(argument)
    except Exception as error:
        report(f"the callback {callback!r} failed", error)
