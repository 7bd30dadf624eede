# SPDX-License-Identifier: Apache-2.0
"""The frames that a connection has not written yet."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from tribune._outbox import Outbox, Written


class Scarce:
    """A socket whose kernel lacks something once."""

    def __init__(self, code: int) -> None:
        self._code = code
        self.received = b""

    def send(self, frames: bytes, _: int) -> int:
        code, self._code = self._code, 0
        if code:
            raise OSError(code, os.strerror(code))
        self.received += frames
        return len(frames)


@pytest.mark.parametrize("code", [errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS])
def test_frames_that_the_kernel_has_no_memory_for_are_sent_later(code: int) -> None:
    outbox = Outbox()
    outbox.append(b"a whole frame")
    scarce: Any = Scarce(code)
    assert outbox.write(scarce) is Written.OUT_OF_RESOURCES
    assert outbox.write(scarce) is Written.ALL
    assert scarce.received == b"a whole frame"
