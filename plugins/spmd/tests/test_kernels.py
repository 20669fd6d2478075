from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import SolveError
from parcast.plugins import Kernel
from parcast.testing import cases
from parcast_spmd.models import fork_join
from parcast_spmd.models.order_statistics import harmonic
from parcast_spmd.mva import mva_kernels as kernels
from parcast_spmd.mva.exact_integral import symmetric_clusters
from parcast_spmd.mva.mva_kernels import closed_mva, delay_two_queues

from .reference import CASES, response_eq17, response_eq22

FULL = {case["id"]: case for case in CASES["full_model_cases"]}
times = st.floats(1e-6, 1e6)
demands = st.one_of(st.just(0.0), times)


def fork_join_sums(jobs, z, x):
    """Return makespan and mean response of one point."""
    return fork_join.fork_join_sums([(jobs, z, x)])[jobs, z, x]


def close(value, wanted, tolerance=1e-12):
    assert float(value) == pytest.approx(float(wanted), rel=tolerance, abs=1e-300)


@pytest.mark.parametrize("row", CASES["sio_makespan_exact"]["rows"])
def test_fork_join_sum_equals_reference(row):
    total, _ = fork_join_sums(row["P"], float(Fraction(row["z"])), float(Fraction(row["x"])))
    close(row["n_io"] * total, row["eq16"], 2e-15)


@pytest.mark.parametrize("z", [Fraction(0), Fraction(1, 10**6), Fraction(3), Fraction(10**6)])
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_fork_join_sums_equal_printed_equations(size, z):
    x = Fraction(1, 3)
    responses = [response_eq17(i, z, x) for i in range(1, size + 1)]
    total, mean = fork_join_sums(size, float(z), float(x))
    close(total, sum((z + r) / i for i, r in enumerate(responses, 1)), 1e-14)
    close(mean, sum(responses) / size, 1e-14)


@pytest.mark.parametrize(("z", "x", "y"), [(5, 1, 2), (0, 1, 1), (1, 1, 0), (3, 0, 2), (9, 1, 1)])
def test_two_queues_equal_printed_equation(z, x, y):
    z, x, y = Fraction(z), Fraction(x), Fraction(y)
    rate, at_x, at_y = delay_two_queues(12, float(z), float(x), float(y))
    first, second = response_eq22(12, z, x, y), response_eq22(12, z, y, x)
    close(at_x, first, 1e-14)
    close(at_y, second, 1e-14)
    close(rate, 12 / (z + first + second), 1e-14)


@pytest.mark.parametrize("size", [1, 2, 99, 100, 101, 5000, 100_000])
def test_without_contention_the_sum_is_harmonic(size):
    total, mean = fork_join_sums(size, 3.0, 0.0)
    close(total, 3.0 * math.fsum(1 / i for i in range(1, size + 1)), 1e-15)
    assert mean == 0


def test_without_delay_the_sum_is_all_demands():
    sums = fork_join.fork_join_sums([(jobs, 0.0, 0.5) for jobs in (1, 10, 1_000_000)])
    assert list(sums.values()) == [(0.5, 0.5), (5.0, 2.75), (500_000.0, 250_000.25)]


def test_points_of_all_kinds_are_told_apart():
    points = [(4, 2.0, 0.0), (7, 2.0, 1.0), (1, 2.0, 1.0), (7, 0.0, 1.0), (1, 3.0, 0.0)]
    assert fork_join.fork_join_sums(points) == {point: fork_join_sums(*point) for point in points}


@pytest.mark.parametrize("ratio", [1e-9, 0.3, 40.0, 1000.0, 1e9])
def test_early_stop_loses_nothing(ratio):
    queue, cycles, responses = 0.0, [], []
    for i in range(1, 3001):
        response = 1.0 + queue
        queue = i * response / (ratio + response)
        cycles.append((ratio + response) / i)
        responses.append(response)
    total, mean = fork_join_sums(3000, ratio, 1.0)
    close(total, math.fsum(cycles), 1e-14)
    close(mean, math.fsum(responses) / 3000, 1e-14)


