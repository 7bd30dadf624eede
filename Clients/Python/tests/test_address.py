# SPDX-License-Identifier: Apache-2.0
"""Where the client looks for a bus, and which owner it accepts."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tribune import (
    Address,
    Code,
    TribuneError,
)


def test_the_address_is_found_as_documented(folder: Path) -> None:
    is_root = os.geteuid() == 0
    assert Address.resolve({}) == Address("/run/tribune/bus")
    # Root obeys only a bus that root serves, or the system's.
    given = Address.resolve({"TRIBUNE_ADDRESS": "unix:/x/y"})
    assert given == Address("/x/y", servers=(0,) if is_root else None)
    system = Address.resolve({"TRIBUNE_ADDRESS": "unix:/run/tribune/bus"})
    assert system == Address("/run/tribune/bus")
    runtime = {"XDG_RUNTIME_DIR": str(folder), "RUNTIME_DIRECTORY": f"/:{folder}/r"}
    assert Address.resolve(runtime).path == "/run/tribune/bus"
    (folder / "tribune").mkdir()
    (folder / "tribune/bus").touch()
    found = Address.resolve(runtime)
    own = Address(f"{folder}/tribune/bus", servers=(0, os.geteuid()))
    assert found == (Address("/run/tribune/bus") if is_root else own)
    (folder / "r").mkdir()
    (folder / "r/bus").touch()
    assert Address.resolve(runtime).path == f"{folder}/r/bus"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_trusted(folder: Path) -> None:
    (folder / "bus").touch()
    os.chown(folder, 65_534, 65_534)
    assert Address.resolve({"RUNTIME_DIRECTORY": str(folder)}).path == "/run/tribune/bus"


def test_a_server_of_another_user_is_not_trusted() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Address("x", servers=(os.geteuid(),)).require_server(ours)
        with pytest.raises(TribuneError) as caught:
            Address("x", servers=(os.geteuid() + 1,)).require_server(ours)
    # Not as without a bus, where some programs go on.
    assert caught.value.code is Code.NOT_PERMITTED


@pytest.mark.parametrize("text", ["", "unix:", "tcp:x", "/run/x", "unix:" + "x" * 108, "unix:a\0b"])
def test_an_address_has_one_form(text: str) -> None:
    with pytest.raises(TribuneError) as caught:
        Address.parse(text)
    assert caught.value.code is Code.INVALID_ADDRESS


def test_an_address_that_is_refused_cannot_act_on_a_terminal() -> None:
    with pytest.raises(TribuneError, match=r'"\\x1b\[2J" is not an address'):
        Address.parse("\x1b[2J")
