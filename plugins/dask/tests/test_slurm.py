"""What Slurm is asked: the job script, and a study on jobs that a stand-in for sbatch starts."""

from __future__ import annotations

import re
import sys

import attrs
import pytest

from parcast import ParcastError
from parcast_dask.slurm import Request, cluster, read_request

# Starts the job at once, in a process of its own; scancel ends it.
SBATCH = """#!/bin/sh
cat "$1" >> "$(dirname "$0")/asked"
setsid sh "$(dirname "$0")/asked" > "$(dirname "$0")/log" 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -- -"$1"
"""


def test_the_words_of_a_request():
    text = "queue=long,account=me,jobs=4,cores=16,memory=32GB,walltime=1-00:00:00,interface=ib0"
    assert read_request(text) == Request(
        queue="long", account="me", jobs=4, cores=16, memory="32GB", walltime="1-00:00:00",
        interface="ib0",
    )  # fmt: skip
    assert read_request("") == Request()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queu=a", "no 'queu' to ask. Did you mean 'queue'"),
        ("queue=a;rm", "'queue=a;rm' is not of the form"),
        ("queue", "'queue' is not of the form"),
        ("jobs=0", "'jobs=0' is not of the form"),
        ("cores=many", "'cores=many' is not of the form"),
        ("memory=32", "'memory=32' is not of the form"),
        ("walltime=60", "'walltime=60' is not of the form"),
        ("queue=a\n#SBATCH -x", "is not of the form"),
    ],
)
def test_a_bad_word_is_named(registry, text, message):
    with pytest.raises(ParcastError, match=re.escape(message)):
        registry.executor(f"slurm:{text}")


def test_without_slurm_that_is_said(registry, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ParcastError, match="there is no sbatch here"):
        registry.executor("slurm:queue=normal")


def test_the_job_script_asks_for_what_was_said():
    request = read_request(
        "queue=normal,account=me,cores=4,memory=8GB,walltime=02:30:00,python=/opt/bin/python3"
    )
    with cluster(request) as found:
        script = found.job_script()
        address = found.scheduler_address
    directives = re.findall(r"^#SBATCH (.*)$", script, re.MULTILINE)
    assert set(directives) == {
        "-J parcast", "-p normal", "-A me", "-n 1", "--cpus-per-task=4", "--mem=8G", "-t 02:30:00",
    }  # fmt: skip
    assert "export NUMBA_NUM_THREADS=1\n" in script
    (command,) = [line for line in script.splitlines() if "distributed" in line]
    assert command.startswith(f"/opt/bin/python3 -m distributed.cli.dask_worker {address} ")
    for option in ("--nthreads 1 ", "--nworkers 4 ", "--memory-limit 1.86GiB ", "--nanny "):
        assert option in command


def test_a_study_runs_on_the_jobs_and_ends_them(registry, monkeypatch, tmp_path):
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(__import__("pathlib").Path(__file__).parent))
    asked = {
        "workload": {"name": "w", "phase": [{"parallel": 1}]},
        "machine": {"name": "m", "processor": {"rate": 1}},
        "solver": "slow", "p": "1..40",
    }  # fmt: skip
    spec = f"slurm:cores=2,interface=lo,python={sys.executable}"
    results = registry.study(asked, executor=spec, cache=None)
    expected = registry.study(asked, executor="threads:1", cache=None)
    plain = [[attrs.evolve(r, solve_seconds=None) for r in one.rows] for one in (results, expected)]
    assert plain[0] == plain[1]
    assert (tmp_path / "asked").read_text().count("#SBATCH -J parcast") == 1
