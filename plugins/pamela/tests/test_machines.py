"""The library: every machine implements its interface whole, and machine files give values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import parcast_pamela
from parcast import Query, Registry, Status
from parcast.testing import check_machine, turn
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import residual
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.enumeration import bounds_at
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.reading import library, model_of, read_model
from parcast_pamela.solvers.bound import Bound

REGISTRY = Registry([parcast_pamela])
CALLS = {
    "message-passing": [
        *("compute(P-1, 1000)", "memory(0, 800 B)", "message(0, P-1, 600 B)", "message(0, 0, 9 B)"),
        *("barrier", "bcast(P-1, 240 B)", "reduce(0, 240 B)", "allreduce(8 B)"),
        *("allgather(120 B)", "alltoall(120 B)"),
    ],
    "data-parallel": ["op(P-1)", "lmove(0, 3)", "gmove(0, P-1)", "bcast(P-1)", "reduce(0)"],
}
MACHINES = {
    "message-passing": ("loggp", "multicore", "t800-line", "t800-mesh"),
    "data-parallel": (
        *("das1", "multicore-loops", "vec-parallel", "vec-pipeline", "vec-sequential"),
    ),
}
PAIRS = [(kind, machine) for kind, names in MACHINES.items() for machine in names]
LOOPS = ("matmul", "gauss-cyclic", "gauss-block", "gauss-ij", "psrs", "psrs-improved")


def linked(workload, machine):
    return read_model(Path(str(REGISTRY.workloads[workload].path)), machine)


def test_every_machine_is_in_the_list():
    assert set(library("machines")) == {machine for _, machine in PAIRS}
    assert set(library("interfaces")) == set(CALLS)


@pytest.mark.parametrize(("kind", "machine"), PAIRS)
def test_a_machine_implements_its_interface_whole(kind, machine):
    text = f'import "{kind}"\nL = {" ; ".join(CALLS[kind])}\n'
    called = {call.partition("(")[0] for call in CALLS[kind]}
    alone = model_of(text)
    assert called == set(alone.missing()) == set(alone.externs)
    model = model_of(text, machine=machine)
    compiled = compile_model(model)
    for p in (1, 3, 4):
        exact, found = bounds_at(model, bind(model, {"P": p})), compiled.values({"P": p})
        assert (found.critical_path, found.contention, found.bound, found.upper) == (
            exact.critical_path, exact.contention, exact.bound, exact.upper
        )  # fmt: skip
        assert found.bound > 0


@pytest.mark.parametrize("machine", MACHINES["message-passing"])
def test_nothing_is_sent_to_oneself(machine):
    text = 'import "message-passing"\nL = message(0, 0, 1 MB)'
    assert compile_model(model_of(text, machine=machine)).values({"P": 2}).upper == 0


@pytest.mark.parametrize(
    ("workload", "machine"), turn(product(LOOPS, MACHINES["data-parallel"]), 2)
)
def test_loops_run_on_every_machine(workload, machine):
    model = linked(workload, machine)
    given = {"N": 12, "P": 3}
    exact, found = bounds_at(model, bind(model, given)), compile_model(model).values(given)
    assert (found.bound, found.upper) == (exact.bound, exact.upper)


@pytest.mark.parametrize("workload", ["stencil", "row-column"])
@pytest.mark.parametrize("machine", MACHINES["message-passing"])
def test_messages_run_on_every_machine(workload, machine):
    model = linked(workload, machine)
    given = {"N": 8, "P": 4, **({"steps": 2} if workload == "stencil" else {})}
    exact, found = bounds_at(model, bind(model, given)), compile_model(model).values(given)
    assert (found.bound, found.upper) == (exact.bound, exact.upper)


def test_loggp_formulas_by_hand():
    text = 'import "message-passing"\nparam n : bytes\nL = message(0, 1, n) ; allreduce(n)'
    found = compile_model(model_of(text, machine="loggp"))
    assert residual(found) == []
    given = {"P": 8, "n": 1000, "o": 2, "latency": 5, "g": 1, "bandwidth": 1000}
    one = 2 * 2 + 5 + 2 * (1 + 1)
    assert found.values(given).bound == one + 3 * one


def test_memory_bandwidth_binds_on_many_cores():
    text = 'import "message-passing"\nL = par (p = 0, P-1) { compute(p, 4e9) ; memory(p, 2 GB) }'
    found = compile_model(model_of(text, machine="multicore"))
    assert found.values({"P": 1}).bound == Fraction(6, 5)  # 2 GB through one channel
    assert found.values({"P": 100}).bound == 10  # 200 GB through both


@pytest.mark.parametrize("name", list(REGISTRY.machines))
def test_a_machine_file_conforms(name):
    check_machine(REGISTRY, name)


def test_values_come_from_the_machine_file():
    given = {"processor.rate": 2e9, "pamela.parameters.o": "3 us"}
    rows = REGISTRY.compare(
        "stencil", "loggp-cluster", p=[4], solvers="pamela", settings=given
    ).rows  # fmt: skip
    model = linked("stencil", "loggp")
    values = {
        "P": 4, "rate": 2e9, "memory_rate": 1e10, "o": "3 us", "latency": "5 us", "g": 0,
        "bandwidth": "1 GB/s",
    }  # fmt: skip
    assert rows[0].time == float(compile_model(model).values(values).bound)


def test_derivatives_by_key_path():
    machine = REGISTRY.machine("loggp-cluster")
    query = Query(workload=REGISTRY.workload("row-column"), machine=machine, p=4)
    found = Bound().derivatives(query, ["network.overhead", "pamela.parameters.o"])
    assert found == {"network.overhead": 6.0, "pamela.parameters.o": 6.0}
    assert Bound().derivatives(query, ["network.saturation"]) is None


WRONG = {
    "pamela.parameters.oo": ("1 us", "is no parameter of its model 'loggp'. Did you mean 'o'?"),
    "pamela.parameters.o": ("1 MB", "o=1 MB: its unit is none of a time"),
    "pamela.parameters.latency": ("1 +- 0.1 us", "takes one value, without an uncertainty"),
    "pamela.parameters.g": ("network.saturation", "states no network.saturation"),
    "pamela.parameters.rate": ("0", "rate=0 must be above 0"),
    "pamela.model": ("loggp-", "there is no file 'loggp-', nor one of this name in the library"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_machine_file_is_said(name):
    value, said = WRONG[name]
    row = REGISTRY.compare(
        "stencil", "loggp-cluster", p=[2, 4], solvers="pamela", settings={name: value}
    ).rows[0]
    assert row.status is not Status.OK
    assert said in row.message


def test_a_machine_for_another_interface_is_refused():
    rows = REGISTRY.compare("stencil", "das1", p=2, solvers="pamela").rows
    assert rows[0].status is Status.REFUSED
    assert "'bcast' has 2 arguments for the program, and 1 for 'das1'" in rows[0].message
    rows = REGISTRY.compare("matmul", "loggp-cluster", p=2, solvers="pamela").rows
    assert "'bcast' has 1 arguments for the program, and 2 for 'loggp'" in rows[0].message


def test_a_machine_that_is_not_needed_is_left_out():
    rows = REGISTRY.compare("machine-repair", "loggp-cluster", p=4, solvers="pamela").rows
    assert rows[0].time == 1000
    assert "leaves nothing to a machine" in " ".join(rows[0].notes)


def test_one_name_never_means_two_things():
    text = 'import "data-parallel"\nlet bandwidth = 3\nL = op(0)'
    with pytest.raises(ModelError, match=r"2:1: 'bandwidth' is declared by the program and by"):
        model_of(text, machine="multicore-loops")
    assert compile_model(model_of(text, machine="das1")).values({}).bound > 0


def test_a_machine_that_lacks_an_equation_is_refused(tmp_path):
    path = tmp_path / "half.pam"
    path.write_text('import "data-parallel"\nresource s\nop(p) = use(s, 1)\n')
    rows = REGISTRY.compare(
        "matmul",
        {"name": "half", "pamela": {"model": str(path)}},
        p=2,
        solvers="pamela",
    ).rows
    assert rows[0].status is Status.REFUSED
    assert "half.pam' does not say what lmove, gmove, bcast, reduce does" in rows[0].message
