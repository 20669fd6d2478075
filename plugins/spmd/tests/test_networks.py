from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parcast.errors import FileError, SolveError, UnknownNameError, UnsupportedError
from parcast.plugins import Kernel
from parcast.testing import cases
from parcast_spmd.mva import (
    choice as solving,
)
from parcast_spmd.mva import (
    schweitzer_linearizer as approximate,
)
from parcast_spmd.mva import (
    throughput_bounds as bounds,
)
from parcast_spmd.mva.choice import solve, utilization
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station
from parcast_spmd.mva.exact_integral import symmetric_clusters
from parcast_spmd.mva.exact_lattice import lattice_refusal
from parcast_spmd.mva.json_files import network_from_data
from parcast_spmd.mva.quadrature import converge
from parcast_spmd.mva.structure import components

from .reference import CASES, enumerate_network

NETWORKS = {case["id"]: case for case in CASES["queueing_network_cases"]}


def build(populations, delays, demands):
    """Return a network from N[r], Z[r] and D[k][r]."""
    names = [JobClass(name=f"c{r}", population=n) for r, n in enumerate(populations)]
    queues = [
        Station(name=f"q{k}", type="queue", demand=tuple(row)) for k, row in enumerate(demands)
    ]
    think = Station(name="think", type="delay", demand=tuple(delays))
    return ClosedNetwork(stations=(think, *queues), classes=tuple(names))


def worst(found, wanted):
    """Return the largest relative difference of two nested sets of numbers."""
    found, wanted = (np.array(values, dtype=np.float64) for values in (found, wanted))
    scale = np.where(wanted == 0, 1.0, np.abs(wanted))
    return float(np.max(np.abs(found - wanted) / scale, initial=0.0))


def rows(solution):
    """Return throughput, responses and queue lengths as one array."""
    return np.array([solution.throughput, *solution.response.values()])


@pytest.mark.parametrize("name", sorted(NETWORKS))
@pytest.mark.parametrize("method", ["auto", "lattice"])
def test_reference_networks(name, method):
    network, known = network_from_data(NETWORKS[name]), NETWORKS[name]["reference"]
    if method == "lattice" and name in {"Q23", "Q25", "Q27"}:
        with pytest.raises(UnsupportedError, match="'lattice' is too large"):
            solve(network, method)
        return
    solution = solve(network, method)
    assert solution.exact
    for station, values in known["response"].items():
        assert worst(solution.response[station], values) < 1e-12
    for station, values in known.get("queue_length", {}).items():
        assert worst(solution.queue_length[station], values) < 1e-12
    assert worst(solution.throughput, known["throughput"]) < 1e-12
    assert worst(solution.cycle_time, known["cycle_time"]) < 1e-12


SMALL = [
    ([3, 2], [1, 2], [[1, 3], [2, 0], [0, 1]]),
    ([2, 2, 1], [0, 1, 0], [[1, 2, 3]]),
    ([2, 3], [0, 0], [[1, 1], [1, 2]]),
    ([2, 2, 1], [4, 4, 1], [[1, 1, 1], [0, 0, 2], [3, 0, 0], [0, 3, 0], [1, 1, 0]]),
    ([1, 2, 2], [1, 0, 3], [[1, 2, 1], [2, 1, 0], [1, 1, 1]]),
    ([3, 3], [1, 1], [[2, 0], [0, 3], [1, 0]]),
]


@pytest.mark.parametrize(("populations", "delays", "demands"), SMALL)
def test_methods_equal_the_sum_over_all_states(populations, delays, demands):
    rates, lengths = enumerate_network(populations, delays, demands)
    network = build(populations, delays, demands)
    for method in ("auto", "lattice"):
        solution = solve(network, method)
        found = [solution.queue_length[f"q{k}"] for k in range(len(demands))]
        assert worst(solution.throughput, [float(rate) for rate in rates]) < 1e-13
        assert worst(found, [[float(value) for value in row] for row in lengths]) < 1e-13


demand = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


