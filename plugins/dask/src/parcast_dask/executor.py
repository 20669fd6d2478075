"""Dask's workers as an executor of futures that a study understands."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures import wait as wait_for
from functools import cache
from threading import Lock
from typing import Any

import attrs

from parcast import ParcastError


@attrs.define(eq=False, slots=False)
class DaskExecutor(Executor):
    """Gives calls to the workers of a cluster.

    Dask asks again elsewhere what was with a worker that died. What a scheduler takes along
    when it ends fails with `concurrent.futures.BrokenExecutor`.
    """

    client: Any  #: of distributed
    cluster: Any = None  #: ended together with this, where it was started for it
    wanted: int = 0  #: workers that were asked for and may not be there yet
    _pending: dict[Any, Future[Any]] = attrs.field(init=False, factory=dict)
    _lock: Any = attrs.field(init=False, factory=Lock)
    _closed: bool = attrs.field(init=False, default=False)

    @property
    def _max_workers(self) -> int:
        """How many calls can run at once: what studies ask any executor of the library."""
        workers = self.client.scheduler_info(n_workers=-1).get("workers", {}).values()
        return max(self.wanted, sum(int(worker["nthreads"]) for worker in workers))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return the future of a call on some worker."""
        if self._closed:
            raise RuntimeError("this executor was shut down")
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        if self.client.status != "running":
            outer.set_exception(BrokenExecutor("the connection to the cluster is lost"))
            return outer
        inner = self.client.submit(alike, code(), fn, args, kwargs, pure=False)
        with self._lock:
            self._pending[inner] = outer
        inner.add_done_callback(lambda finished: self._pass_on(finished, outer))
        return outer

    def _pass_on(self, inner: Any, outer: Future[Any]) -> None:
        """Hand the result of one of Dask's futures to one of the library's."""
        try:
            if inner.status == "finished":
                outer.set_result(inner.result())
            elif inner.status == "error":
                outer.set_exception(inner.exception())
            else:
                outer.set_exception(BrokenExecutor(f"the cluster has {inner.status} a call"))
        except Exception as error:  # noqa: BLE001  (a connection may end in any way)
            outer.set_exception(BrokenExecutor(f"{type(error).__name__}: {error}"))
        finally:
            with self._lock:
                self._pending.pop(inner, None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; one that was started for this executor ends."""
        self._closed = True
        with self._lock:
            pending = dict(self._pending)
        if cancel_futures and self.client.status == "running":
            self.client.cancel(list(pending), force=True)
        elif wait:
            wait_for(pending.values())
        self.client.close(timeout=2)
        if self.cluster is not None:
            self.cluster.close(timeout=10)


def alike(expected: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Make a call, on a worker, if its code is the caller's: then answers are the same.

    Raises
    ------
    ParcastError
        If the code differs.
    """
    if code() != expected:
        raise ParcastError(
            "a worker has other versions of Python, numpy, parcast or its plugins than this "
            "process; install the same ones there"
        )
    return fn(*args, **kwargs)


@cache
def code() -> str:
    """Return the digest of all code that answers depend on, on this machine."""
    from parcast.study import digest_of_installed

    return digest_of_installed().hex()
