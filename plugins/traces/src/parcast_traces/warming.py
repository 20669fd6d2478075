"""A small schedule whose order is found by compiled code, which ``parcast warm`` asks for."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from parcast_traces.workload import read_whole

_SCHEDULE = """\
num_ranks 2
rank 0 {
l1: calc 10
l2: send 8b to 1 tag 1
l2 requires l1
}
rank 1 {
l1: recv 8b from 0 tag 1
l2: calc 10
l2 requires l1
}
"""


def schedules() -> None:
    """Read a schedule of two ranks."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "small.goal")
        path.write_text(_SCHEDULE)
        read_whole(path)
