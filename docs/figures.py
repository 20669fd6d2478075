"""Makes the figures of all pages by the commands that stand above them.

``python docs/figures.py`` makes all, ``python docs/figures.py gallery`` those of one page. The
tables of files (``# name.toml``) that a page shows are written for its commands.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that have figures."""
    return sorted(path for path in DOCS.rglob("*.md") if list(commands(path)))


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each figure of a page and the command that makes it."""
    for language, block in _FENCE.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines() if language == "sh" else ():
            if found := re.search(r"figures/([\w-]+\.\w+)", line):
                yield found[1], line


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows."""
    for language, block in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language in {"toml", "csv"} and block.startswith("# "):
            (folder / block.split()[1]).write_text(block, encoding="utf-8")


def make(page: Path, name: str, folder: Path) -> Path:
    """Make one figure of a page in a folder, and return it."""
    write_files(page, folder)
    (folder / "figures").mkdir(exist_ok=True)
    line = shlex.split(dict(commands(page))[name])
    assert line[0] == "parcast"
    subprocess.run([sys.executable, "-m", *line], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "figures" / name


def main(*names: str) -> None:
    """Make the figures of the pages named, or all."""
    for page in pages():
        for name, line in commands(page):
            if not names or page.stem in names:
                print(line)
                with tempfile.TemporaryDirectory() as folder:
                    shutil.copy(make(page, name, Path(folder)), DOCS / "figures" / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
