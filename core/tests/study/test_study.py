"""A study gives what a comparison gives, keeps what is done, and survives what can happen."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import attrs
import numpy as np
import pytest

from parcast import ParcastError, Registry, SolverEntry, Status, hookimpl
from parcast.study import read_study
from parcast.study.digest import digest, digest_of_code
from parcast.study.store import Store


def plain(row):
    """Return a row as JSON values, without what differs from run to run."""
    return json.loads(json.dumps({**row.to_dict(), "solve_seconds": None}, sort_keys=True))


def same(first, second):
    return list(map(plain, first.rows)) == list(map(plain, second.rows))


def test_rows_are_those_of_the_comparison(counting, grid):
    rows = counting.study(grid, executor="threads:2", cache=None).rows
    assert len(rows) == 2 * 2 * 4 * 2
    compared = {
        n: counting.compare(
            grid["workload"], grid["machine"], solvers=grid["solver"], p=grid["p"], d=grid["d"],
            settings={"n": n},
        ).rows
        for n in (1, 5)
    }  # fmt: skip
    for row in rows:
        (other,) = [
            one for one in compared[row.params["n"]]
            if (one.solver, one.p, one.d) == (row.solver, row.p, row.d)
        ]  # fmt: skip
        assert plain(row) == plain(other)
    assert rows[4].speedup == 4.0
    assert {row.status for row in rows if row.p == 13} == {Status.REFUSED}


def test_processes_threads_and_any_executor_give_the_same(counting, grid):
    found = [
        counting.study(grid, executor=name, cache=None) for name in ("threads:1", "processes:2")
    ]
    with ThreadPoolExecutor(2) as threads:
        found.append(counting.study(grid, executor=threads, cache=None))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        found.append(counting.study(grid, executor=processes, cache=None))
    pinned = {row.details["threads"]["OMP_NUM_THREADS"] for row in found[1].rows if row.details}
    assert pinned == {"1"}
    for one in found:
        for row in one.rows:
            row.details.pop("threads", None)
        assert same(one, found[0])
    assert "OMP_NUM_THREADS" not in os.environ


def test_what_is_kept_is_not_asked_again(counting, grid, asked, tmp_path):
    def run(**changed):
        return counting.study({**grid, **changed}, executor="threads:1", cache=tmp_path / "c")

    first = run()
    assert len(asked()) > 0
    assert same(first, run())
    assert asked() == []
    more = run(p=[1, 2, 4, 13, 16])
    assert len(more) == 40
    assert {line.split(",")[0] for line in asked()} >= {"16"}
    run(set={"n": [1, 7]})
    assert {line.split(",")[2] for line in asked()} == {"7"}
    run(machine={"name": "m", "processor": {"rate": 2}})
    assert asked()


def test_the_seed_of_a_point_is_part_of_the_question(counting, grid, asked, tmp_path):
    rows = counting.study({**grid, "seed": [3, 4]}, executor="threads:1", cache=tmp_path).rows
    assert all(row.details.get("seed", row.seed) == row.seed for row in rows)
    asked()
    counting.study({**grid, "seed": 4}, executor="threads:1", cache=tmp_path)
    assert len(asked()) < len(rows) // 2


def test_speedups_are_those_of_the_points_own_seed_and_mapping(counting, grid):
    few = {**grid, "solver": "counts", "p": [2, 1], "d": 1, "seed": [5, 0, 1]}
    few["mapping"] = [[0, 0], [3, 0]]
    rows = counting.study(few, executor="threads:1", cache=None).rows
    assert len(rows) == 2 * 2 * 3 * 2
    for row in rows:
        (other,) = counting.compare(
            few["workload"], few["machine"], solvers="counts", p=row.p, d=1, seed=row.seed,
            mapping=row.mapping, settings=row.params,
        ).rows  # fmt: skip
        assert row.speedup == other.speedup
    assert len({row.speedup for row in rows if row.p == 2}) > 2


def test_the_code_of_a_solver_in_one_file_counts(monkeypatch, tmp_path):
    (tmp_path / "single.py").write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = ModuleType("parcast_single")
    plugin.parcast_solvers = hookimpl(
        lambda: [SolverEntry("single", "phases", "single:Solver", "One file.")]
    )
    registry = Registry([plugin])
    first = digest_of_code(registry, "single")
    assert digest_of_code(registry, "single") == first
    (tmp_path / "single.py").write_text("A = 2\n")
    assert digest_of_code(registry, "single") != first


def test_answers_of_code_that_cannot_be_read_are_not_kept(counting, grid, tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.study.digest.find_spec", lambda _: None)
    said = []
    counting.study(grid, executor="threads:1", cache=tmp_path, warn=said.append)
    assert "the points of counts cannot be cached: the code of " in said[0]
    assert list(tmp_path.rglob("*.json")) == []


def test_a_setting_that_does_not_concern_a_solver_or_workload_makes_no_point_twice(make_registry):
    options = {"options": "parcast_tests:Options"}
    entries = [
        SolverEntry("oa", "phases", "parcast_tests:Works", "A.", **options),
        SolverEntry("ob", "phases", "parcast_tests:Works", "B."),
    ]
    registry = make_registry(entries=entries)
    grid = {
        "workload": [
            {"name": "w", "parameters": {"n": 1}, "phase": [{"parallel": "n"}]},
            {"name": "v", "phase": [{"parallel": 1}]},
        ],
        "machine": {"name": "m", "processor": {"rate": 1}},
        "p": [1],
        "set": {"oa.repeat": [1, 2], "n": [1, 2, 3]},
    }
    rows = registry.study(grid, executor="threads:1", cache=None).rows
    places = [(row.solver, row.workload, *sorted(row.params.items())) for row in rows]
    assert len(places) == len(set(places)) == 2 * (3 + 1) + (3 + 1)


SCRIPT = """\
import counting, json, sys
from parcast import Registry
Registry([counting]).study(json.loads(sys.argv[1]), executor="processes:1", cache=None)
"""


def test_a_script_without_a_guard_is_told(counting, grid, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), json.dumps(grid)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert 'under: if __name__ == "__main__":' in done.stderr.splitlines()[-1]


def test_a_changed_solver_never_meets_its_old_answers(counting, grid, asked, tmp_path, monkeypatch):
    counting.study(grid, executor="threads:1", cache=tmp_path)
    asked()
    monkeypatch.setattr("parcast.study.answering.digest_of_code", lambda *_: b"other code")
    counting.study(grid, executor="threads:1", cache=tmp_path)
    assert asked()


def test_a_damaged_file_is_asked_again(counting, grid, asked, tmp_path):
    first = counting.study(grid, executor="threads:1", cache=tmp_path)
    asked()
    for index, path in enumerate(sorted(tmp_path.rglob("*.json"))):
        path.write_bytes([b"", b"{", b'{"schema": 0}', path.read_bytes()[:-9]][index % 4])
    assert same(first, counting.study(grid, executor="threads:1", cache=tmp_path))
    assert asked()


def test_a_cache_that_cannot_be_written_gives_one_sentence_and_loses_nothing(
    counting, grid, tmp_path
):
    (tmp_path / "file").write_text("no folder")
    said = []
    rows = counting.study(grid, executor="threads:2", cache=tmp_path / "file", warn=said.append)
    assert same(rows, counting.study(grid, executor="threads:2", cache=None))
    assert len(said) == 1
    assert "Not a directory; the study continues without caching its results" in said[0]


def test_a_full_disk_gives_one_sentence_and_loses_nothing(counting, grid, tmp_path, monkeypatch):
    write, said, left = Path.write_bytes, [], [3]

    def full(path, content):
        left[0] -= 1
        if left[0] < 0:
            write(path, content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    rows = counting.study(grid, executor="threads:1", cache=tmp_path, warn=said.append)
    monkeypatch.undo()
    assert same(rows, counting.study(grid, executor="threads:1", cache=None))
    assert len(said) == 1
    assert "No space left on device" in said[0]
    assert len(list(tmp_path.rglob("*.json"))) == 3
    assert list(tmp_path.rglob("*.part")) == []


def test_a_worker_that_is_killed_costs_nothing_but_time(counting, grid, tmp_path, monkeypatch):
    whole = counting.study(grid, executor="processes:2", cache=None)
    monkeypatch.setenv("PARCAST_DEADLY", "4")
    monkeypatch.setenv("PARCAST_ONCE", str(tmp_path / "once"))
    assert same(whole, counting.study(grid, executor="processes:2", cache=tmp_path / "c"))
    assert (tmp_path / "once").exists()


def test_a_point_that_ends_its_worker_each_time_is_a_row_that_says_so(
    counting, grid, tmp_path, monkeypatch
):
    monkeypatch.setenv("PARCAST_DEADLY", "4")
    few = {**grid, "solver": "counts", "d": [1], "set": {"n": 1}}
    rows = counting.study(few, executor="processes:2", cache=tmp_path).rows
    assert [(row.p, row.status) for row in rows] == [
        (1, Status.OK), (2, Status.OK), (4, Status.FAILED), (13, Status.REFUSED),
    ]  # fmt: skip
    assert "its process was ended each time" in rows[2].message
    monkeypatch.delenv("PARCAST_DEADLY")
    rows = counting.study(few, executor="processes:2", cache=tmp_path).rows
    assert rows[2].status is Status.OK  # it is not kept as failed


def test_an_executor_that_was_given_and_breaks_is_told(counting, grid, monkeypatch):
    monkeypatch.setenv("PARCAST_DEADLY", "4")
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
        pytest.raises(ParcastError, match="the executor broke"),
    ):
        counting.study(grid, executor=processes, cache=None)


def test_plugins_hear_of_every_point_that_was_asked(counting, grid, tmp_path):
    heard = []
    counting._manager.register(Listener(heard), name="listener")
    counting.study(grid, executor="threads:1", cache=tmp_path)
    assert len(heard) == 32
    assert {status for _, status in heard} == {Status.OK, Status.REFUSED}


class Listener:
    def __init__(self, heard):
        self.heard = heard

    @hookimpl
    def parcast_point_done(self, query, prediction):
        self.heard.append((query.p, prediction.status))


def test_many_rows_stay_where_they_are_kept(counting, grid, tmp_path):
    many = {**grid, "solver": "counts", "p": "1..2600"}
    results = counting.study(many, executor="threads:1", cache=tmp_path)
    assert not isinstance(results.rows, tuple)  # over 10,000 are read when they are asked for
    assert len(results) == len(list(results.rows)) == 10_400
    assert [results.rows[i].p for i in (0, 3, -1)] == [1, 2, 2600]
    assert [row.p for row in results.rows[10:14]] == [6, 6, 7, 7]
    with pytest.raises(IndexError):
        results.rows[10_400]
    next(tmp_path.rglob("*.json")).unlink()
    with pytest.raises(ParcastError, match="was removed or damaged; run the study again"):
        list(results.rows)


def test_what_cannot_be_sent_to_processes_is_told(counting, grid):
    given = Registry([*counting.sources, Local()])
    with pytest.raises(ParcastError, match="cannot be sent to other processes"):
        given.study(grid, executor="processes:1", cache=None)


class Local:
    """A plugin that cannot be pickled."""

    def __reduce__(self):
        raise TypeError("not to be sent")


def test_a_store_writes_whole_files_or_none(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.put("abcdef", b"whole")
    assert store.path("abcdef").read_bytes() == b"whole"
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "bad")))
    with pytest.raises(OSError, match="bad"):
        store.put("abcdef", b"other")
    assert [path.name for path in tmp_path.rglob("*.*")] == ["abcdef.json"]
    assert store.path("abcdef").read_bytes() == b"whole"


def test_equal_values_have_equal_digests_and_others_do_not():
    assert digest({"a": 1, "b": [2.0, None]}) == digest({"b": [2.0, None], "a": 1})
    values = [1, 1.0, True, "1", b"1", [1], {"a": 1}, {1}, None, 2, np.array([1]), np.array([1.0])]
    assert len({digest(one) for one in values}) == len(values)
    assert digest([1], [2]) != digest([1, 2])
    with pytest.raises(TypeError, match="is code"):
        digest(lambda: 1)


def test_a_study_can_be_read_once_and_asked_twice(counting, grid):
    study = read_study(counting, grid)
    assert same(
        counting.study(study, executor="threads:1", cache=None),
        counting.study(attrs.evolve(study, name="other"), executor="threads:2", cache=None),
    )