@st.composite
def networks(draw, shared):
    """Return a network whose classes share up to ``shared`` queues, with private ones."""
    classes = draw(st.integers(1, 4))
    row = st.lists(demand, min_size=classes, max_size=classes)
    populations = draw(st.lists(st.integers(0, 6), min_size=classes, max_size=classes))
    demands = draw(st.lists(row, min_size=0, max_size=shared))
    for owner in draw(st.lists(st.integers(0, classes - 1), max_size=3)):
        value = draw(st.floats(1e-3, 1e3))
        demands.append([value if r == owner else 0.0 for r in range(classes)])
    delays = draw(row)
    assume(all(delays[r] + sum(row[r] for row in demands) > 0 for r in range(classes)))
    return build(populations, delays, demands)


@settings(max_examples=cases(40))
@given(networks(shared=2))
def test_integral_equals_lattice(network):
    assert worst(rows(solve(network)), rows(solve(network, "lattice"))) < 1e-11


@given(networks(shared=4), st.sampled_from(["auto", "lattice", "linearizer", "bard-schweitzer"]))
def test_laws(network, method):
    solution = solve(network, method)
    for shares in utilization(network, solution).values():
        assert sum(shares) <= 1 + 1e-12
    for r, job in enumerate(network.classes):
        jobs = sum(lengths[r] for lengths in solution.queue_length.values())
        assert jobs == pytest.approx(job.population, rel=1e-10)
        cycle = sum(times[r] for times in solution.response.values())
        delay = network.stations[0].demand[r] if job.population else 0.0
        assert cycle + delay == pytest.approx(solution.cycle_time[r], rel=1e-10)
    for part in components(network):
        for group in part.groups:
            lower, upper = bounds.throughput_bounds(part, group)
            for r in group.members:
                assert lower * (1 - 1e-11) <= solution.throughput[r] <= upper * (1 + 1e-11)


@settings(max_examples=cases(20))
@given(networks(shared=2), st.floats(1e-3, 1e3))
def test_scaling_every_time(network, scale):
    scaled = attrs.evolve(
        network,
        stations=tuple(
            attrs.evolve(station, demand=tuple(scale * value for value in station.demand))
            for station in network.stations
        ),
    )
    first, second = solve(network), solve(scaled)
    assert worst(second.cycle_time, [scale * value for value in first.cycle_time]) < 1e-11


@settings(max_examples=cases(20))
@given(
    st.integers(2, 8),
    st.integers(1, 60),
    demand,
    st.floats(1e-3, 1e3),
    demand,
)
def test_clusters_are_monotone_and_bounded(clusters, jobs, z, x, y):
    rate, at_network, at_disk = symmetric_clusters(clusters, jobs, z, x, y)
    assert clusters * rate * x <= 1 + 1e-12
    assert rate * y <= 1 + 1e-12
    assert rate * (z + at_network + at_disk) == pytest.approx(jobs, rel=1e-11)
    more = symmetric_clusters(clusters, jobs + 1, z, x, y)
    less = (rate, at_network, at_disk)
    assert all(new >= old * (1 - 1e-11) for new, old in zip(more, less, strict=True))
    wider = symmetric_clusters(clusters + 1, jobs, z, x, y)
    assert wider[0] <= rate * (1 + 1e-11)


@pytest.mark.parametrize("x", [1e-12, 1e-4, 0.25, 1 / 3, 0.34, 1e6])
@pytest.mark.parametrize("z", [0.0, 1e-9, 5.0, 1e9])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_extreme_clusters_keep_their_digits(x, z, y):
    demands = [[x] * 3, *(y * np.eye(3)).tolist()]
    exact = solve(build([12] * 3, [z] * 3, demands), "lattice")
    found = symmetric_clusters(3, 12, z, x, y)
    wanted = exact.throughput[0], exact.response["q0"][0], exact.response["q1"][0]
    assert worst(found, wanted) < 1e-12


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (0.0101, (0.97479332755764152, 0.63732353386439376, 25.221155109515487)),
        (0.0103, (0.97063193749336556, 7.1203146133503848, 23.136326830446305)),
        (0.02, (0.49999999999999998, 998.0039367999482, 1.9960632000518852)),
    ],
)
def test_hundred_thousand_processes_around_saturation(x, wanted):
    """The known values are from 320 nodes in 30-digit arithmetic."""
    assert worst(symmetric_clusters(100, 1000, 1000.0, x, 1.0), wanted) < 1e-12


