"""Files: tables of machines and workloads, and series of measured times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.files.structuring import structure
    from parcast.files.tables import ORIGINS, read_data, read_text, workload_from_data
else:
    __getattr__ = lazily(
        __name__,
        {
            "structuring": "structure",
            "tables": "ORIGINS read_data read_text workload_from_data",
        },
    )

__all__ = [
    "ORIGINS",
    "read_data",
    "read_text",
    "structure",
    "workload_from_data",
]
