from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parcast import Registry

HERE = str(Path(__file__).parent)


@pytest.fixture
def registry(monkeypatch):
    """A registry with the slow plugin and that of Dask."""
    import parcast_dask

    monkeypatch.syspath_prepend(HERE)
    yield Registry([importlib.import_module("slow"), parcast_dask])
    sys.modules.pop("slow", None)


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": HERE, **settings}
        more = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        self.scheduler = self._start("scheduler", *more)
        for line in self.scheduler.stderr:
            if "Scheduler at:" in line:
                self.address = line.split()[-1]
                break
        self.workers = []

    def _start(self, what, *more):
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + what, *more],
            cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def add_worker(self, *more):
        plain = ("--nthreads", "1", "--no-dashboard")
        self.workers.append(self._start("worker", self.address, *plain, *(more or ("--no-nanny",))))

    def end(self):
        for process in (*self.workers, self.scheduler):  # the workers first: they take leave of it
            process.terminate()
            try:
                process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


@pytest.fixture
def cluster(tmp_path):
    """Return a function that starts a cluster of so many workers."""
    started = []

    def start(workers, **settings):
        one = Cluster(tmp_path, **settings)
        started.append(one)
        for _ in range(workers):
            one.add_worker()
        return one

    yield start
    for one in started:
        one.end()
