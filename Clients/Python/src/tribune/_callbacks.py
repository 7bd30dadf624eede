# SPDX-License-Identifier: Apache-2.0
"""Calls what programs have passed, so that its mistakes stay its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

_Argument = TypeVar("_Argument")


def report(message: str, error: BaseException) -> None:
    """Reports an exception that nobody else can receive, as asyncio reports those of callbacks."""
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})


def ignore(future: asyncio.Future[Any]) -> None:
    """Takes the exception of a future that perhaps nobody waits for, which asyncio would log."""
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
