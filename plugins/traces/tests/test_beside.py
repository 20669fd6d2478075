"""What is computed beside a nonblocking collective goes on while its messages do."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from parcast import Registry
from parcast.cli import main
from parcast.errors import UnsupportedError
from parcast.program.matching import algorithms, groups
from parcast.program.matching.beside import interleaved
from parcast.program.matching.collectives import steps
from parcast.testing import cases, seeds, turn
from parcast_traces.readers import read_trace

CASES = cases(12)

MACHINE = """
name = "plain"
[processor]
rate = "1 GFLOP/s"
[network]
startup = "2 us"
bandwidth = "1 GB/s"
contention = "none"
collectives = "{collectives}"
"""


def chakra(folder, collective, computing):
    """Write a graph for each rank: a kernel, then a sum beside another kernel, then both done."""
    folder.mkdir(exist_ok=True)
    for rank, beside in enumerate(computing):
        nodes = [{"Id": 1, "Name": "k", "NodeType": 4, "runtime": 5, "tid": 7, "data_deps": []}]
        needs = [1]
        if collective:
            nodes.append({"Id": 2, "Name": "sum", "NodeType": 7, "tid": 20, "data_deps": [1],
                          **collective})  # fmt: skip
            needs.append(2)
        if beside:
            nodes.append({"Id": 3, "Name": "k", "NodeType": 4, "runtime": beside, "tid": 7,
                          "data_deps": [1]})  # fmt: skip
            needs.append(3)
        nodes.append({"Id": 4, "Name": "k", "NodeType": 4, "runtime": 1, "tid": 7,
                      "data_deps": needs})  # fmt: skip
        text = json.dumps({"workload_graph": nodes})
        (folder / f"c.{rank}.json").write_text(text)
    return folder / "c.0.json"


def test_a_rank_alone_whose_whole_time_is_in_collectives_is_refused(tmp_path, capsys):
    path = chakra(tmp_path, {"comm_type": 0, "comm_size": 4096}, [9])
    assert any("times are too low" in note for note in read_trace(path).notes)
    graph = json.loads(path.read_text())["workload_graph"]
    for node in graph:
        node.pop("runtime", None)
    path.write_text(json.dumps({"workload_graph": graph}))
    with pytest.raises(UnsupportedError, match="collectives are all that takes time in it, and no"):
        read_trace(path)
    assert main(["show", str(path)]) == 0
    assert "1 calls, 4,096 bytes" in capsys.readouterr().out


def seconds(workload, machine, solver="emulator.tc"):
    row = Registry().compare(workload, machine, solvers=solver).rows[0]
    assert row.time is not None, row.message
    return row.time


@pytest.mark.parametrize(
    ("kind", "algorithm", "loss", "ratio"),
    turn([
        (*named, ratio)
        for named in (
            (0, "allreduce ring", 1.01), (0, "allreduce recursive-doubling", 1.01),
            (2, "allgather ring", 1.01), (6, "alltoall pairwise", 1.01),
            (6, "alltoall linear", 1.01), (5, "bcast binomial", 1.51),
            (7, "reduce_scatter ring", 1.01),
        )
        for ratio in (0.3, 1.0, 3.0)
    ], 2),
)  # fmt: skip
def test_overlap_takes_the_longer_of_both(tmp_path, kind, algorithm, loss, ratio):
    machine = tmp_path / "plain.toml"
    machine.write_text(MACHINE.format(collectives=algorithm))
    called = {"comm_type": kind, "comm_size": 4_000_000}
    ends = 6e-6
    alone = seconds(chakra(tmp_path / "alone", called, [0] * 4), machine) - ends
    beside = round(ratio * alone * 1e6)
    both = seconds(chakra(tmp_path / "both", called, [beside] * 4), machine) - ends
    longer = max(alone, beside * 1e-6)
    assert longer * (1 - 1e-9) <= both <= loss * longer
    assert both < alone + beside * 1e-6
    assert seconds(tmp_path / "both" / "c.0.json", machine, "petri.mean") == pytest.approx(
        both + ends, rel=1e-6
    )


@pytest.mark.parametrize("seed", seeds(CASES))
def test_uneven_work_is_neither_lost_nor_hidden(tmp_path, seed):
    choice = random.Random(seed)
    machine = tmp_path / "plain.toml"
    machine.write_text(MACHINE.format(collectives="allreduce ring, alltoall pairwise"))
    called = {"comm_type": choice.choice([0, 2, 6, 7]), "comm_size": choice.randint(1, 1 << 22)}
    computing = [choice.choice([0, 10, 400, 5000]) for _ in range(choice.choice([2, 3, 4, 8]))]
    alone = seconds(chakra(tmp_path / "alone", called, [0] * len(computing)), machine)
    both = seconds(chakra(tmp_path / "both", called, computing), machine)
    most = max(computing) * 1e-6
    assert max(alone, most + 6e-6) * (1 - 1e-9) <= both <= (alone + most) * (1 + 1e-9)


@pytest.mark.parametrize("seed", seeds(CASES))
def test_every_process_has_all_its_messages_and_all_its_time(seed):
    choice = np.random.default_rng(seed)
    size = int(choice.integers(2, 9))
    among = groups(np.arange(size), None)
    op = str(choice.choice(["allreduce", "alltoall", "bcast", "allgather", "barrier"]))
    messages = steps(op, algorithms(None), among, 1e6, 0)
    own = choice.choice([0.0, 1e-3, 2.0], size)
    mixed = interleaved(messages, among.ranks, own, (1e-6, 1e-9))
    spent = np.zeros(size)
    for step in mixed:
        if step.op == "elapse":
            spent[step.ranks] += step.arguments["seconds"]
    assert spent == pytest.approx(own)
    for names in (("send", "isend", "sendrecv"), ("recv", "irecv", "sendrecv")):
        before, after = (
            np.bincount(np.concatenate([s.ranks for s in part if s.op in names]), minlength=size)
            for part in (messages, mixed)
        )
        assert before.tolist() == after.tolist()
    if not own.any():
        assert mixed == messages