def test_clusters_equal_general_solver():
    network = build([9] * 5, [7.0] * 5, [[0.4] * 5, *(2.0 * np.eye(5)).tolist()])
    solution = solve(network)
    rate, at_network, at_disk = symmetric_clusters(5, 9, 7.0, 0.4, 2.0)
    assert solution.method == "integral"
    assert worst(solution.throughput, [rate] * 5) < 1e-14
    assert worst(solution.response["q0"], [at_network] * 5) < 1e-14
    assert solution.response["q3"][2] == pytest.approx(at_disk, rel=1e-14)


def test_large_two_queue_network_keeps_exact_limits():
    """Without delays or own queues two balanced queues hold half of all jobs each."""
    solution = solve(build([400, 600], [0.0, 0.0], [[1.0, 2.0], [1.0, 2.0]]))
    assert solution.queue_length["q0"] == pytest.approx((200.0, 300.0), rel=1e-11)


def test_compiled_integral_equals_plain(monkeypatch):
    network = build([30, 20], [5.0, 9.0], [[1.0, 0.5], [0.0, 2.0], [1.0, 0.0]])
    plain = solve(network)
    monkeypatch.setattr(Kernel, "worth_compiling", lambda *_: True)
    assert worst(rows(solve(network)), rows(plain)) < 1e-12
    assert worst(rows(solve(network, "lattice")), rows(plain)) < 1e-12


def test_unconnected_parts_are_solved_apart():
    network = build([4, 3, 5], [1.0, 1.0, 1.0], [[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    alone = solve(build([5], [1.0], [[1.0]]))
    solution = solve(network)
    assert solution.throughput[2] == pytest.approx(alone.throughput[0], rel=1e-14)
    assert solution.method == "integral"


def test_a_class_without_jobs_has_zeros():
    solution = solve(build([0, 3], [1.0, 1.0], [[1.0, 2.0]]))
    assert solution.method == "mva"
    assert solution.throughput[0] == solution.cycle_time[0] == solution.response["q0"][0] == 0
    empty = solve(build([0], [1.0], [[1.0]]))
    assert empty.throughput == (0.0,)


THREE = build([20, 30, 40, 50, 60], [1.0] * 5, [[0.1, 0.2, 0.3, 0.4, 0.5 * k] for k in (1, 2, 3)])


def test_auto_falls_back_with_bounds_and_reason():
    solution = solve(THREE)
    assert solution.method == "linearizer"
    assert not solution.exact
    assert "3 queues are shared, and" in solution.notes[0]
    assert "population vectors" in solution.notes[0]
    lower, upper = solution.bounds.throughput_lower, solution.bounds.throughput_upper
    assert all(map(float.__le__, lower, solution.throughput))
    assert all(map(float.__le__, solution.throughput, upper))
    data = solution.to_data()
    assert set(data["bounds"]) == {"throughput", "cycle_time"}
    assert data["notes"] == [solution.notes[0]]


def test_exact_solution_has_no_bounds_in_its_data():
    data = solve(build([3], [1.0], [[1.0]])).to_data()
    assert set(data) == {"method", "throughput", "response", "queue_length", "cycle_time"}


@pytest.mark.parametrize("name", ["Q17", "Q19", "Q21"])
def test_linearizer_is_near(name):
    network = network_from_data(NETWORKS[name])
    exact = rows(solve(network))
    assert worst(rows(solve(network, "linearizer")), exact) < 0.02
    assert worst(rows(solve(network, "bard-schweitzer")), exact) < 0.25


def test_collapsed_classes_equal_distinct_ones():
    """Classes a hair apart are not collapsed, yet must give the same approximation."""
    demands = [[0.4] * 3, [0.2] * 3, *(2.0 * np.eye(3)).tolist()]
    apart = [[0.4, 0.4 * (1 + 1e-12), 0.4 * (1 - 1e-12)], *demands[1:]]
    for method in ("linearizer", "bard-schweitzer"):
        first = solve(build([6] * 3, [3.0] * 3, demands), method)
        second = solve(build([6] * 3, [3.0] * 3, apart), method)
        assert worst(rows(first), rows(second)) < 1e-9


def test_linearizer_outside_its_bounds_gives_way(monkeypatch):
    monkeypatch.setattr(approximate, "throughput_bounds", lambda *_: (10.0, 20.0))
    solution = solve(THREE, "linearizer")
    assert solution.method == "bard-schweitzer"
    assert "Linearizer gave a throughput of" in solution.notes[1]
    monkeypatch.undo()
    monkeypatch.setattr(approximate, "_utilizations", lambda *_: [1.1])
    assert "utilization of 1.1" in solve(THREE, "linearizer").notes[1]


def test_no_convergence_names_the_residual(monkeypatch):
    monkeypatch.setattr(approximate, "OUTER_ITERATIONS", 1)
    with pytest.raises(SolveError, match=r"Linearizer still changes by \d\.\de-\d\d after 1"):
        solve(THREE, "linearizer")
    monkeypatch.setattr(approximate, "CORE_ITERATIONS", 2)
    with pytest.raises(SolveError, match=r"approximation still changes by .* after 2 iterations"):
        solve(THREE, "bard-schweitzer")


def test_unsettled_quadrature_names_the_residual():
    values = itertools.count(1)

    def both(_):
        return np.array([float(next(values))]), np.array([1.0])

    next(values)
    with pytest.raises(SolveError, match=r"still changes by 1\.0e\+00"):
        converge(both, start=8, largest=8, tolerance=1e-13, failure=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"throughput": (0.9, 0.9)}, "gives a utilization of 1 \\+ "),
        ({"queue_length": {"think": (1.0, 1.0), "q0": (1.0, 1.0)}}, "finds 2 of the 4 jobs"),
        (
            {"throughput": (1e-3, 1e-3)},
            "gives a throughput of 0.001 where 0.444444444444 to 0.5 is proven",
        ),
    ],
)
def test_broken_laws_are_errors(change, message):
    network = build([4, 4], [1.0, 1.0], [[1.0, 1.0]])
    broken = attrs.evolve(solve(network), **change)
    with pytest.raises(SolveError, match=message):
        solving._check(network, broken)


