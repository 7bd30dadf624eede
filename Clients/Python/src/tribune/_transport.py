# SPDX-License-Identifier: Apache-2.0
"""One connection: a socket, the greeting, and the frames that the bus sends."""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections import deque
from typing import Final, Protocol

from . import _memory, _wire
from ._address import Address
from ._errors import Code, TribuneError, violation
from ._frame import (
    DESCRIPTOR,
    FROM_BUS,
    GREETING,
    HELLO_LENGTH,
    Capabilities,
    Frame,
    FrameError,
    Hello,
    decode_fields,
)
from ._outbox import Outbox, Written
from ._wire import ErrorCode, FrameKind

_RECEIVED: Final = 65_536
_DESCRIPTORS_MAX: Final = 16
_ANCILLARY: Final = socket.CMSG_SPACE((_DESCRIPTORS_MAX + 1) * 4)
_PASS_RETRY: Final = 0.01


class UserInfoFile:
    """userInfo that came in a file; `data` is None if this process could not receive it."""

    __slots__ = ("data",)

    def __init__(self, data: bytes | None) -> None:
        self.data = data


class TransportUser(Protocol):
    """Receives the reports of a transport, until the transport's `close`."""

    def greeted(self, welcome: _wire.Welcome, accepts_files: bool) -> None:
        """Handles the welcome of the bus."""

    def receive(self, frame: Frame, file: UserInfoFile | None) -> None:
        """Handles a frame after the welcome, or a refusal instead of it. Raises `FrameError`."""

    def received_batch(self) -> None:
        """Handles the end of a batch of frames."""

    def writable(self) -> None:
        """Continues to write, because the connection takes more bytes."""

    def stream_ended(self) -> None:
        """Handles the end of the connection: the bus has closed it, or is gone."""

    def broken(self, error: TribuneError) -> None:
        """Handles invalid bytes of the bus."""


def open_socket(address: Address) -> socket.socket:
    """Returns a socket that is connected to a bus.

    Raises `TribuneError` if it cannot connect, or the bus runs as a user that is not permitted;
    `BlockingIOError` if the bus's backlog is full.
    """
    try:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    except OSError as error:
        raise TribuneError(
            Code.LIMIT_EXCEEDED, f"cannot make a connection: {error.strerror}"
        ) from error
    try:
        connected.setblocking(False)
        connected.connect(address.path)
        address.require_server(connected)
    except BlockingIOError:
        connected.close()
        raise
    except OSError as error:
        connected.close()
        raise address.failure(error) from error
    except TribuneError:
        connected.close()
        raise
    return connected


