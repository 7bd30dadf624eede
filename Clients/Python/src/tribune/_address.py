# SPDX-License-Identifier: Apache-2.0
"""Finds the bus, and checks which user runs it."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Final

from ._errors import Code, TribuneError, escaped

_SCHEME: Final = "unix:"
_SYSTEM: Final = "/run/tribune/bus"
_PATH_MAX: Final = 107
_CREDENTIALS: Final = Struct("3i")
_RESOURCES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclass(frozen=True, slots=True)
class Address:
    """The path of a bus's socket, and the users who may run the bus; `None` allows all users."""

    path: str
    servers: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{_SCHEME}{self.path}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parses ``unix:PATH``."""
        if not text.startswith(_SCHEME):
            raise TribuneError(
                Code.INVALID_ADDRESS, f'"{escaped(text)}" is not an address of the form unix:PATH'
            )
        path = text.removeprefix(_SCHEME)
        length = len(os.fsencode(path))
        if not 0 < length <= _PATH_MAX or "\0" in path:
            raise TribuneError(
                Code.INVALID_ADDRESS,
                f"the path of a socket must have 1 to {_PATH_MAX} bytes, none of them zero; "
                f"this one has {length}",
            )
        return cls(path)

    @classmethod
    def resolve(cls, environment: Mapping[str, str] | None = None) -> Address:
        """Finds the default address: ``TRIBUNE_ADDRESS``, or else the first socket that exists.

        `connect` lists the sockets. If `environment` is None, this process's environment counts. A
        folder from the environment must belong to this user, and the bus in it must run as this
        user or root. Without these checks, a program that root runs with another user's environment
        would obey that user's delegates. For the same reason, root ignores ``XDG_RUNTIME_DIR``, and
        takes from ``TRIBUNE_ADDRESS`` only the system's bus, or a bus that root runs.
        """
        environment = os.environ if environment is None else environment
        user = os.geteuid()
        if text := environment.get("TRIBUNE_ADDRESS"):
            address = cls.parse(text)
            is_free = user != 0 or address.path == _SYSTEM
            return address if is_free else cls(address.path, servers=(0,))
        # systemd separates several directories with colons.
        folders = environment.get("RUNTIME_DIRECTORY", "").split(":")
        paths = [f"{folder}/bus" for folder in folders if folder and _is_own(folder, user)]
        folder = environment.get("XDG_RUNTIME_DIR", "") if user != 0 else ""
        if folder and _is_own(folder, user):
            paths.append(f"{folder}/tribune/bus")
        for path in paths:
            if os.path.exists(path):
                return cls(path, servers=(0, user))
        return cls(_SYSTEM)

    def require_server(self, connected: socket.socket) -> None:
        """Raises `TribuneError` if the peer of the socket runs as a user that is not permitted."""
        if self.servers is None:
            return
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, user, _ = _CREDENTIALS.unpack(credentials)
        if user not in self.servers:
            raise TribuneError(
                Code.NOT_PERMITTED,
                f"the bus at {self} is served by another user (uid {user}), and cannot be trusted",
            )

    def failure(self, error: OSError) -> TribuneError:
        """Returns the error for a failed connect(2). `UNREACHABLE` means that no bus listens."""
        reason = error.strerror or error
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            remedy = "; is tribuned.socket running?" if self.path == _SYSTEM else ""
            return TribuneError(Code.UNREACHABLE, f"no bus at {self}: {reason}{remedy}")
        if error.errno == errno.EACCES:
            return TribuneError(Code.NOT_PERMITTED, f"no bus at {self}: {reason}")
        code = Code.LIMIT_EXCEEDED if error.errno in _RESOURCES else Code.REFUSED
        return TribuneError(code, f"cannot connect to {self}: {reason}")


def _is_own(folder: str, user: int) -> bool:
    try:
        return os.stat(folder).st_uid == user
    except OSError:
        return False
