"""A reader who follows a query passes no more files than the page of the design says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DESIGN = (ROOT / "docs" / "design.md").read_text()


@pytest.mark.parametrize(
    "command", ["compare btio ibm-sp2", "compare ring-matmul ibm-sp2 -s petri.mean"]
)
def test_a_walk_enters_no_more_files_than_the_page_says(command: str) -> None:
    (most,) = re.findall(rf"`{command}`\s+enters\s+(\d+)", DESIGN)
    script = ROOT / "tests" / "files_entered.py"
    piped = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, str(script), *command.split()],
        capture_output=True, text=True, check=True, env=piped,
    )  # fmt: skip
    modules = done.stdout.split()
    assert {"parcast.cli.solve", "parcast.comparison.rows"} <= {*modules}
    assert len(modules) <= int(most), modules
