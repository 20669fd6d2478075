"""Makes the figures of all pages by the commands that stand above them.

``python docs/figures.py`` makes all, ``python docs/figures.py gallery`` those of one page. The
tables of files (``# name.toml``) that a page shows are written for its commands. Where a comment
behind a command names the figure, it is a picture: of its page of HTML, or else of what it prints.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent

#: Of the terminal in pictures.
COLUMNS = 80

#: Of the browser in pictures, in pixels.
WINDOW = "1200,1500"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that have figures."""
    return sorted(path for path in DOCS.rglob("*.md") if list(commands(path)))


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each figure of a page and the command that makes it."""
    for language, block in _FENCE.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines() if language == "sh" else ():
            named = re.search(r"# figures/([\w-]+\.\w+)", line)
            if named := named or re.search(r"figures/([\w-]+\.\w+)", line):
                yield named[1], line


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows."""
    for language, block in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language in {"toml", "csv"} and block.startswith("# "):
            (folder / block.split()[1]).write_text(block, encoding="utf-8")


def make(page: Path, name: str, folder: Path) -> Path:
    """Make one figure of a page in a folder, and return it."""
    write_files(page, folder)
    (folder / "figures").mkdir(exist_ok=True)
    text = dict(commands(page))[name]
    line = shlex.split(text, comments=True)
    assert line[0] == "parcast"
    printed = subprocess.run(
        [sys.executable, "-m", *line], cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": str(COLUMNS)},
    ).stdout  # fmt: skip
    figure = folder / "figures" / name
    if f"# figures/{name}" in text:
        if figure.suffix == ".png":
            photograph(figure.with_suffix(".html"), figure)
        else:
            figure.write_text(terminal(f"$ {shlex.join(line)}\n{printed}"), encoding="utf-8")
    return figure


def terminal(text: str) -> str:
    """Return a picture of a terminal that shows a text."""
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system=None)
    console.print(Text(text.rstrip("\n")))
    drawn = console.export_svg(title="")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # fonts of other hosts


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the top of a page, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    assert browser, "there is no chromium; install the package of that name"
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--screenshot={picture}",
         f"--window-size={WINDOW}", page.as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip


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
