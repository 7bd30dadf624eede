# SPDX-License-Identifier: Apache-2.0
"""The programs in README.md print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DEADLINE, RunningBus

FOLDER = Path(__file__).parents[1]
PROGRAMS = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL
)


def test_the_package_has_the_version_of_the_programs() -> None:
    version = (FOLDER / "../../Sources/Bus/TribuneWire/Version.swift").read_text()
    found = re.search(r'static let current = "(.*)"', version)
    assert found is not None
    assert f'version = "{found[1]}"' in (FOLDER / "pyproject.toml").read_text()


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 3


@pytest.mark.parametrize(("program", "output"), PROGRAMS, ids=["tell", "ask", "guard"])
def test_a_program_prints_what_the_readme_says(
    bus: RunningBus, tmp_path: Path, program: str, output: str
) -> None:
    source = tmp_path / "program.py"
    source.write_text(program)
    environment = {**os.environ, "TRIBUNE_ADDRESS": bus.address, "PYTHONPATH": str(FOLDER / "src")}
    found = subprocess.run(
        [sys.executable, "-W", "error", str(source)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (found.stdout, found.stderr, found.returncode) == (output, "", 0)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(source)]
    typed = subprocess.run(
        mypy,
        env={**environment, "MYPYPATH": str(FOLDER / "src")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert typed.returncode == 0, typed.stdout
