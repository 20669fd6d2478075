"""Allocations: the best of all by trying them all, and the node whose load costs most."""

from __future__ import annotations

import json
from itertools import permutations, product

import attrs
import pytest

import parcast_petri
from parcast import Registry
from parcast.cli import main
from parcast_petri.commands.arguments import query_of
from parcast_petri.options import SampledOptions
from parcast_petri.placement import PlacementSearch
from parcast_petri.solvers.explicit import Explicit

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


def searched(files, p, **options) -> PlacementSearch:
    return PlacementSearch(query_of(Registry([parcast_petri]), *files, p, []), **options)


def every(nodes, p, cores=1):
    """Yield each allocation that leaves every process a core."""
    for mapping in product(range(nodes), repeat=p):
        if max(map(mapping.count, mapping)) <= cores:
            yield mapping


def test_the_best_mean_is_that_of_all_nodes_for_all_processes(files):
    search = searched(files, 3)
    found = search.best()
    assert found.value == min(map(search.value, every(7, 3)))
    assert found.value == search._solved(attrs.evolve(search.query, mapping=found.mapping))
    assert len(search.tried) == 25  # of 210: 27 ways to choose kinds but those of too few nodes


def test_six_processes_on_three_kinds_of_nodes(files):
    search = searched(files, 6)
    kinds = {0: [0, 1], 1: [2, 3, 4], 2: [5, 6]}
    chosen = []
    for choice in product(kinds, repeat=6):
        names = {kind: iter(nodes) for kind, nodes in kinds.items()}
        mapping = tuple(next(names[kind], None) for kind in choice)
        if None not in mapping:
            chosen.append(mapping)
    found = search.best()
    tried = len(search.tried)
    assert found.value == min(map(search.value, chosen))
    assert len(search.tried) == tried == len(chosen)


def test_the_best_quantile_of_six_processes_is_that_of_all_allocations(files, tmp_path):
    machine, kinds = tmp_path / "mixed.toml", ([0], [1, 2], [3, 4, 5])
    found = MACHINE.replace("count = 7", "count = 6").replace("{ count = 2 }", "{ count = 1 }")
    found = found.replace("count = 3", "count = 2").replace("count = 2, weight = 0.5", "count = 3")
    machine.write_text(found.replace("nodes = [0.6, 0.6]", "nodes = [0.6, 0.3, 0.3]"))
    query = query_of(Registry([parcast_petri]), files[0], str(machine), 6, [])
    exact = {}
    for mapping in permutations(range(6)):
        if all(sorted(kind, key=mapping.index) == kind for kind in kinds):
            options = SampledOptions(most=10, quantile=0.8)
            asked = attrs.evolve(query, mapping=mapping, options=options)
            exact[mapping] = Explicit().solve(asked).quantiles[0.8]
    search = PlacementSearch(query, 0.8, 10)
    best = search.best()
    assert search.tried == exact
    assert len(exact) == 60
    assert exact[best.mapping] == best.value == min(exact.values()) < 0.8 * max(exact.values())


@pytest.mark.parametrize(
    "more",
    [
        "cores = 2\n[network.local]\nstartup = 0\nbandwidth = 1e9\n",
        '[links]\nnetworks = [{ nodes = [3, 4], startup = "1 ms", bandwidth = "1 GB/s" }]\n',
    ],
)
def test_neighbors_and_networks_of_nodes_count(files, tmp_path, more):
    machine = (
        MACHINE.replace("[background]", f"{more}[background]")
        .replace("count = 7\ngroups", "count = 6\ngroups")
        .replace("{ count = 2, weight = 0.5 }", "{ count = 1, weight = 0.5 }")
    )
    (tmp_path / "mixed.toml").write_text(machine)
    search = searched(files, 3)
    best = min(
        search._solved(attrs.evolve(search.query, mapping=mapping))
        for mapping in every(6, 3, 2 if "cores" in more else 1)
    )
    assert search.best().value == best


def test_a_search_among_too_many_ends_where_nothing_near_is_better(files, monkeypatch):
    best = searched(files, 4).best().value
    monkeypatch.setattr("parcast_petri.placement.MOST_TRIED", 60)
    search = searched(files, 4)
    climbed = search.best().value
    assert not search.candidates
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
    assert 0 < blamed[0]["ci"][0] < blamed[0]["seconds"] < blamed[0]["ci"][1]
    assert main(["petri", "place", *files, "-p", "8"]) == 2
    assert "8 processes and 7 cores" in capsys.readouterr().err
