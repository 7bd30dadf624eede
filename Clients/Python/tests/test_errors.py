# SPDX-License-Identifier: Apache-2.0
"""docs/PROTOCOL.md says which codes have another name here, and their errno in C."""

from __future__ import annotations

import re
from pathlib import Path

from tribune._errors import refusal
from tribune._wire import ErrorCode

ROOT = Path(__file__).parents[3]
ROWS = re.findall(
    r"^\| (`.*`) \| `(\w+)` \| `(-E\w+)` \|$", (ROOT / "docs/PROTOCOL.md").read_text(), re.MULTILINE
)
TABLE = {name: (new, errno) for names, new, errno in ROWS for name in re.findall(r"\w+", names)}


def camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.capitalize, rest))


def test_each_code_has_the_name_of_the_document() -> None:
    assert TABLE.keys() <= {camel(code.name) for code in ErrorCode}
    for code in ErrorCode:
        name = camel(code.name)
        assert str(refusal(code, "x").code) == TABLE.get(name, (name,))[0]


def test_the_document_has_the_errno_of_c() -> None:
    source = (ROOT / "Clients/C/src/error.c").read_text()
    groups = re.findall(r"((?:  case WIRE_ERROR_CODE_\w+:\n)+)    return (-E\w+);", source)
    errnos = {
        camel(name): errno for names, errno in groups for name in re.findall("CODE_(.*):", names)
    }
    assert errnos.keys() == {camel(code.name) for code in ErrorCode}
    assert {name: errnos[name] for name in TABLE} == {name: row[1] for name, row in TABLE.items()}
