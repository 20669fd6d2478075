"""A Dask cluster that runs already: ``dask:tcp://host:8786``."""

from __future__ import annotations

import logging
import re
from concurrent.futures import Executor

from parcast import ParcastError
from parcast_dask.executor import DaskExecutor, alike, code

_SECONDS = 10.0  #: to wait for a scheduler
_WORKERS_SECONDS = 60.0  #: and then for a worker, which may just have been started
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+:\d+")


def connect(address: str) -> Executor:
    """Return the executor of the cluster whose scheduler has this address.

    Raises
    ------
    ParcastError
        If there is no scheduler, it has no worker, or a worker has other code.
    """
    from distributed import Client

    if _ADDRESS.fullmatch(address) is None:
        raise ParcastError(
            f"executor 'dask:{address}': give the scheduler's address, such as dask:tcp://host:8786"
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what fails is told in sentences
    try:
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ParcastError(
            f"no Dask scheduler answers at {address} ({_reason(error)}); start one with: dask "
            "scheduler"
        ) from None
    executor = DaskExecutor(client)
    try:
        _check(executor, address)
    except BaseException:
        executor.shutdown()
        raise
    return executor


def _check(executor: DaskExecutor, address: str) -> None:
    """Make sure that there are workers and that each has this process's code."""
    try:
        executor.client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
    except TimeoutError:
        raise ParcastError(
            f"the Dask scheduler at {address} has no worker; start some with: dask worker {address}"
        ) from None
    try:
        executor.client.run(alike, code(), int, (), {})
    except ParcastError:
        raise
    except Exception as error:  # noqa: BLE001  (what keeps a worker from importing)
        raise ParcastError(
            f"a worker of {address} cannot be asked ({_reason(error)}); install parcast, its "
            "plugins and parcast-dask there too"
        ) from None


def _reason(error: BaseException) -> str:
    return " ".join(f"{error}".split()) or type(error).__name__
