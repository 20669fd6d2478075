"""`elapse` is wall time here as well, whoever else uses the processor."""

from __future__ import annotations

import threading
import time

import pytest


def test_who_shares_a_processor_elapses_as_soon() -> None:
    pytest.importorskip("mpi4py.MPI")
    from parcast_mpi.running.calls import spin

    threads = [threading.Thread(target=spin, args=(0.2,)) for _ in range(4)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0.2 <= time.perf_counter() - begin < 0.7  # four times 0.2 s of one processor are 0.8 s
