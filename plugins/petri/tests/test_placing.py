"""Allocations: the best of all by trying them all, and the node whose load costs most."""

from __future__ import annotations

import json
from itertools import product

import pytest

import parcast_petri
from parcast import Registry
from parcast.cli import main
from parcast_petri.placing import Placing
from parcast_petri.subjects import query_of

PROGRAM = '''"""Uneven work, and a message to the next."""

def program(rank, size):
    compute(100 * (1 + rank % 3))
    sendrecv((rank + 1) % size, 8, (rank - 1) % size)
    compute(50)
'''
MACHINE = """
name = "mixed"
[processor]
rate = "10 FLOP/s"
[network]
startup = "1 s"
bandwidth = "8 B/s"
[nodes]
count = 7
groups = [{ count = 2 }, { count = 3, weight = 0.75 }, { count = 2, weight = 0.5 }]
[background]
nodes = [0.6, 0.6]
demand = "hyper:4,500ms"
"""


@pytest.fixture
def files(tmp_path):
    program, machine = tmp_path / "uneven.py", tmp_path / "mixed.toml"
    program.write_text(PROGRAM)
    machine.write_text(MACHINE)
    return str(program), str(machine)


def searched(files, p, **options) -> Placing:
    return Placing(query_of(Registry([parcast_petri]), *files, p, []), **options)


@pytest.mark.parametrize("p", [2, 5, 6])
def test_the_best_is_that_of_all_nodes_for_all_processes(files, p):
    search = searched(files, p)
    kind = {node: at for at, one in enumerate(search.kinds()) for node in one.nodes}
    seen = {}
    for mapping in product(range(7), repeat=p) if p < 5 else ():
        if len(set(mapping)) == p:
            seen[mapping] = search.value(mapping)
    found = search.best()
    every = [
        value
        for choice in product(range(3), repeat=p)
        if search._fits(search.kinds(), choice)
        for value in [search.value(search._mapped(search.kinds(), choice))]
    ]
    assert found.value == min([*every, *seen.values()])
    assert len(set(found.mapping)) == p
    assert len(kind) == 7


def test_a_search_among_too_many_ends_where_nothing_near_is_better(files, monkeypatch):
    best = searched(files, 6).best().value
    monkeypatch.setattr("parcast_petri.placing.MOST_TRIED", 400)
    climbed = searched(files, 6).best().value
    assert best <= climbed <= 1.1 * best


def test_a_quantile_shuns_noise_that_the_mean_accepts(files):
    quantile = searched(files, 2, quantile=0.95, runs=40).best()
    assert not {0, 1}.intersection(quantile.mapping)


def test_the_commands(files, capsys):
    assert main(["petri", "place", *files, "-p", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["mapping"]), found["exhaustive"]) == (3, True)
    assert main(["petri", "blame", *files, "-p", "3", "--runs", "60", "--json"]) == 0
    blamed = json.loads(capsys.readouterr().out)["nodes"]
    assert [one["node"] for one in blamed] == [1, 0]  # process 1 has twice the work of process 0
    assert blamed[0]["seconds"] > 0
    assert main(["petri", "place", *files, "-p", "8"]) == 2
    assert "8 processes and 7 cores" in capsys.readouterr().err
