"""How Sphinx makes the pages; the reference is written anew each time."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "90"
sys.path.insert(0, str(Path(__file__).parent))

project, author, release = "parcast", "the parcast developers", metadata.version("parcast")
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath"]
html_theme = "furo"
html_title = f"parcast {release}"
exclude_patterns = ["_build", "examples", "notebooks"]
myst_heading_anchors = 3
suppress_warnings = [
    "misc.highlighting_failure",  # tables by commas have no colors
    "myst.xref_missing",  # links to folders, which the repository shows
]


def setup(app: Any) -> None:
    """Write the reference before pages are read."""
    import reference

    reference.write(Path(app.srcdir))