class Transport:
    """Reads and writes one connection.

    Its memory grows with the bytes that arrive, not with the length that a frame announces.
    """

    def __init__(
        self,
        user: TransportUser,
        connected: socket.socket,
        greeting: bytes,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._user = user
        self._socket = connected
        self._loop = loop
        self._partial = bytearray()
        # The length of the partial frame; 0 while it is unknown.
        self._awaited = 0
        # Descriptors whose frames are incomplete; None for one that this process could not receive.
        self._descriptors: deque[int | None] = deque()
        self._hello: Hello | None = None
        self.is_greeted = False
        self.is_open = True
        self._may_write = True
        self._retry: asyncio.TimerHandle | None = None
        loop.add_reader(connected.fileno(), self._read)
        # A new socket has space for the hello, so an error means that the connection has ended.
        try:
            connected.send(greeting, socket.MSG_NOSIGNAL)
        except OSError:
            self._loop.call_soon(self._end)

    @property
    def missing_greeting(self) -> str:
        """The first part of the greeting that the bus has not sent yet."""
        return "welcome" if self._hello else "hello"

    # Writing.

    def write(self, outbox: Outbox) -> None:
        """Writes as much as the kernel takes now. Calls `writable` when the kernel takes more."""
        if not self._may_write:
            return
        try:
            written = outbox.write(self._socket)
        except ConnectionError:
            # The bus has closed the connection. Its last frames, still unread, have the reason.
            self._may_write = False
            return
        except OSError as error:
            self._may_write = False
            text = f"writing to the bus failed: {error.strerror}"
            self._loop.call_soon(self._break, TribuneError(Code.CONNECTION_LOST, text))
            return
        if written is Written.STUCK:
            self._may_write = False
            self._loop.add_writer(self._socket.fileno(), self._note_writable)
        elif written is Written.OUT_OF_RESOURCES:
            self._may_write = False
            self._retry = self._loop.call_later(_PASS_RETRY, self._note_writable)

    def _note_writable(self) -> None:
        self._loop.remove_writer(self._socket.fileno())
        self._may_write = True
        self._user.writable()

    def end_writing(self) -> None:
        """Tells the bus that this side sends nothing more."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            # The next read reports the lost connection.
            return

    # Reading.

    def _read(self) -> None:
        try:
            data, ancillary, flags, _ = self._socket.recvmsg(
                _RECEIVED, _ANCILLARY, socket.MSG_CMSG_CLOEXEC
            )
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._end()
            return
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received = array.array("i")
                received.frombytes(content[: len(content) // 4 * 4])
                self._descriptors.extend(received)
        if flags & socket.MSG_CTRUNC:
            # The kernel has dropped a descriptor, because this process is at its limit of open
            # files. A frame has at most one descriptor.
            self._descriptors.append(None)
        if not data:
            self._end()
            return
        try:
            self._take_frames(data)
            if self.is_open:
                self._user.received_batch()
            if self.is_open and self._descriptors:
                self._require_expected_descriptors()
        except FrameError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                self._break(TribuneError(Code.UNSUPPORTED_VERSION, str(error)))
            else:
                self._break(violation(f"the bus breaks the protocol: {error}"))
        except TribuneError as error:
            self._break(error)
        except BaseException:
            # After this failure, the bytes behind the frame would be misread.
            self._break(violation("a frame of the bus could not be handled"))
            raise

    def _end(self) -> None:
        if self.is_open:
            self._user.stream_ended()

    def _break(self, error: TribuneError) -> None:
        if self.is_open:
            self._user.broken(error)

    def _take_frames(self, data: bytes) -> None:
        if self._partial:
            self._partial += data
            if len(self._partial) < self._awaited:
                return
            data = bytes(self._partial)
        position = 0
        if self._hello is None:
            if Hello.is_partial(data):
                self._partial = bytearray(data)
                return
            hello = Hello.decode(data)
            hello.require_common_version()
            self._hello = hello
            position = HELLO_LENGTH
        end = len(data)
        self._awaited = 0
        while position < end:
            frame = Frame.decode(data, position, FROM_BUS if self.is_greeted else GREETING)
            if isinstance(frame, int):
                self._awaited = frame
                break
            position += frame.length
            self._receive(frame)
            if not self.is_open:
                return
        self._partial = bytearray(data[position:])

    def _receive(self, frame: Frame) -> None:
        if self.is_greeted:
            file = self._file(frame) if frame.flags & DESCRIPTOR else None
            self._user.receive(frame, file)
        elif frame.kind == FrameKind.WELCOME:
            welcome = decode_fields(_wire.Welcome, frame)
            self.is_greeted = True
            accepts = self._hello is not None and bool(
                self._hello.capabilities & Capabilities.DESCRIPTORS
            )
            self._user.greeted(welcome, accepts)
        elif frame.kind == FrameKind.ERROR:
            self._user.receive(frame, None)
        else:
            raise violation(f"the bus's first frame is of kind {frame.kind}, not a welcome")

    def _file(self, frame: Frame) -> UserInfoFile:
        """Reads the userInfo in the file that came with a frame."""
        if frame.kind == FrameKind.POST:
            length = decode_fields(_wire.Post, frame).length
        elif frame.kind == FrameKind.RETAINED:
            length = decode_fields(_wire.Retained, frame).length
        else:
            raise violation(f"a frame of kind {frame.kind} cannot have a descriptor")
        if not self._descriptors:
            raise violation("a frame came without the descriptor that it announces")
        descriptor = self._descriptors.popleft()
        if descriptor is None:
            return UserInfoFile(None)
        try:
            return UserInfoFile(_memory.contents(descriptor, length))
        finally:
            os.close(descriptor)

    def _require_expected_descriptors(self) -> None:
        if not self._partial or not self.is_greeted or len(self._descriptors) > _DESCRIPTORS_MAX:
            raise violation("the bus sent descriptors without a frame that announces them")

    def close(self) -> None:
        """Ends the connection, and reports nothing more."""
        if not self.is_open:
            return
        number = self._socket.fileno()
        self._loop.remove_reader(number)
        self._loop.remove_writer(number)
        if self._retry is not None:
            self._retry.cancel()
        self._close_descriptors()

    def leave_to_parent(self) -> None:
        """Closes a forked child's copies of the descriptors, without using the parent's loop.

        So the connection ends with the parent's socket, even if this process lives longer.
        """
        if self.is_open:
            self._close_descriptors()

    def _close_descriptors(self) -> None:
        self.is_open = False
        self._may_write = False
        self._socket.close()
        for descriptor in self._descriptors:
            if descriptor is not None:
                os.close(descriptor)
        self._descriptors.clear()


def not_greeted(address: Address, missing: str) -> TribuneError:
    """Returns the error if the listener sent no greeting in time."""
    return TribuneError(Code.UNREACHABLE, f"the listener at {address} did not send a {missing}")
