"""The bounds contain what the models answer, and are those of the textbook's formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast_spmd
from parcast import Registry
from parcast_spmd.surface.asymptotic_bounds import asymptotes

REGISTRY = Registry([parcast_spmd])
TIMES = st.sampled_from([0.0, 1e-4, 0.03, 1.0, 7.0])


def ask(io, layout, distribution, p, d, compute, transfer, io_time, cycles=3, bursts=2, **settings):
    """Return the prediction of a phase with these times on a machine of unit speed."""
    phase = {
        "cycles": cycles,
        "bursts": bursts,
        "serial": compute,
        "messages": 1,
        "bytes": transfer,
        "io": io,
        "io_bytes": io_time,
        "distribution": distribution,
    }
    machine = {
        "processor": {"rate": 1},
        "network": {"startup": 0.01, "bandwidth": 1, "contention_level": 0.8},
        "storage": {"layout": layout, "bandwidth": 1},
    }
    work = {"name": "w", "phase": [phase]}
    return REGISTRY.predict(work, machine, "spmd", p=p, d=d, settings=settings)


@pytest.mark.parametrize("distribution", ["exponential", "constant", "uniform"])
@pytest.mark.parametrize(
    ("io", "layout"), [("sync", "bus"), ("async", "bus"), ("async", "cluster")]
)
@given(
    groups=st.integers(1, 12),
    d=st.integers(1, 3),
    compute=TIMES,
    transfer=TIMES,
    io_time=TIMES,
    cycles=st.sampled_from([1, 3, 50]),
)
def test_what_a_model_answers_lies_within(io, layout, distribution, groups, d, **times):
    found = ask(io, layout, distribution, groups * d, d, **times)
    bounds = asymptotes(found.details["phases"])
    close = 1e-9 * found.time
    if found.ci is not None:  # uniform bursts are sampled: five standard deviations
        close += 2.5 * (found.ci[1] - found.time)
    for lower, upper in filter(None, (bounds.asymptotic, bounds.balanced)):
        assert lower <= found.time + close
        assert upper is None or found.time <= upper + close


@given(groups=st.integers(1, 40), compute=TIMES, transfer=TIMES, io_time=TIMES)
@pytest.mark.parametrize("io", ["sync", "async"])
def test_balanced_job_bounds_are_never_wider(io, groups, compute, transfer, io_time):
    found = ask(io, "bus", "exponential", groups, 1, compute, transfer, io_time)
    bounds = asymptotes(found.details["phases"])
    if bounds.balanced is not None:
        assert bounds.balanced[0] >= bounds.asymptotic[0] * (1 - 1e-12)
        assert bounds.balanced[1] <= bounds.asymptotic[1] * (1 + 1e-12)


def phase(model, method, groups, delay, network, io, **more):
    usual = {"disks": 1, "cycles": 1, "bursts": 1, "distribution": "exp", "equal": True}
    named = {"model": model, "method": method, "groups": groups}
    return {**usual, **named, "delay": delay, "network_service": network, "io_service": io, **more}


def test_numbers_worked_by_hand():
    """Delay 15, two queues of 3 and 5: Lazowska et al. 1984, table 5.2, at 4 jobs."""
    bounds = asymptotes([phase("bus", "mva", 4, 15.0, 3.0, 5.0)])
    assert bounds.asymptotic == (23.0, 15 + 4 * 8)
    assert bounds.balanced[0] == pytest.approx(max(4 * 5, 23 + 3 * 4 / (1 + 15 / 8)))
    assert bounds.balanced[1] == pytest.approx(23 + 3 * 5 / (1 + 15 / (4 * 8)))


def test_equation_16_is_bounded_term_by_term():
    """With 3 groups, z = 2, x = 4: sums over i of bounds on 1 / X(i), and the I/O of 7."""
    bounds = asymptotes([phase("sio", "eq16", 3, 2.0, 4.0, 7.0, bursts=2, cycles=10)])
    assert bounds.asymptotic[0] == pytest.approx(10 * (2 * (6 + 4 + 4) + 7))
    assert bounds.asymptotic[1] == pytest.approx(10 * (2 * sum(2 / i + 4 for i in (1, 2, 3)) + 7))
    lower = [6, max(4, 6 / 2 + 4 / 2 * 4 / 6), max(4, 6 / 3 + 8 / 3 * 4 / 6)]
    upper = [6, 6 / 2 + 4 / 2 * 8 / 10, 6 / 3 + 8 / 3 * 12 / 14]
    assert bounds.balanced == pytest.approx((10 * (2 * sum(lower) + 7), 10 * (2 * sum(upper) + 7)))


def test_equation_16_is_bounded_at_any_size():
    """The sums over many groups, against every term by itself; and beyond what fits in memory."""
    jobs, z, x = 3000, 40.0, 0.25
    i = np.arange(1, jobs + 1)
    alone, others, share = (z + x) / i, x * (i - 1) / i, x / (x + z)
    bounds = asymptotes([phase("sio", "eq16", jobs, z, x, 0.0)])
    assert bounds.asymptotic == pytest.approx(
        (np.maximum(x, alone).sum(), (alone + others).sum()), rel=1e-12
    )
    lower = np.maximum(x, alone + others * share).sum()
    upper = (alone + others * i * x / (i * x + z)).sum()
    assert bounds.balanced == pytest.approx((lower, upper), rel=1e-12)
    huge = asymptotes([phase("sio", "eq16", 10**15, z, x, 0.0)])
    for lower, upper in (huge.asymptotic, huge.balanced):
        assert 10**15 * x <= lower <= upper <= 10**15 * x + z * 40


@given(
    groups=st.integers(1, 12),
    compute=TIMES,
    transfer=TIMES,
    io_time=TIMES,
    bursts=st.integers(1, 6),
)
def test_the_exact_chain_lies_within_its_bounds(groups, compute, transfer, io_time, bursts):
    found = ask(
        "sync", "bus", "exponential", groups, 1, compute, transfer, io_time, bursts=bursts,
        **{"spmd.sio.method": "ctmc"},
    )  # fmt: skip
    lower, upper = asymptotes(found.details["phases"]).asymptotic
    assert lower * (1 - 1e-12) <= found.time <= upper * (1 + 1e-12)


@pytest.mark.parametrize("law", ["exponential", "uniform", "erlang:2,1", "sampled:0,0,0,4"])
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("bursts", [1, 5])
def test_as_many_bursts_as_written_lie_within_their_bounds(law, c, bursts):
    work = {"phase": [{"bursts": bursts, "serial": 1, "bytes": 0.05, "group": c,
                       "distribution": law}]}  # fmt: skip
    machine = {"processor": {"rate": 1}, "network": {"bandwidth": 1, "contention": "bus"}}
    chosen = {"spmd.sio.method": "fixed-cycles", "spmd.sio.tolerance": 0.02}
    for p in (c, 2 * c, 12 * c):
        found = REGISTRY.predict(work, machine, "spmd.sio", p=p, settings=chosen)
        lower, upper = asymptotes(found.details["phases"]).asymptotic
        assert lower * 0.98 <= found.time <= upper * 1.02
        assert upper <= 1.2 * bursts * (1 + 12 * 0.05) * (1 + 36**0.5)


def test_a_method_that_is_not_known_has_the_lower_bound_only():
    bounds = asymptotes([phase("sio", "another", 3, 2.0, 4.0, 7.0)])
    assert bounds.asymptotic == (12 + 7, None)
    assert bounds.balanced is None


def test_phases_add_up():
    one, two = phase("bus", "mva", 4, 15.0, 3.0, 5.0), phase("sio", "constant", 2, 1.0, 1.0, 1.0)
    both = asymptotes([one, two])
    assert both.asymptotic == (23 + 3, 47 + 4)
    assert both.balanced is None


def test_clusters_have_no_balanced_job_bounds():
    one = phase("clu", "integral", 8, 1.0, 1.0, 1.0, disks=2)
    assert asymptotes([one]).balanced is None
    assert asymptotes([one]).asymptotic == (8, 1 + 8 + 4)
