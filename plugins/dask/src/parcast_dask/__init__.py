"""Executors on clusters for parcast's studies: ``dask:tcp://...`` and ``slurm:queue=...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import hookimpl

if TYPE_CHECKING:
    from concurrent.futures import Executor


@hookimpl
def parcast_executor(spec: str) -> Executor | None:
    """Return the executor of a Dask cluster that runs, or of one that Slurm is asked for."""
    name, colon, target = spec.partition(":")
    if not colon or name not in {"dask", "slurm"}:
        return None
    if name == "dask":
        from parcast_dask.connecting import connect

        return connect(target)
    from parcast_dask.slurm import start

    return start(target)
