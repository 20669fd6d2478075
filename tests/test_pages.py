"""Commands that pages show print what the pages say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ["studies.md", "../plugins/spmd/README.md"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(name: str, tmp_path: Path) -> None:
    shown = 0
    for language, block in FENCE.findall((DOCS / name).read_text()):
        if language == "toml" and block.startswith("# "):  # "# disks.toml" names a file
            (tmp_path / block.split()[1]).write_text(block)
        if not block.startswith("$ parcast "):
            continue
        line, _, expected = block.partition("\n")
        done = subprocess.run(
            f"{sys.executable} -m parcast {line.removeprefix('$ parcast ')}",
            shell=True,
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        )
        assert done.stdout == expected, f"{name}: {line}\n{done.stdout}{done.stderr}"
        shown += 1
    assert shown
