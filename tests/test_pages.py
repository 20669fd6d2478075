"""Commands that pages show print what the pages say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ["agreement.md", "studies.md", "tutorial.md", "../plugins/spmd/README.md"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(name: str, tmp_path: Path) -> None:
    shown = 0
    for language, block in FENCE.findall((DOCS / name).read_text()):
        if language in {"toml", "csv"} and block.startswith("# "):  # "# disks.toml" names a file
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


def test_every_page_is_built_without_a_warning(tmp_path: Path) -> None:
    source, made = tmp_path / "docs", tmp_path / "made"
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("_build", "examples", "notebooks"))
    line = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(source), str(made)]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page.stem for page in DOCS.glob("*.md")} | {"commands"}
    assert pages <= {page.stem for page in made.glob("*.html")}
    commands = (made / "commands.html").read_text()
    for name in ("parcast compare", "parcast study", "parcast report", "parcast spmd surface"):
        assert f"<h2>{name}<" in commands
