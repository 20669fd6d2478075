"""Files of training jobs."""

from __future__ import annotations

from pathlib import Path

from parcast import KindEntry
from parcast.files import read_data, workload_from_data
from parcast.model import Workload
from parcast_training.steps.job import with_parameters

#: The kind, as its plugin registers it.
KIND = KindEntry(
    "training", "parcast_training.steps.job:Job", "A step of training a language model."
)


def read_job(path: Path) -> Workload:
    """Return the job in a table whose kind is ``training``; its whole numbers are parameters."""
    data = read_data(path)
    return with_parameters(workload_from_data(data, str(path), {"training": KIND}, path.stem))
