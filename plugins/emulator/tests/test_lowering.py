"""Emulated applications as programs: the same work, on the same processes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import parcast_emulator
from parcast import Query, Registry
from parcast.comparison.lowering import lower
from parcast.program.matching.prepare import matched_program
from parcast_emulator.emulators import to_program
from parcast_emulator.hardware import cluster_of

from .test_emulators import UNIT

REGISTRY = Registry([parcast_emulator])
ASKED = [("titan", 6), ("titan", 1), ("pathfinder", 8), ("virtual-microscope", 3)]


def query(name, p, **parameters):
    small = {} if name == "virtual-microscope" else {"per_node": 15}
    workload, machine = REGISTRY.workload(name), REGISTRY.machine(UNIT)
    return Query(workload=workload, machine=machine, p=p, d=2, parameters=small | parameters)


def lowered(asked):
    ready, steps, notes = lower(REGISTRY.lowerings, asked, "program")
    assert steps == ("emulator -> program",)
    return ready, notes


@pytest.mark.parametrize(("name", "p"), ASKED)
def test_every_block_is_read_sent_received_and_computed_on_where_it_was(name, p):
    asked = query(name, p)
    cluster = cluster_of(asked)
    done = [Counter() for _ in range(p)]
    for blocks in asked.workload.content.epochs(asked, cluster):
        lists = blocks.consumers.as_lists()
        size = np.broadcast_to(blocks.size, blocks.disk.shape)
        compute = np.broadcast_to(blocks.compute, blocks.disk.shape)
        for block, node in enumerate(cluster.node_of[blocks.disk].tolist()):
            done[node]["read", size[block]] += 1
            for target in lists.nodes[lists.start[block] : lists.start[block + 1]].tolist():
                done[target]["elapse", compute[block]] += 1
                if target != node:
                    done[node]["isend", target, size[block]] += 1
                    done[target]["recv", node] += 1
    ready, _ = lowered(asked)
    for rank, operations in enumerate(ready.workload.content.at(ready).by_rank()):
        found = Counter()
        for one in operations:
            given = one.arguments
            match one.op:
                case "read":
                    assert given["file"] == "own"
                    found["read", given["bytes"]] += 1
                case "elapse":
                    found["elapse", given["seconds"]] += 1
                case "isend":
                    found["isend", given["dst"], given["bytes"]] += 1
                case "recv":
                    found["recv", given["src"]] += 1
                case op:
                    assert op == "barrier"
        assert found == done[rank]


@pytest.mark.parametrize(("name", "p"), ASKED)
@pytest.mark.parametrize("limit", [None, 0])
def test_every_process_ends_whatever_the_eager_limit_is(name, p, limit):
    asked = query(name, p)
    network = UNIT["network"] | ({} if limit is None else {"eager_limit": limit})
    machine = REGISTRY.machine(UNIT | {"network": network})
    ready, _ = lowered(Query(workload=asked.workload, machine=machine, p=p, d=2,
                             parameters=asked.parameters))  # fmt: skip
    assert matched_program(ready).unrolled.count()


def test_one_block_at_a_time_takes_as_long_as_in_the_application():
    asked = query("titan", 1, per_node=1)
    (whole,) = REGISTRY.compare(asked.workload, asked.machine, p=1, d=1, solvers="emulator.lc",
                                settings={"per_node": 1}).rows  # fmt: skip
    ready, notes = lowered(asked)
    machine = UNIT | {"processor": {"rate": 1e6}}
    (row,) = REGISTRY.compare(ready.workload, machine, p=1, d=1, solvers="emulator.tc").rows
    assert row.time == pytest.approx(whole.time)
    assert all("read" in note or "receiv" in note for note in notes)


def test_epochs_are_parted_by_a_barrier_and_that_is_said():
    ready, notes = lowered(query("virtual-microscope", 3))
    blocks = ready.workload.content.at(ready).blocks
    assert sum(block.op == "barrier" for block in blocks) == 1
    assert notes[-1] == "a barrier separates the epochs, and its messages add to the time"


def test_the_program_is_of_the_p_that_was_asked():
    ready, _ = lowered(query("titan", 6))
    assert ready.workload.processes == 6
    (row,) = REGISTRY.compare(ready.workload, UNIT, p=7, solvers="emulator.tc").rows
    assert row.status.value == "invalid"
    assert row.message.endswith("so it has no prediction at p=7; give -p 6")


def test_too_large_a_program_is_refused(monkeypatch):
    monkeypatch.setattr(to_program, "MOST_OPERATIONS", 100)
    from parcast import UnsupportedError

    with pytest.raises(UnsupportedError, match="titan at p=6 is a program of over 100 operations"):
        lowered(query("titan", 6))
