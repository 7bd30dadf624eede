# SPDX-License-Identifier: Apache-2.0
"""Frames that wait to be written."""

from __future__ import annotations

import array
import enum
import errno
import fcntl
import os
import socket
import termios
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

from ._frame import DESCRIPTOR, SentFrame

# If the frames have this many bytes, callers wait until the bus has read some of them.
HIGH_MARK: Final = 1 << 20
_BATCH: Final = 256 << 10
_FRAMES_PER_BATCH: Final = 4096
# Up to this size, all frames are joined, because a single write nearly always sends them.
_SIMPLE: Final = _BATCH
# The limit of the files that were sent, and that the bus may not have received yet, in bytes.
_PASSED_MAX: Final = 64 << 20
_TEMPORARY: Final = (errno.ETOOMANYREFS, errno.ENOBUFS, errno.ENOMEM)


class Written(enum.Enum):
    """The result of a write."""

    ALL = enum.auto()
    STUCK = enum.auto()
    #: The kernel lacks memory, or the bus must first receive earlier files. No event reports when
    #: either has changed, so the caller tries again.
    OUT_OF_RESOURCES = enum.auto()


class Outbox:
    """The frames to send, in order. Frames that were not written outlive a connection."""

    def __init__(self) -> None:
        self.frames: deque[bytes] = deque()
        #: The size of frames and files, in bytes.
        self.size = 0
        self._offset = 0
        self._files: dict[int, tuple[int, int]] = {}
        self._passed = 0

    def __bool__(self) -> bool:
        return bool(self.frames)

    @property
    def is_full(self) -> bool:
        """Whether callers must wait before they append."""
        return self.size >= HIGH_MARK

    def append(self, frame: bytes) -> None:
        """Adds a frame."""
        self.frames.append(frame)
        self.size += len(frame)

    def prepend(self, frame: bytes) -> None:
        """Adds a frame before all others, but behind a frame that was written in part."""
        self.frames.insert(1 if self._offset else 0, frame)
        self.size += len(frame)

    def append_with_file(self, frame: bytes, serial: int, descriptor: int, length: int) -> None:
        """Adds a frame whose userInfo is in a file. The outbox then owns the descriptor."""
        self._files[serial] = (descriptor, length)
        self.size += length
        self.append(frame)

    def write(self, connection: socket.socket) -> Written:
        """Writes until nothing is left or the kernel takes no more. Raises `OSError`."""
        while self.frames:
            head = self.frames[0]
            try:
                if head[5] & DESCRIPTOR and self._offset == 0:
                    descriptor, length = self._files[SentFrame(head).serial]
                    if not self._may_pass(length, connection):
                        return Written.OUT_OF_RESOURCES
                    rights = array.array("i", [descriptor])
                    count = connection.sendmsg(
                        [head],
                        [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)],
                        socket.MSG_NOSIGNAL,
                    )
                    self._passed += length
                elif not self._files and self._offset == 0 and self.size <= _SIMPLE:
                    count = connection.send(b"".join(self.frames), socket.MSG_NOSIGNAL)
                    if count == self.size:
                        self.frames.clear()
                        self.size = 0
                        return Written.ALL
                else:
                    count = connection.send(self._batch(), socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return Written.STUCK
            except OSError as error:
                if error.errno in _TEMPORARY:
                    return Written.OUT_OF_RESOURCES
                raise
            self._note_written(count)
        return Written.ALL

    def _may_pass(self, length: int, connection: socket.socket) -> bool:
        if self._passed == 0 or self._passed + length <= _PASSED_MAX:
            return True
        unread = array.array("i", [0])
        fcntl.ioctl(connection, termios.TIOCOUTQ, unread)
        if unread[0]:
            return False
        self._passed = 0
        return True

    def _batch(self) -> bytes | memoryview:
        """Returns the rest of the first frame, and the next frames up to one with a file."""
        frames = self.frames
        parts = [frames[0]]
        size = len(parts[0])
        for frame in islice(frames, 1, _FRAMES_PER_BATCH):
            size += len(frame)
            if size > _BATCH or frame[5] & DESCRIPTOR:
                break
            parts.append(frame)
        batch = parts[0] if len(parts) == 1 else b"".join(parts)
        return memoryview(batch)[self._offset :] if self._offset else batch

    def _note_written(self, count: int) -> None:
        frames = self.frames
        count += self._offset
        while frames and len(frames[0]) <= count:
            frame = frames.popleft()
            count -= len(frame)
            self._forget(frame)
        self._offset = count

    def _forget(self, frame: bytes) -> None:
        self.size -= len(frame)
        if frame[5] & DESCRIPTOR:
            descriptor, length = self._files.pop(SentFrame(frame).serial)
            self.size -= length
            os.close(descriptor)

    def interrupt(self) -> None:
        """Prepares for the next connection, which gets a partly written frame from its start."""
        self._offset = 0
        self._passed = 0

    def sift(self, fate: Callable[[SentFrame, bytes, int], bytes | None]) -> None:
        """Keeps, changes or drops each frame. Requires that no frame is partly written.

        `fate` gets the frame, and the length of the file with its userInfo, or else 0. It returns
        the frame to keep, or None to drop it.
        """
        frames, self.frames = self.frames, deque()
        for frame in frames:
            sent = SentFrame(frame)
            _, length = self._files.get(sent.serial, (-1, 0))
            kept = fate(sent, frame, length)
            if kept is None:
                self._forget(frame)
            else:
                self.frames.append(kept)

    def clear(self) -> None:
        """Drops everything."""
        while self.frames:
            self._forget(self.frames.popleft())
        self._offset = 0
