# SPDX-License-Identifier: Apache-2.0
"""userInfo in files in memory. Seals make these files immutable."""

from __future__ import annotations

import fcntl
import os
from typing import Final

from ._errors import violation
from ._wire import DESCRIPTOR_PAYLOAD_LENGTH, PAYLOAD_LENGTH_CEILING

_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def sealed(payload: bytes) -> int:
    """Returns the descriptor of a sealed file with these bytes. Raises `OSError`."""
    descriptor = os.memfd_create("tribune", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        left = memoryview(payload)
        while left:
            left = left[os.write(descriptor, left) :]
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def contents(descriptor: int, length: int) -> bytes | None:
    """Reads a sealed file from the bus. The frame with the file announces `length` bytes.

    Returns None if this process lacks memory. Raises `TribuneError` if the file is not sealed, or
    has another length.
    """
    if not DESCRIPTOR_PAYLOAD_LENGTH <= length <= PAYLOAD_LENGTH_CEILING:
        raise violation(f"userInfo of {length} bytes came in a descriptor")
    try:
        is_sealed = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & _SEALS == _SEALS
    except OSError:
        is_sealed = False
    if not is_sealed or os.fstat(descriptor).st_size != length:
        raise violation(f"userInfo of {length} bytes is not in a sealed file of that length")
    try:
        # One read takes up to 2 GiB, and userInfo has at most 1 GiB.
        data = os.pread(descriptor, length, 0)
    except (MemoryError, OSError):
        return None
    return data if len(data) == length else None
