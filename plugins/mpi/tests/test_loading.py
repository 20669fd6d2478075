"""Background jobs, for real, but briefly."""

from __future__ import annotations

import os

import numpy as np
import pytest

from parcast.cli import main
from parcast.quantities.distributions import Distribution
from parcast_mpi.loading.generator import generate
from parcast_mpi.loading.jobs import Job, random_jobs, read_jobs

CORE = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def test_random_jobs_use_what_they_should_and_are_read_back():
    jobs = random_jobs(Distribution.read("exp:20ms", "s"), 0.5, 400, seed=1)
    demands, arrivals = np.array([[job.demand, job.arrival] for job in jobs]).T
    assert demands.sum() == pytest.approx(200, rel=0.06)
    assert (np.diff(arrivals) >= 0).all()
    assert np.diff(arrivals).std() == pytest.approx(0.04, rel=0.06)
    text = "".join(f"{job.arrival!r} {job.demand!r}\n" for job in jobs)
    assert read_jobs(text, "jobs") == jobs


def test_every_job_burns_what_it_demands():
    allowed = os.sched_getaffinity(0)
    try:
        used = generate([Job(0.0, 0.02), Job(0.01, 0.03), Job(0.012, 0.0)], CORE)
    finally:
        os.sched_setaffinity(0, allowed)
    assert 0.05 <= used < 0.4  # each process begins and ends besides


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ([], 2, "give either --jobs"),
        (["--utilization", "1"], 2, "above 0 and below 1"),
        (["--utilization", "0.5", "--demand", "exp"], 2, "exp"),
        (["--jobs", "{wrong}"], 2, ":2: 'two words' must be two numbers"),
        (["--jobs", "/nowhere"], 2, "/nowhere cannot be read"),
        (["--utilization", "0.5", "--core", "4096"], 1, "there is no core 4096 here"),
    ],
)
def test_bad_loads_are_told_in_a_sentence(tmp_path, capsys, asked, code, message):
    wrong = tmp_path / "jobs.txt"
    wrong.write_text("0.1 0.2\ntwo words\n")
    assert main(["mpi", "load", *(one.replace("{wrong}", str(wrong)) for one in asked)]) == code
    assert message in capsys.readouterr().err