@pytest.mark.parametrize("name", sorted(name for name in FULL if FULL[name]["model"] == "SIO"))
def test_sio_cases(name):
    case, known = FULL[name], FULL[name]["reference"]
    total, _ = fork_join_sums(known["P"], float(known["z"]), float(known["x_com_queue"]))
    close(float(case["n_io"]) * total, known["T_cpu_plus_com"], 1e-13)


@pytest.mark.parametrize("name", sorted(name for name in FULL if FULL[name]["model"] != "SIO"))
def test_aio_cases(name):
    case, known = FULL[name], FULL[name]["reference"]
    n_io = float(case["n_io"])
    z, x = n_io * float(known["z"]), n_io * float(known["x_com_queue"])
    y = float(known["io_service"])
    if case["model"] == "BUS-AIO":
        rate, at_network, at_disk = delay_two_queues(known["P"], z, x, y)
        jobs = known["P"]
    else:
        rate, at_network, at_disk = symmetric_clusters(case["d"], known["k"], z, x, y)
        jobs = known["k"]
    close(z + at_network, known["T_cpu_plus_com"], 1e-11)
    close(at_disk, known["T_io"], 1e-11)
    close(jobs / rate, known["T_cycle"], 1e-12)


@given(st.integers(1, 300), demands, demands, times)
def test_two_queues_are_closed_mva(size, z, x, y):
    rate, at_x, at_y = delay_two_queues(size, z, x, y)
    general, responses = closed_mva(size, z, [x, y])
    close(rate, general, 1e-14)
    close(at_x, responses[0], 1e-14)
    close(at_y, responses[1], 1e-14)


@given(st.integers(1, 300), demands, demands, times)
def test_laws_of_two_queues(size, z, x, y):
    rate, at_x, at_y = (float(value) for value in delay_two_queues(size, z, x, y))
    assert rate * max(x, y) <= 1 + 1e-14
    assert rate <= size / (z + x + y) * (1 + 1e-14)
    close(rate * (z + at_x + at_y), size, 1e-13)
    more = delay_two_queues(size + 1, z, x, y)
    assert all(
        float(new) >= old * (1 - 1e-14) for new, old in zip(more, (rate, at_x, at_y), strict=True)
    )


@given(st.integers(1, 300), demands, times, st.floats(1e-3, 1e3))
def test_scaling_every_time_scales_the_sums(size, z, x, scale):
    total, mean = fork_join_sums(size, z, x)
    scaled, scaled_mean = fork_join_sums(size, z * scale, x * scale)
    close(scaled, scale * total, 1e-13)
    close(scaled_mean, scale * mean, 1e-13)
    assert total >= size * x * (1 - 1e-14)


def _kernel_pairs():
    sizes, z = np.array([4000, 150, 2, 1]), np.array([1e-3, 1e3, 0.0, 3.0])
    x, y = np.array([0.7, 1.0, 2.0, 0.0]), np.array([0.699, 1.0, 0.0, 1.0])
    yield fork_join.fork_join_kernel, (sizes, z, x), 2
    yield kernels.two_queues_kernel, (sizes, z, x, y), 3


@pytest.mark.parametrize(("kernel", "given_arrays", "results"), list(_kernel_pairs()))
def test_point_kernels_equal_their_plain_form(kernel, given_arrays, results):
    plain = [[0.0] * 4 for _ in range(results)]
    machine = [np.zeros(4) for _ in range(results)]
    kernel.plain(*(array.tolist() for array in given_arrays), *plain)
    kernel.compiled(*given_arrays, *machine)
    np.testing.assert_array_max_ulp(np.array(plain), np.array(machine), maxulp=2)


