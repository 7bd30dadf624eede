# SPDX-License-Identifier: Apache-2.0
"""Frames that pass the bus, as a monitor sees them."""

from __future__ import annotations

from dataclasses import dataclass

from . import _wire
from ._errors import violation
from ._frame import FROM_BUS, Frame
from ._messages import connection_name
from ._wire import FrameKind


@dataclass(frozen=True, slots=True)
class Traffic:
    """A frame that passed the bus."""

    #: Seconds since 1970, UTC.
    time: float
    #: The source connection; None for the bus.
    sender: str | None
    #: The target connection. None for a frame to the bus, and for a post to its observers.
    receiver: str | None
    #: The number of receivers; 0 for a frame to the bus only.
    receivers: int
    #: The kind, such as ``post`` or ``verdict``; ``kind N`` for an unknown one.
    kind: str
    #: Empty for none.
    name: str
    object: str
    payload: bytes
    #: The whole frame, with its header.
    data: bytes

    @classmethod
    def _of(cls, traffic: _wire.Traffic, data: bytes) -> Traffic:
        frame = Frame.decode(data, 0, FROM_BUS)
        if not isinstance(frame, Frame) or frame.length != len(data):
            raise violation("the bus shows a frame that is not whole")
        kinds = FrameKind.__members__.values()
        is_known = frame.kind in kinds
        return cls(
            traffic.time / 1e6,
            connection_name(traffic.from_) if traffic.from_ else None,
            connection_name(traffic.to) if traffic.to else None,
            traffic.receivers,
            FrameKind(frame.kind).name.lower() if is_known else f"kind {frame.kind}",
            frame.name,
            frame.object,
            frame.payload,
            data,
        )
