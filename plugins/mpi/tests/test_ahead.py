"""Reads ahead: under way beside what a rank does, in order, and an epoch at a time."""

from __future__ import annotations

import threading

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.program import Site, Unrolled
from parcast.program.unroll.blocks import Block
from parcast_mpi import library
from parcast_mpi.running.ahead import Ahead, issues
from parcast_mpi.running.plan import plan
from parcast_mpi.running.solver import Options, measure

AHEAD = {"bytes": 1e6, "file": "own", "collective": False, "ahead": True}


def epochs(*reads: int) -> Unrolled:
    """Return a program of two ranks with so many reads in each epoch, and work beside them."""
    blocks = []
    for count in reads:
        for _ in range(count):
            blocks.append(Block(0, "read", None, AHEAD))
            blocks.append(Block(1, "elapse", None, {"seconds": np.float64(1e-4)}))
        blocks.append(Block(2, "barrier", None, {"color": None}))
    return Unrolled(2, blocks, tuple(map(Site, ("read", "compute", "end"))), "epochs")


def test_a_rank_works_while_it_reads() -> None:
    worked, done = threading.Event(), []

    def read(amount: int, file: str) -> None:
        assert worked.wait(60)  # a read that blocked its rank would wait in vain
        done.append((amount, file))

    ahead = Ahead(read)
    ahead.issue([(1, "own"), (2, "own")])
    worked.set()
    ahead.take()
    ahead.take()
    assert done == [(1, "own"), (2, "own")]


def test_what_fails_in_a_read_is_said_where_it_is_taken() -> None:
    def read(_amount: int, _file: str) -> None:
        raise OSError("the disk is gone")

    ahead = Ahead(read)
    ahead.issue([(1, "own")])
    with pytest.raises(OSError, match="the disk is gone"):
        ahead.take()


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=5))
def test_reads_begin_with_their_epoch_and_each_once(reads: list[int]) -> None:
    steps = plan(epochs(*reads)).steps[0]
    begun = issues(steps)
    assert [len(some) for _, some in sorted(begun.items())] == [n for n in reads if n]
    for place in begun:
        assert place == 0 or steps[place - 1][0] == "barrier"


def test_blocking_reads_begin_where_they_stand() -> None:
    assert not issues(plan(epochs(2, 1), blocking=True).steps[0])


@pytest.mark.parametrize("blocking", [False, True])
def test_ranks_read_ahead_or_block(mpi: library.Library, *, blocking: bool) -> None:
    del mpi
    made = plan(epochs(3, 2), blocking=blocking)
    assert any(given[3] for op, _, given in made.steps[0] if op == "read") != blocking
    found = measure(made, 2, Options(repetitions=3, warmup=1))
    assert len(found.times) == 3
    for time, parts in zip(found.times, found.parts, strict=True):
        assert parts.total == pytest.approx(time)
        assert parts.io > 0
    assert attrs.asdict(made)["steps"][1] == made.steps[1]