def test_network_kernels_equal_their_plain_form():
    demand = np.array([1.0, 0.5, 0.0])
    queues, responses = np.zeros(3), np.zeros(3)
    rate = kernels.closed_kernel.compiled(700, 40.0, demand, queues, responses)
    listed = [0.0] * 3
    plain = kernels.closed_kernel.plain(700, 40.0, demand.tolist(), [0.0] * 3, listed)
    np.testing.assert_array_max_ulp(np.array([plain, *listed]), np.array([rate, *responses]), 2)

    nodes = np.linspace(0.5, 90.0, 33)
    both = []
    for kernel in (kernels.node_kernel.plain, kernels.node_kernel.compiled):
        found = np.zeros((len(demand), 33)), np.zeros(33), np.ones((7, 33))
        kernel(1, 50, nodes, demand, *found)
        both.append(np.concatenate([one.ravel() for one in found]))
    assert np.array_equal(*both)

    sizes, delays = np.array([3, 0, 4]), np.array([1.0, 2.0, 0.0])
    table = np.array([[1.0, 0.5], [0.3, 0.0], [0.2, 2.0]])
    kept = []
    for kernel in (kernels.lattice_kernel.plain, kernels.lattice_kernel.compiled):
        totals, responses, rates = np.zeros((20, 2)), np.zeros((3, 2)), np.zeros(3)
        kernel(sizes, delays, table, totals, responses, rates)
        kept.append(np.concatenate([totals.ravel(), rates]))
    np.testing.assert_array_max_ulp(*kept, maxulp=2)


def test_large_questions_take_the_compiled_form(monkeypatch):
    wanted = fork_join_sums(5000, 30.0, 1.0), delay_two_queues(5000, 30.0, 1.0, 0.9)
    general = closed_mva(5000, 30.0, [1.0, 0.9])
    monkeypatch.setattr(Kernel, "worth_compiling", lambda *_: True)
    np.testing.assert_allclose(fork_join_sums(5000, 30.0, 1.0), wanted[0], rtol=1e-15)
    np.testing.assert_allclose(delay_two_queues(5000, 30.0, 1.0, 0.9), wanted[1], rtol=1e-15)
    assert closed_mva(5000, 30.0, [1.0, 0.9])[0] == pytest.approx(general[0], rel=1e-15)


def test_small_questions_do_not_import_numba():
    code = (
        "import sys; from parcast_spmd.mva.exact_integral import symmetric_clusters as s; "
        "from parcast_spmd.models.fork_join import fork_join_sums as f; f([(1000, 1.0, 0.1)]); "
        "s(16, 64, 100.0, 0.1, 1.0); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1.0, 1.0), "A population is 0; give whole numbers of at least 1."),
        ((2.5, 1.0, 1.0), "A population is 2.5; give whole numbers of at least 1."),
        ((3, -1.0, 1.0), "One of delays is -1.0; give seconds of 0 or more."),
        ((3, 1.0, math.nan), "One of first is nan; give seconds of 0 or more."),
        ((3, 0.0, 0.0), "no throughput; give a demand above 0."),
        (([1, 2], [1.0, 2.0, 3.0], 1.0), "do not fit together"),
    ],
)
def test_bad_points_are_refused(arguments, message):
    with pytest.raises(SolveError, match=message.replace(".", r"\.")):
        delay_two_queues(*arguments, 0.0)


def test_bad_clusters_are_refused():
    with pytest.raises(SolveError, match="number of clusters is 0"):
        symmetric_clusters(0, 4, 1.0, 1.0, 1.0)
    with pytest.raises(SolveError, match=r"population is 2\.5"):
        symmetric_clusters(3, 2.5, 1.0, 1.0, 1.0)
    with pytest.raises(SolveError, match="One of y is -1"):
        symmetric_clusters(3, 2, 1.0, 1.0, -1.0)
    with pytest.raises(SolveError, match="no throughput"):
        closed_mva(3, 0.0, [0.0])


@settings(max_examples=cases(20))
@given(st.integers(1, 40), demands, times, demands)
def test_one_cluster_is_two_queues(jobs, z, x, y):
    single = symmetric_clusters(1, jobs, z, x, y)
    np.testing.assert_allclose(single, [float(v) for v in delay_two_queues(jobs, z, x, y)])
    apart = symmetric_clusters(7, jobs, z, 0.0, x)
    np.testing.assert_allclose(apart, [float(v) for v in delay_two_queues(jobs, z, 0.0, x)])


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 250, 3000])
def test_harmonic_numbers_equal_exact_sums(count):
    close(harmonic(count), sum(Fraction(1, i) for i in range(1, count + 1)), 4e-16)


def test_harmonic_numbers_of_any_size_are_immediate():
    assert harmonic(10**15) == pytest.approx(math.log(10**15) + 0.5772156649015329, rel=1e-15)
