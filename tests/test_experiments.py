"""The processes of the experiment with loaded nodes, for real, but briefly."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

from parcast import Query, Registry
from parcast.errors import UnsupportedError
from parcast.program.reader import read_source
from parcast_mpi.running.plan import plan

CORE = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
FILE = Path(__file__).parents[1] / "plugins" / "petri" / "experiments" / "processes.py"
team = runpy.run_path(str(FILE))["team"]


def plan_of(text, p):
    workload = read_source(text, "p.py", "p")
    machine = Registry([]).machine({"name": "m", "processor": {"rate": 1}})
    return plan(workload.content.at(Query(workload=workload, machine=machine, p=p)))


def test_a_ring_of_processes_sends_what_it_should():
    text = """def program(rank, size):
    compute(0.01)
    sendrecv((rank + 1) % size, 4000, (rank - 1) % size)
    if rank == 0:
        send(1, 8)
    if rank == 1:
        recv(0)
        compute(0.02)
"""
    with team(plan_of(text, 2), [CORE, CORE]) as members:
        assert members.run() >= 0.04  # both compute on one core
        assert members.run() >= 0.04


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def program(rank, size):\n    allreduce(8)\n", "allreduce is not run here"),
        ("def program(rank, size):\n    sendrecv(rank, 99999, rank)\n", "99999 bytes is longer"),
    ],
)
def test_what_is_not_run_is_refused(text, message):
    with pytest.raises(UnsupportedError, match=message), team(plan_of(text, 2), [CORE, CORE]):
        pass