@pytest.mark.parametrize(
    ("network", "method", "message"),
    [
        (THREE, "mva", "'mva' solves classes that share no queue, and these share one"),
        (THREE, "integral", "takes one or two shared queues, and 3 are shared here"),
        (build([3], [1.0], [[1.0]]), "integral", "and none do here; use 'mva'"),
        (THREE, "lattice", "'lattice' is too large: 8.3e.07 population vectors"),
    ],
)
def test_methods_are_refused_where_they_do_not_apply(network, method, message):
    with pytest.raises(UnsupportedError, match=message):
        solve(network, method)


def test_unknown_method():
    with pytest.raises(UnknownNameError, match=r"'latice'; choose from .* mean 'lattice'"):
        solve(THREE, "latice")


def test_lattice_limits():
    (long,) = components(build([4000, 4000], [1.0, 1.0], [[1.0, 1.0]] * 2))
    assert "numbers that are kept" in lattice_refusal(long)
    (many,) = components(build([1] * 20, [1.0] * 20, [[1.0 + k] * 20 for k in range(19)]))
    assert lattice_refusal(many) is None


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (ClosedNetwork(stations=(), classes=()), "stations is empty"),
        (build([1], [1.0], [[-1.0]]), r"stations\[1\].demand\[0\] is -1.0"),
        (build([1], [math.inf], []), r"stations\[0\].demand\[0\] is inf"),
        (build([-1], [1.0], []), r"classes\[0\].population is -1"),
        (build([10**12], [1.0], []), "from 0 to 100000000"),
    ],
)
def test_networks_made_in_python_are_checked_too(network, message):
    with pytest.raises(FileError, match=message):
        solve(network)


@pytest.mark.parametrize("method", ["auto", "lattice", "linearizer"])
def test_times_beyond_floating_point_are_errors(method):
    with pytest.raises(SolveError, match="ask for"):
        solve(build([2, 2], [1e308, 1.0], [[1e308, 1.0]]), method)
