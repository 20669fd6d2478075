"""Commands that pages show print what the pages say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

from parcast.testing import cases, turn

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HOW_TO = [
    "trace",
    "machine",
    "measurements",
    "neighbors",
    "partitioning",
    "buy",
    "accelerators",
    "disks",
    "network",
    "share",
    "goodput",
    "score",
    "scale",
    "train",
    "streams",
]
PAGES = [
    "agreement.md",
    "plugins.md",
    "studies.md",
    "tutorial.md",
    "../plugins/profiles/README.md",
    "../plugins/scaling/README.md",
    "../plugins/spmd/README.md",
    *(f"how-to/{name}.md" for name in HOW_TO),
]
WIDTH = "110"  #: of the terminal that pages show
FILE = re.compile(r"# ([\w-]+\.\w+)$", re.MULTILINE)  # the first line names a file


@pytest.mark.parametrize("name", turn(PAGES, 3))
def test_a_page_shows_what_its_commands_print(
    name: str, tmp_path: Path, parcast: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, cache = 0, tmp_path / "cache"
    (cache / "parcast").mkdir(parents=True)
    kernels = user_cache_path("parcast") / "kernels"  # points are asked anew, kernels are not
    kernels.mkdir(parents=True, exist_ok=True)
    (cache / "parcast" / "kernels").symlink_to(kernels)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.chdir(tmp_path)
    for language, block in FENCE.findall((DOCS / name).read_text()):
        if language != "sh" and (named := FILE.match(block)):
            comments = not named[1].endswith(".json")  # JSON has none
            (tmp_path / named[1]).write_text(block if comments else block[named.end() :])
        if not block.startswith("$ parcast "):
            continue
        line, _, expected = block.partition("\n")
        done = parcast(*shlex.split(line)[2:])
        assert done.out == expected, f"{name}: {line}\n{done.out}{done.err}"
        shown += 1
    assert shown


def test_every_page_is_built_without_a_warning(tmp_path: Path) -> None:
    """At night as HTML; else up to that, which finds lost links and what is not written well."""
    source, made = tmp_path / "docs", tmp_path / "made"
    builder, place, suffix = ("html", made, ".html") if cases(1) > 1 else (
        "dummy", made / ".doctrees", ".doctree"
    )  # fmt: skip
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("_build", "examples", "notebooks"))
    line = [sys.executable, "-m", "sphinx", "-b", builder, "-q", "-W", "--keep-going"]
    line += [str(source), str(made)]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page.relative_to(DOCS).with_suffix("") for page in DOCS.rglob("*.md")}
    pages = {page for page in pages if page.parts[0] not in {"_build", "examples", "notebooks"}}
    for page in {*pages, Path("commands"), Path("reference")}:
        assert (place / page.with_suffix(suffix)).exists(), page
    commands = (source / "commands.md").read_text()
    for name in ("parcast compare", "parcast study", "parcast report", "parcast spmd surface"):
        assert f"\n## {name}\n" in commands


def test_a_plugin_of_twenty_lines_installs_and_answers(tmp_path: Path) -> None:
    """The files of the page as they stand, put where pip would put them."""
    shown = (DOCS / "how-to" / "plugin.md").read_text()
    project, site = tmp_path / "project", tmp_path / "site"
    project.mkdir()
    for _, block in FENCE.findall(shown):
        if named := FILE.match(block):
            (project / named[1]).write_text(block)
    code = [line for line in (project / "parcast_peak.py").read_text().splitlines() if line.strip()]
    assert len(code) <= 25
    pip = [sys.executable, "-m", "pip", "install"]
    if shutil.which("uv"):
        pip = ["uv", "pip", "install", "--python", sys.executable]
    elif find_spec("pip") is None:
        assert not os.environ.get("CI"), "CI has uv"
        pytest.skip("needs uv, or pip in this environment")
    alone = ["-q", "--no-deps", "--no-build-isolation", "--target", str(site)]  # without a network
    subprocess.run([*pip, *alone, str(project)], check=True, capture_output=True)
    (test,) = (block for _, block in FENCE.findall(shown) if "def test_peak" in block)
    (output,) = (block for kind, block in FENCE.findall(shown) if kind == "text")
    environment = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": WIDTH}
    for line, expected in (
        ("-m parcast compare btio ibm-sp2 -s peak,spmd -p 4,16", output),
        ("-c 'exec(open(0).read()); test_peak()'", ""),
    ):
        done = subprocess.run(
            f"{sys.executable} {line}",
            shell=True,
            check=False,
            input=test,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert (done.stdout, done.stderr) == (expected, "")
