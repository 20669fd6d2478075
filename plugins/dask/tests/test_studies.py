"""Studies on real clusters of separate processes, some of which end too early."""

from __future__ import annotations

import attrs
import dask
import pytest

from parcast import ParcastError, Status

GRID = {
    "workload": {"name": "w", "phase": [{"parallel": 1}]},
    "machine": {"name": "m", "processor": {"rate": 1}},
    "solver": "slow",
    "p": list(range(1, 76)),
    "d": [1, 2],
    "seed": [0, 7],
}


def rows(results):
    return [attrs.evolve(row, solve_seconds=None) for row in results.rows]


@pytest.fixture
def expected(registry):
    return rows(registry.study(GRID, executor="threads:1", cache=None))


def test_a_worker_that_is_killed_costs_a_retry_and_nothing_else(registry, cluster, expected):
    found = cluster(2, PARCAST_SECONDS="0.004")
    counted = []

    def tell(points):
        counted.append(points)
        if sum(counted) > 100 and found.workers[0].poll() is None:
            found.workers[0].kill()

    results = registry.study(GRID, executor=f"dask:{found.address}", cache=None, tell=tell)
    assert found.workers[0].poll() == -9
    assert rows(results) == expected
    assert sum(counted) == len(expected)


def test_interrupted_and_asked_again_the_rows_are_the_same(registry, cluster, expected, tmp_path):
    found = cluster(1, PARCAST_SECONDS="0.002")
    spec, cache, counted = f"dask:{found.address}", tmp_path / "cache", []

    def interrupt(points):
        counted.append(points)
        if sum(counted) > 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        registry.study(GRID, executor=spec, cache=cache, tell=interrupt)
    done = sum(counted)
    counted.clear()
    results = registry.study(GRID, executor=spec, cache=cache, tell=counted.append)
    assert rows(results) == expected
    assert done > 150
    assert counted[0] > 0
    stored = registry.study(GRID, executor="threads:1", cache=cache)
    assert rows(stored) == expected


def test_a_point_that_ends_each_worker_is_a_row_that_says_so(registry, cluster):
    found = cluster(0, PARCAST_DEADLY="3", DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    found.add_worker("--nanny")
    asked = {**GRID, "p": [1, 2, 3, 4], "d": 1, "seed": 0}
    results = registry.study(asked, executor=f"dask:{found.address}", cache=None)
    assert [row.status for row in results.rows] == [
        Status.OK, Status.OK, Status.FAILED, Status.OK,
    ]  # fmt: skip
    assert "KilledWorker" in results.rows[2].message


def test_a_scheduler_that_ends_is_told_and_what_is_done_is_kept(
    registry, cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr("parcast_dask.connecting._SECONDS", 1.0)
    found = cluster(1, PARCAST_SECONDS="0.004")
    counted = []

    def tell(points):
        counted.append(points)
        if sum(counted) > 50:
            found.scheduler.kill()

    short = dask.config.set({"distributed.comm.timeouts.connect": "500ms"})
    with short, pytest.raises(ParcastError, match="no Dask scheduler answers at tcp://"):
        registry.study(GRID, executor=f"dask:{found.address}", cache=tmp_path / "c", tell=tell)
    again = []
    registry.study(GRID, executor="threads:1", cache=tmp_path / "c", tell=again.append)
    assert len(again) > 1


def test_no_worker_is_told(registry, cluster, monkeypatch):
    monkeypatch.setattr("parcast_dask.connecting._WORKERS_SECONDS", 0.5)
    found = cluster(0)
    with pytest.raises(ParcastError, match=r"has no worker; start some with: dask worker tcp://"):
        registry.executor(f"dask:{found.address}")
