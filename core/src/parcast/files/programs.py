"""Files of programs."""

from __future__ import annotations

from pathlib import Path

from parcast.files.tables import read_text
from parcast.model.workload import Workload
from parcast.program.reader import read_source


def read_program(path: str | Path) -> Workload:
    """Return the workload of a ``.py`` file (see `read_source`)."""
    return read_source(read_text(Path(path)), str(path), Path(path).stem)
