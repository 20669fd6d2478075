"""What the data cannot determine is said, and never printed as an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from parcast import Registry
from parcast.comparison.settings import Settings
from parcast_fit import fit
from parcast_fit.identifiability import take_apart
from parcast_fit.model import Jacobian
from parcast_fit.observations import observe
from parcast_fit.parameters import read_parameters
from parcast_fit.problem import make_problem

#: Seven parameters of Cremonesi & Gennaro 2002, section 5.2; the numbers are made up.
QCRD = ("parallel", "serial", "volume", "transfer", "network.startup",
        "network.contention_level", "storage.startup")  # fmt: skip
MACHINE = {
    "name": "m",
    "processor": {"rate": 1},
    "network": {"startup": 1e-3, "bandwidth": 1, "contention_level": 0.05},
    "storage": {"bandwidth": 1, "startup": 1e-4, "disks": 32},
}


def qcrd(scale):
    return {
        "name": "qcrd",
        "parameters": {"parallel": 1.0, "serial": 5e-4, "volume": 0.5, "transfer": 1e-3},
        "phase": [{"parallel": "parallel", "serial": "serial", "messages": 1, "bytes": "volume",
                   "scale": scale, "io": "async", "io_bytes": "transfer"}],
    }  # fmt: skip


def surface(registry, solver, scale, quantity="speedup"):
    p, d = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32)
    rows = registry.compare(qcrd(scale), MACHINE, p=p, d=d, solvers=solver).rows
    assert len(rows) == 42
    return [{"p": one.p, "d": one.d, quantity: getattr(one, quantity)} for one in rows]


def rank(registry, solver, scale, quantity="speedup"):
    work, mach = registry.workload(qcrd(scale)), registry.machine(MACHINE)
    names = Settings.sort(dict.fromkeys(QCRD, 0), registry, [work])
    none = Settings({}, {}, {})
    seen = observe(registry, work, mach, surface(registry, solver, scale, quantity), none)
    free = read_parameters(registry, QCRD, {}, seen.queries, names)
    problem = make_problem(registry, solver, none, free, seen)
    return problem.measured_rank(problem.model.jacobian(problem.model.start, checked=True)).rank


@pytest.mark.parametrize(
    ("scale", "quantity", "expected"),
    [("1/p", "speedup", 5), ("1/p", "time", 6), ("p**(-1/2)", "speedup", 6),
     ("p**(-1/2)", "time", 7)],
)  # fmt: skip
def test_the_rank_of_the_qcrd_procedure(registry, scale, quantity, expected):
    """Speedups lose the scale; g = 1/p loses one more, because volume / p looks like work / p."""
    assert rank(registry, "queues", scale, quantity) == expected


@pytest.mark.parametrize(
    ("apart", "error", "expected"), [(1e-5, 0, 2), (1e-9, 0, 1), (1e-5, 1e-4, 1), (1e-5, 1e-6, 2)]
)
def test_almost_equal_columns_count_as_one_below_the_error_of_derivatives(apart, error, expected):
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + apart], [1.0, 1.0]])
    jacobian = Jacobian(matrix=matrix, error=np.full((3, 2), error), exact=())
    found = take_apart(jacobian)
    assert found.rank == expected
    assert found.involved == ([0, 1] if expected == 1 else [])


def test_the_same_rank_by_spmd():
    registry = Registry()
    if "spmd.bus" not in registry.solvers:
        pytest.skip("parcast-spmd is not installed")
    assert rank(registry, "spmd.bus", "1/p") == 5
    assert rank(registry, "spmd.bus", "p**(-1/2)") == 6


def test_the_qcrd_procedure_says_why(registry):
    start = {"parallel": 1.02, "network.startup": 9e-4}
    found = fit(registry, qcrd("1/p"), MACHINE, surface(registry, "queues", "1/p"), free=QCRD,
                solver="queues", settings=start)  # fmt: skip
    known = found.identifiability
    assert (known.rank, known.parameters, len(known.directions)) == (5, 7, 1)
    assert "speedups tell no seconds" in known.scale
    (one,) = known.directions
    assert one.sentence.startswith("raising parallel and network.startup while lowering serial")
    assert one.sentence.endswith(
        "by as much, with network.contention_level adjusted, changes nothing"
    )
    assert "p from 1 to 256 can" in one.remedy
    assert "the time in computation" in one.remedy
    undetermined = {each.name for each in found.estimates if each.value is None}
    assert undetermined == set(QCRD) - {"transfer", "storage.startup"}
    texts = {each.text: each for each in known.combinations}
    assert len(texts) == 4
    total = sum(found.used[name] for name in ("parallel", "serial"))
    assert texts["parallel + serial"].value == pytest.approx(total)
    moved = registry.compare(qcrd("1/p"), MACHINE, p=[1, 8, 64], d=[1, 8], solvers="queues",
                             settings=one.alternative).rows  # fmt: skip
    fitted = registry.compare(qcrd("1/p"), MACHINE, p=[1, 8, 64], d=[1, 8], solvers="queues",
                              settings=found.used).rows  # fmt: skip
    assert one.alternative != found.used
    assert [r.time for r in moved] == pytest.approx([r.time for r in fitted], rel=1e-7)


def test_a_product_of_two_is_all_that_is_known(registry, workload, machine):
    workload["parameters"]["messages"] = 6
    workload["phase"][0]["messages"] = "messages*sqrt(p)"
    rows = registry.compare(workload, machine, solvers="adds", p=[1, 2, 4, 8, 16, 64]).rows
    noise = np.random.default_rng(2).standard_normal(len(rows))
    measured = [
        {"p": r.p, "time": r.time * np.exp(0.01 * e)} for r, e in zip(rows, noise, strict=True)
    ]
    found = fit(registry, workload, machine, measured, solver="adds",
                free=["processor.rate", "messages", "network.startup"])  # fmt: skip
    known = found.identifiability
    (direction,), (combination,) = known.directions, known.combinations
    assert known.rank == 2
    assert direction.sentence == (
        "raising messages while lowering network.startup by the same factor changes nothing"
    )
    assert "nor can a part of the time" in direction.remedy
    assert combination.text == "messages * network.startup"
    assert combination.low < 6e-3 < combination.high
    assert [one.value is None for one in found.estimates] == [False, True, True]
    assert found.to_dict()["estimates"][1]["value"] is None


def test_the_next_point_lowers_the_worst_error_as_a_new_fit_finds(registry, workload, machine):
    p = [1, 2, 3]
    rows = registry.compare(workload, machine, solvers="adds", p=p).rows
    noise = np.random.default_rng(7).standard_normal(len(rows))
    measured = [
        {"p": r.p, "time": r.time * np.exp(0.01 * e)} for r, e in zip(rows, noise, strict=True)
    ]
    asked = {"solver": "adds", "free": ["processor.rate", "network.startup"]}
    first = fit(registry, workload, machine, measured, **asked)
    assert first.suggestion["p"] == 8  # the farthest of the grid: the most messages
    assert first.suggestion["parameter"] == "network.startup"
    assert first.suggestion["after"] < first.suggestion["before"] / 2
