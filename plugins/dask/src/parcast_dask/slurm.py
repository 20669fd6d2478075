"""A Dask cluster of Slurm's jobs: ``slurm:queue=normal,jobs=4,cores=16``."""

from __future__ import annotations

import logging
import re
import shutil
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import attrs

from parcast import ParcastError
from parcast.errors import did_you_mean
from parcast_dask.executor import DaskExecutor

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster

#: Each core answers on its own: libraries start one thread.
_THREADS = ("BLIS", "MKL", "NUMBA", "NUMEXPR", "OMP", "OPENBLAS")


@attrs.frozen(kw_only=True)
class Request:
    """What is asked of Slurm."""

    queue: str | None = None  #: the partition
    account: str | None = None
    jobs: int = 1
    cores: int = 1  #: of a job, each a worker
    memory: str | None = None  #: of a job; 2 GB a core where not given
    walltime: str = "01:00:00"  #: of a job
    interface: str | None = None  #: of the network between this machine and the nodes
    python: str | None = None  #: on the nodes; this one where not given


_FORMS = {
    "queue": r"[\w.-]+", "account": r"[\w.-]+", "jobs": r"[1-9]\d{0,4}", "cores": r"[1-9]\d{0,4}",
    "memory": r"\d+(\.\d+)? ?[kMGT]i?B", "walltime": r"(\d+-)?\d{1,2}:\d\d(:\d\d)?",
    "interface": r"[\w.-]+", "python": r"[\w./-]+",
}  # fmt: skip


def read_request(text: str) -> Request:
    """Return what ``queue=normal,jobs=4`` asks.

    Raises
    ------
    ParcastError
        Naming the word that is wrong.
    """
    values: dict[str, Any] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        if name not in _FORMS:
            hint = did_you_mean(name, _FORMS) or f" Known: {', '.join(_FORMS)}."
            raise ParcastError(f"executor 'slurm:{text}': there is no {name!r} to ask.{hint}")
        if re.fullmatch(_FORMS[name], value) is None:
            raise ParcastError(
                f"executor 'slurm:{text}': {word!r} is not of the form of "
                "queue=normal,account=me,jobs=4,cores=16,memory=32GB,walltime=01:00:00"
            )
        values[name] = int(value) if name in {"jobs", "cores"} else value
    return Request(**values)


def start(text: str) -> Executor:
    """Submit the jobs, and return the executor of their workers; calls wait until one runs.

    Raises
    ------
    ParcastError
        If a word is wrong, there is no Slurm, or it takes no job.
    """
    request = read_request(text)
    if shutil.which("sbatch") is None:
        raise ParcastError(
            f"executor 'slurm:{text}': there is no sbatch here; ask on a login node of a cluster "
            "with Slurm"
        )
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what fails is told in sentences
    jobs = cluster(request)
    try:
        jobs.scale(jobs=request.jobs)
        client = Client(jobs, set_as_default=False)
    except (OSError, RuntimeError) as error:
        jobs.close()
        raise ParcastError(f"Slurm takes no job: {' '.join(str(error).split())}") from None
    return DaskExecutor(client, jobs, request.jobs * request.cores)


def cluster(request: Request) -> SLURMCluster:
    """Return the cluster, its scheduler in this process, with no job submitted yet."""
    from dask_jobqueue.slurm import SLURMCluster

    python: Any = {"python": request.python} if request.python else {}
    return SLURMCluster(
        queue=request.queue,
        account=request.account,
        cores=request.cores,
        processes=request.cores,
        memory=request.memory or f"{2 * request.cores}GB",
        walltime=request.walltime,
        interface=request.interface,
        job_name="parcast",
        job_script_prologue=[f"export {name}_NUM_THREADS=1" for name in _THREADS],
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        **python,
    )
