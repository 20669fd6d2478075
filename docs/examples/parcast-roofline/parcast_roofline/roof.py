"""Reads ``.roof`` files: ``name = value`` lines, then ``loop flops bytes [footprint]`` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parcast import Workload
from parcast.errors import FileError
from parcast.files import read_text, workload_from_data
from parcast_roofline import parcast_kinds

_COLUMNS = ("name", "flops", "bytes", "footprint")


def read(path: Path) -> Workload:
    """Return the kernel in a file; ``#`` starts a comment."""
    data: dict[str, Any] = {"kind": "kernel", "parameters": {}, "loop": []}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        name, equals, value = line.partition("#")[0].partition("=")
        if equals:
            data["parameters"][name.strip()] = value.strip()
        elif cells := name.split():
            if not 3 <= len(cells) <= 4:
                raise FileError(
                    f"{path}, line {number}: {name.strip()!r} must be: name flops bytes [footprint]"
                )
            data["loop"].append(dict(zip(_COLUMNS, cells, strict=False)))
    kinds = {entry.name: entry for entry in parcast_kinds()}
    return workload_from_data(data, str(path), kinds, path.stem)
