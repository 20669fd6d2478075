"""Models of programs on networks: their formulas, what binds, and numbers where there are none."""

import math

import attrs
import pytest

from parcast import Query, Registry
from parcast.cli import main
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_sweep, turn
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.programs.links import link_seconds
from parcast_pamela.programs.lowering import lower
from parcast_pamela.programs.words import resource_of
from parcast_pamela.solvers.bound import Bound, Options

REGISTRY = Registry()
TAPERED = {"kind": "fat-tree", "down": [8, 8], "up": [1, 4]}


def query_of(source, p=16, form="free", topology=None, cores=1, **network):
    body = "\n".join(f"    {line}" for line in source.strip("\n").splitlines())
    workload = read_source(f"def program(rank, size, n=8):\n{body}\n", "made.py", "made")
    table = {
        "name": "cluster",
        "processor": {"rate": 2**20},
        "nodes": {"count": 64 // cores, "cores": cores},
        "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "fair", **network},
    }
    machine = REGISTRY.machine(table if topology is None else table | {"topology": topology})
    return Query(workload=workload, machine=machine, p=p, options=Options(form=form))


def bound(query):
    workload, notes = lower(query.workload, query)
    found = Bound().solve(attrs.evolve(query, workload=workload))
    return attrs.evolve(found, notes=(*notes, *found.notes))


def costs_of(query):
    return Costs.of(query, matched_program(query).unrolled.needs(), WHOLE_NETWORK)


def reference(query):
    return by_sweep(matched_program(query).unrolled, costs_of(query)).time


def fullest(query):
    return next(iter(link_seconds(matched_program(query), costs_of(query)).items()))


def in_numbers(found):
    return any("numbers in place of formulas" in note for note in found.notes)


EXCHANGE = "for k in range(1, size):\n    sendrecv((rank + k) % size, 2**16, (rank - k) % size)"
SHIFT = "sendrecv((rank + 3) % size, 2**16, (rank - 3) % size)"
BACK = "sendrecv((rank - 1) % size, 2**16, (rank + 1) % size)"


@pytest.mark.parametrize(
    ("source", "network", "formula"),
    [
        (
            "alltoall(n)",
            {"collectives": "alltoall pairwise"},
            "P*n*port_per_byte - n*port_per_byte",
        ),
        ("allreduce(n)", {}, "n*port_per_byte*ceil(log2(P))"),
    ],
)
def test_ports_of_a_star_are_closed_in_p(source, network, formula):
    query = query_of(source, startup=0, port_bandwidth=2**18, **network)
    found = bound(query)
    assert found.details["regime"] in {formula, formula.replace("port_", "")}
    assert found.time <= reference(query) * (1 + 1e-12)
    assert not in_numbers(found)


TOPOLOGIES = [
    (None, 4),
    ({"kind": "star"}, 8),
    (TAPERED, 1),
    ({**TAPERED, "half": True}, 1),
    ({**TAPERED, "down": [4, 4], "up": [1, 2], "cables": [1, 2]}, 4),
    ({"kind": "dragonfly", "groups": 2, "routers": 4, "nodes": 8}, 1),
]


@pytest.mark.parametrize(
    ("source", "topology", "cores"),
    turn([(source, *where) for source in (EXCHANGE, SHIFT, BACK) for where in TOPOLOGIES], 4),
)
def test_regular_messages_are_closed_in_p_where_they_are_on_the_fullest_link(
    source, topology, cores
):
    query = query_of(source, 64, topology=topology, cores=cores)
    found = bound(query)
    name, seconds = fullest(query)
    assert found.time <= reference(query) * (1 + 1e-11)
    assert found.details["contention"] >= seconds * (1 - 1e-9)
    if not in_numbers(found):
        assert "ranks" in found.details["formula"]
        assert found.details["contention"] <= seconds * (1 + 1e-9)
    even = source == EXCHANGE and "dragonfly" not in str(topology)
    assert not even or not in_numbers(found), name


@pytest.mark.parametrize(
    ("dims", "half"), [([5, 5], False), ([3, 7], False), ([4, 4], True), ([2, 2, 4], True)]
)
def test_all_to_all_on_a_torus_is_closed_in_p_where_both_ways_round_carry_as_much(dims, half):
    query = query_of(EXCHANGE, 16, topology={"kind": "torus", "dims": dims, "half": half})
    count = math.prod(dims)
    machine = REGISTRY.machine(query.machine.data | {"nodes": {"count": count}})
    query = attrs.evolve(query, machine=machine, p=count)
    found = bound(query)
    assert not in_numbers(found)
    assert "ranks" in found.details["formula"]
    assert found.details["contention"] == pytest.approx(fullest(query)[1], rel=1e-12)
    assert found.time <= reference(query) * (1 + 1e-11)


def test_a_taper_binds_by_the_name_of_its_link():
    query = query_of(EXCHANGE, 64, topology=TAPERED, startup=0)
    found = bound(query)
    crossing = 8 * 56 * 2**16 / 2**20 / 4  # of eight nodes to all others, over four cables
    assert found.time == found.lower == crossing
    assert found.binding == "network"
    assert found.details["binds"] in {"leaf0 -> spine0", "spine0 -> leaf0"}
    assert found.details["utilization"]["leaf0 -> spine0"] == 1.0
    assert found.details["utilization"]["node7 out"] == pytest.approx(63 / 16 / crossing)


@pytest.mark.parametrize(
    "topology",
    [
        {"kind": "torus", "dims": [4, 4]},
        {
            "kind": "graph",
            "bandwidth": 2**18,
            "links": [{"ends": [f"node{node}", "hub"]} for node in range(16)],
        },
        {"kind": "bus", "bandwidth": 2**20},
    ],
)
def test_other_networks_have_numbers(topology):
    query = query_of("alltoall(2**12)", topology=topology)
    query = attrs.evolve(
        query, machine=REGISTRY.machine(query.machine.data | {"nodes": {"count": 16}})
    )
    found = bound(query)
    assert in_numbers(found)
    assert fullest(query)[1] <= found.time <= reference(query) * (1 + 1e-11)
    assert (
        found.details["utilization"].keys()
        == link_seconds(matched_program(query), costs_of(query)).keys()
    )


ALIKE = "for step in range(n):\n    compute(2**20)\n    allreduce(2**10)\n    barrier()"
SIZES = [
    {"least": 512, "startup": 2**-4, "overhead": 2**-8, "overhead_receive": 2**-7},
    {"least": 1024, "bandwidth": 2**21},
]


@pytest.mark.parametrize(
    "network",
    [
        {"header": 64},
        {"overhead": 2**-9, "overhead_by": "message", "eager": "waits"},
        {"sizes": SIZES[1:]},
        {"sizes": [{"least": 2048, "startup": 1}]},
        {"levels": [{"name": "switch", "size": 1}]},
    ],
)
@pytest.mark.parametrize("contention", ["none", "fair"])
def test_where_all_are_alike_the_formula_is_the_time(network, contention):
    query = query_of(ALIKE, contention=contention, **network)
    found = bound(query)
    assert not in_numbers(found)
    assert found.time == pytest.approx(reference(query), rel=1e-12)


def test_sizes_that_cost_receivers_more_are_below_the_time():
    query = query_of(ALIKE, sizes=SIZES)
    assert 0.9 * reference(query) < bound(query).time <= reference(query)


CHAIN = """
if rank > 0:
    recv(rank - 1)
compute(2**18 * (rank + 1))
if rank < size - 1:
    send(rank + 1, 2**16)
"""


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus", "fair"])
def test_in_numbers_processes_wait_for_each_message(contention):
    query = query_of(CHAIN, form="numbers", contention=contention)
    found = bound(query)
    assert found.time == found.lower == pytest.approx(reference(query), rel=1e-12)
    assert bound(query_of(CHAIN, contention=contention)).time < 0.2 * found.time


@pytest.mark.parametrize("form", ["free", "numbers", "barrier"])
@pytest.mark.parametrize(
    "network",
    [
        {"local": {"startup": 0, "bandwidth": 2**24}},
        {"levels": [{"name": "socket", "size": 2, "startup": 0, "shared": 2**18}]},
        {"sizes": SIZES},
        {"duplex": "half", "ports": 2},
    ],
)
@pytest.mark.parametrize("contention", ["none", "endpoint", "bus", "fair"])
def test_no_network_is_refused(network, form, contention):
    query = query_of(
        "compute(2**10)\n" + SHIFT, form=form, cores=4, contention=contention, **network
    )
    found, time = bound(query), reference(query)
    assert (
        found.time >= time * (1 - 1e-12) if form == "barrier" else found.time <= time * (1 + 1e-11)
    )


def test_a_level_that_shares_its_bandwidth_is_a_link():
    levels = [{"name": "socket", "size": 4, "startup": 0, "shared": 2**18}]
    source = "sendrecv(size - 1 - rank, 2**18, size - 1 - rank)"
    found = bound(query_of(source, 4, cores=4, levels=levels))
    assert found.time == 4.0
    assert found.details["binds"] == "socket 0"


@pytest.mark.parametrize(
    ("link", "resource"),
    [
        ("leaf3 -> spine1", "leaf3_to_spine1"),
        ("node0 <-> node1", "node0_and_node1"),
        ("node7 port2 out", "node7_port2_out"),
        ("bus", "link_bus"),
        ("seq", "link_seq"),
        ("9 <-> core", "link_9_and_core"),
        ("é", "link_"),
    ],
)
def test_a_link_has_a_name_in_the_language(link, resource):
    assert resource_of(link) == resource


def test_a_formula_of_too_many_steps_is_left_for_numbers(monkeypatch):
    def too_many(*_):
        raise ModelValueError("a value takes too many steps")

    monkeypatch.setattr(Compiled, "values_at", too_many)
    query = query_of(SHIFT)
    workload, notes = lower(query.workload, query)
    assert workload.content.form == "numbers"
    assert "they leave out some of what node0 out carries" in notes[1]


def test_names_of_the_network_may_be_a_programs():
    source = (
        "for node in range(1, n):\n    sendrecv((rank + 1) % size, 64 * node, (rank - 1) % size)"
    )
    found, plain = (
        bound(query_of(text, cores=4)) for text in (source, source.replace("node", "step"))
    )
    assert found.time == plain.time
    assert "node_ranks" in found.details["formula"]


@pytest.mark.parametrize("form", ["free", "barrier"])
def test_what_no_formula_says_is_said_in_numbers(form):
    source = "x = 0\nfor i in range(n):\n    compute(x)\n    x = x + 1\nbarrier(color=rank % 2)"
    found = bound(query_of(source, form=form))
    assert found.time == pytest.approx(reference(query_of(source)))
    assert any("in place of formulas: made.py:" in note for note in found.notes)


def test_a_generated_model_names_the_network(tmp_path, capsys):
    file = tmp_path / "tapered.toml"
    file.write_text(
        'name = "tapered"\n[processor]\nrate = "2 GFLOP/s"\n[nodes]\ncount = 64\n[network]\n'
        'startup = "2 us"\nbandwidth = "12.5 GB/s"\ncontention = "fair"\n'
        'collectives = "alltoall pairwise"\n'
        '[topology]\nkind = "fat-tree"\ndown = [8, 8]\nup = [1, 4]\n'
    )
    assert main(["pamela", "generate", "transpose", str(file), "-p", "64"]) == 0
    text = capsys.readouterr().out
    assert "resource subtree1" in text
    assert "param subtree1_ranks : int >= 1 = 8" in text
    assert main(["pamela", "generate", "transpose", str(file), "--form", "numbers"]) == 0
    assert "resource node0_out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("stencil2d", {"steps": 10}),
        ("transpose", {"repeats": 2}),
        ("tree-reduction", {}),
        ("master-worker-any", {"tasks": 40}),
    ],
)
def test_shipped_programs_are_bounded_on_a_cluster_with_levels(name, parameters):
    table = {
        "name": "cluster",
        "processor": {"rate": 1e9},
        "nodes": {"count": 16, "cores": 4},
        "network": {
            "startup": 2e-6,
            "bandwidth": 1e9,
            "contention": "fair",
            "header": 16,
            "overhead_by": "message",
            "levels": [{"name": "socket", "size": 2, "startup": 3e-7, "shared": 4e9}],
        },
        "topology": {"kind": "fat-tree", "down": [4, 4], "up": [1, 2], "latency": 1e-7},
    }
    workload, machine = REGISTRY.workload(name), REGISTRY.machine(table)
    query = Query(workload=workload, machine=machine, p=16, parameters=parameters)
    time = reference(query)
    for form in ("free", "numbers"):
        found = bound(query.with_options(Options(form=form)))
        assert 0.7 * time < found.lower == found.time <= time * (1 + 1e-11)
