"""A study that is killed, and asked again, ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

STUDY = """\
import importlib, json, sys
from parcast import Registry

if __name__ == "__main__":
    registry = Registry([importlib.import_module("counting")])
    results = registry.study(json.loads(sys.argv[1]), executor=sys.argv[2], cache=sys.argv[3])
    rows = [{**row.to_dict(), "solve_seconds": None} for row in results.rows]
    print(json.dumps(rows, sort_keys=True))
"""

GRID = {
    "workload": {"name": "w", "parameters": {"n": 1}, "phase": [{"parallel": "n"}]},
    "machine": {"name": "m", "processor": {"rate": 1}},
    "solver": "counts",
    "p": list(range(1, 151)),
    "d": [1, 2],
}
SECONDS = 0.01  # a point
WORKERS = 2
BLOCK = 0.4 / SECONDS / 8  # points: an eighth of a batch, lost with each worker


def start(tmp_path, cache):
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "PARCAST_COUNT": str(tmp_path / "count"),
        "PARCAST_SECONDS": str(SECONDS),
    }
    (tmp_path / "run.py").write_text(STUDY)
    command = [sys.executable, str(tmp_path / "run.py"), json.dumps(GRID), f"processes:{WORKERS}"]
    return subprocess.Popen(  # a group of its own, so that all of it can be killed
        [*command, str(cache)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )


def test_killed_ten_times_at_random_it_ends_the_same_and_repeats_less_than_a_batch_a_kill(tmp_path):
    chance = random.Random(4)
    kills = 0
    while kills < 10:
        study = start(tmp_path, tmp_path / "cache")
        counted = tmp_path / "count"
        before = counted.stat().st_size if counted.exists() else 0
        while (
            study.poll() is None and (counted.stat().st_size if counted.exists() else 0) == before
        ):
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.12))
        kills += 1
        if kills % 2:  # the parent alone, or it and its workers
            study.kill()
        else:
            os.killpg(study.pid, signal.SIGKILL)
        study.communicate()
    done = set((tmp_path / "count").read_text().splitlines())
    out, _ = start(tmp_path, tmp_path / "cache").communicate()
    lines = (tmp_path / "count").read_text().splitlines()
    asked = [one for one in lines if one != "1,1,1"]  # also asked for the speedups of each batch
    repeated = len(asked) - len(set(asked))
    whole, _ = start(tmp_path, tmp_path / "other").communicate()
    assert json.loads(out) == json.loads(whole)
    assert len(json.loads(out)) == 300
    assert len(set(asked)) == 300 - 1 - 2  # p = 13 is refused
    assert kills <= len(done) < 300 - 1 - 2  # each kill came in the midst of it
    assert repeated <= kills * WORKERS * BLOCK < 300


def test_workers_end_with_a_killed_parent(tmp_path):
    study = start(tmp_path, tmp_path / "cache")
    counted = tmp_path / "count"
    while not counted.exists():
        time.sleep(0.01)
    study.kill()
    study.communicate()
    time.sleep(0.5)
    before = counted.stat().st_size
    time.sleep(0.3)
    assert counted.stat().st_size == before
