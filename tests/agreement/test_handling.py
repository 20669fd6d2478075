"""What processes add up and copy in collectives: how many bytes, and the same in every family."""

from __future__ import annotations

import attrs
import pytest

from parcast import Query, Registry
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_events, by_sweep

REGISTRY = Registry()
N = 3 * 5 * 7 * 11 * 13 * 16  # cut into any number of parts up to 16
SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16)


def log2_up(p: int) -> int:
    return (p - 1).bit_length()


def once(p: int) -> int:
    """Return the additions of p vectors, none of them made twice."""
    return (p - 1) * N


def by_doubling(p: int) -> int:
    power = 1 << (p.bit_length() - 1)
    return (p - power) * N + power * log2_up(power) * N


#: Bytes that all processes add up together, by collective and algorithm.
ADDED = {
    **{("reduce", name): once for name in (
        "binomial", "linear", "linear-nb", "binary", "in-order-binary", "chain", "rabenseifner",
        "hierarchical",
    )},
    **{("allreduce", name): once for name in (
        "tree", "linear", "reduce-bcast", "ring", "rabenseifner", "hierarchical ring",
    )},
    **{("reduce_scatter", name): lambda p: p * once(p) for name in (
        "pairwise", "ring", "recursive-halving", "butterfly", "reduce-scatterv",
    )},
    ("reduce_scatter", "bruck"): lambda p: p * log2_up(p) * N * p // 2,
    ("allreduce", "dissemination"): lambda p: p * log2_up(p) * N,
    ("allreduce", "recursive-doubling"): by_doubling,
    ("allreduce", "in-network"): lambda p: 0,
    ("scan", "linear"): once,
    ("scan", "dissemination"): lambda p: p * log2_up(p) * N,
    ("bcast", "binomial"): lambda p: 0,
    ("allgather", "ring"): lambda p: 0,
    ("alltoall", "pairwise"): lambda p: 0,
}  # fmt: skip


def asked(line: str, p: int, **network) -> Query:
    machine = {
        "name": "m",
        "processor": {"rate": 1e6},
        "nodes": {"cores": 4},
        "network": {"startup": 2.0**-9, "bandwidth": 2.0**20, **network},
    }
    source = f"def program(rank, size):\n    {line}\n"
    return Query(workload=read_source(source, "h.py", "h"), machine=REGISTRY.machine(machine), p=p)


def elapsed(query: Query) -> list[float]:
    """Return the seconds that elapse on each process."""
    listed = matched_program(query).unrolled.by_rank()
    return [sum(o.arguments.get("seconds", 0) for o in operations) for operations in listed]


@pytest.mark.parametrize(("op", "name"), ADDED)
def test_each_algorithm_adds_up_what_it_must(op, name):
    for p in SIZES:
        query = asked(f"{op}({N})", p, collectives=f"{op} {name}", reduction_bandwidth=1.0)
        assert sum(elapsed(query)) == pytest.approx(ADDED[op, name](p), rel=1e-12), p


@pytest.mark.parametrize(
    ("op", "copies"),
    [
        *((op, lambda p: [N] * p) for op in ("allreduce", "reduce", "scan")),
        *((op, lambda p: [N] * p) for op in ("allgather", "allgatherv")),
        ("reduce_scatter", lambda p: [p * N] * p),
        *((op, lambda p: [0] * p) for op in ("bcast", "gather", "scatter", "alltoall")),
    ],
)
def test_each_process_copies_what_it_brings(op, copies):
    for p in SIZES:
        assert elapsed(asked(f"{op}({N})", p, copy_bandwidth=1.0)) == copies(p), p


@pytest.mark.parametrize("op", ["alltoall", "alltoallv"])
@pytest.mark.parametrize("name", ["pairwise", "scattered", "linear"])
def test_each_process_copies_its_own_block_of_an_alltoall(op, name):
    for p in SIZES:
        query = asked(f"{op}({N})", p, collectives=f"{op} {name}", own_bandwidth=1.0)
        assert elapsed(query) == [N] * p, p


def test_a_scattered_block_over_the_limit_is_a_message_to_oneself():
    calls = {"overhead": 1.0, "overhead_receive": 2.0, "overhead_per_byte": 0.5}
    larger = {"sizes": [{"least": 64, "overhead": 8.0}]}
    for n, seconds in ((16, 0.0), (17, 1.0 + 2.0 + 8.5), (64, 8.0 + 2.0 + 32.0)):
        line, network = f"alltoall({n})", {"eager_limit": 16, **calls, **larger}
        assert elapsed(asked(line, 4, collectives="mpich", **network)) == [seconds] * 4, n
        assert elapsed(asked(line, 4, collectives="alltoall pairwise", **network)) == [0.0] * 4, n


def test_what_is_not_stated_is_not_there():
    native = asked("allreduce(8)", 8)
    assert {block.op for block in matched_program(native).unrolled.blocks} == {"sendrecv"}


@pytest.mark.parametrize("reference", [by_sweep, by_events])
def test_a_sum_takes_its_rounds_and_its_additions(reference):
    query = asked("allreduce(4096)", 8, reduction_bandwidth=2.0**18, copy_bandwidth=2.0**22)
    unrolled = matched_program(query).unrolled
    played = reference(unrolled, Costs.of(query, unrolled.needs(), WHOLE_NETWORK))
    rounds = 3 * (2.0**-9 + 4096 / 2.0**20)
    assert played.time == rounds + 3 * 4096 / 2.0**18 + 4096 / 2.0**22
    assert played.parts[0].compute == pytest.approx(played.time - rounds, rel=1e-12)


SOLVERS = ("emulator.tc", "petri.mean", "perturb.clocked", "spmd.sio", "pamela.bound")


@pytest.mark.parametrize("solver", SOLVERS)
def test_families_take_the_same_and_more_than_without(solver):
    line = "compute(10**5); allreduce(4096); reduce_scatter(512); alltoall(2048)"
    handling = {"reduction_bandwidth": 2.0**18, "copy_bandwidth": 2.0**22, "own_bandwidth": 2.0**21}
    stated = asked(line, 8, **handling)
    network = attrs.evolve(stated.machine.network, **dict.fromkeys(handling))
    parts = {**stated.machine.parts, "network": network}
    plain = attrs.evolve(stated, machine=attrs.evolve(stated.machine, parts=parts))
    slow, fast = (
        REGISTRY.predict(query.workload, query.machine, solver, p=8).time
        for query in (stated, plain)
    )
    handled = 2 * 4096 / 2.0**22 + 2048 / 2.0**21 + 3 * (4096 + 2048) / 2.0**18
    assert slow - fast == pytest.approx(handled, rel=1e-9)


def test_a_root_that_adds_up_for_all_is_still_like_the_others():
    query = asked("reduce(4096)", 64, collectives="reduce linear", reduction_bandwidth=2.0**18)
    row = REGISTRY.predict(query.workload, query.machine, "spmd.sio", p=64)
    assert row.time > 63 * 4096 / 2.0**18
