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

from parcast.testing import cases

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


def start(tmp_path, cache, most=1_000_000):
    """Start a study that stands still as soon as so many points are written down."""
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "PARCAST_COUNT": str(tmp_path / "count"),
        "PARCAST_SECONDS": str(SECONDS),
        "PARCAST_MOST": str(most),
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


def written(tmp_path):
    """Return the points written down, a line each."""
    file = tmp_path / "count"
    return file.read_text().splitlines() if file.exists() else []


def stands_still(study, tmp_path, most):
    """Wait until the study has come as far as it may."""
    while study.poll() is None and len(written(tmp_path)) < most:
        time.sleep(0.01)
    assert study.poll() is None


def test_killed_at_random_it_ends_the_same_and_repeats_less_than_a_batch_a_kill(tmp_path):
    chance = random.Random(4)
    alone = tmp_path / "alone"
    alone.mkdir()
    never_killed = start(alone, alone / "cache")
    kills = 0
    while kills < min(10, cases(2)):  # ten at night
        most = len(written(tmp_path)) + chance.randint(1, 24)
        study = start(tmp_path, tmp_path / "cache", most)
        stands_still(study, tmp_path, most)
        kills += 1
        if kills % 2:  # the parent alone, or it and its workers
            study.kill()
        else:
            os.killpg(study.pid, signal.SIGKILL)
        study.communicate()
    done = set(written(tmp_path))
    out, _ = start(tmp_path, tmp_path / "cache").communicate()
    asked = [
        one for one in written(tmp_path) if one != "1,1,1"
    ]  # also asked for the speedups of each batch
    repeated = len(asked) - len(set(asked))
    whole, _ = never_killed.communicate()
    assert json.loads(out) == json.loads(whole)
    assert len(json.loads(out)) == 300
    assert len(set(asked)) == 300 - 1 - 2  # p = 13 is refused
    assert kills <= len(done) < 300 - 1 - 2  # each kill came in the midst of it
    assert repeated <= kills * WORKERS * BLOCK < 300


def test_workers_end_with_a_killed_parent(tmp_path):
    study = start(tmp_path, tmp_path / "cache", most=10)
    stands_still(study, tmp_path, 10)
    assert len(alive(study.pid)) > WORKERS
    study.kill()
    study.communicate()
    until = time.monotonic() + 60
    while alive(study.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(study.pid)


def alive(group):
    """Return the processes of a group that are not ended."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [pid for pid, of, state in rows if int(of) == group and state[0] not in "ZX"]
