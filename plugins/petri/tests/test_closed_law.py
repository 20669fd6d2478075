"""The law of a demand's time on one core: its jumps, exact sums, and a plain simulation."""

from __future__ import annotations

import json
import math
from random import Random

import numpy as np
import pytest
from scipy.linalg import expm

from parcast.cli import main
from parcast.testing import cases, seeds
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.solvers.sampled import _table, core_of

#: How many cases there are, and how many of them are summed as well.
CASES = cases(250)
SUMMED = CASES // 50
LAWS = ("exp:1", "hyper:4,1", "erlang:3,1", "phase:0.3,1")


def core(text: str, utilization: float):
    return core_of(Load(1, utilization, (Law.read(text),), (1.0,)))


def case(seed: int):
    """Return a law, a utilization, a demand, a time beyond it, and whether the node is idle."""
    random = Random(seed)
    text, used = random.choice(LAWS), random.choice([0.1, 0.3, 0.5, 0.7, 0.9])
    demand = 10 ** random.uniform(-2, 1.1)
    near = random.randint(1, 4) * random.choice([1.0, 0.9999, 1.0001])
    beyond = demand * random.choice([random.random(), random.uniform(0, 4),
                                     random.uniform(0, 40), near])  # fmt: skip
    return text, used, demand, max(beyond, 1e-3 * demand), random.random() < 0.3


def transform(text, used, demand, s, *, idle):
    """Return the transform of the time beyond a demand at each s, by eigenvectors."""
    start, phases = Law.read(text).phases()
    means, order = -np.linalg.solve(phases, np.ones(len(start))), len(start)
    rate = used / (start @ means)
    left = -np.linalg.solve(phases.T, start)
    matrix = np.zeros((len(s), order + 1, order + 1), complex)
    matrix[:, :order, :order] = phases - s[:, None, None] * np.eye(order)
    matrix[:, :order, order], matrix[:, order, :order] = -phases.sum(axis=1), -rate * start
    matrix[:, order, order] = rate
    values, vectors = np.linalg.eig(matrix)
    apart = np.linalg.cond(vectors) < 1e7  # of equal values there may be too few vectors
    vectors, powers = vectors[apart], np.exp(demand * values[apart])[:, :, None]
    ends = np.empty((len(s), order + 1), complex)
    ends[apart] = (vectors @ (powers * np.linalg.solve(vectors, np.ones_like(powers))))[:, :, 0]
    ends[~apart] = expm(demand * matrix[~apart]).sum(axis=2)
    v, w = ends[:, :order], ends[:, order]
    return 1 / w if idle else (1 - used) / (w - used * v @ (left / left.sum()))


def summed(text, used, demand, t, *, idle, waves=20_000, a=20.0):
    """Return P(time beyond the demand <= t): waves of the whole transform but for its jumps.

    Nothing is split and nothing accelerated: the last sums are averaged, smoothly.
    """
    law = Law.read(text)
    start, phases = law.phases()
    left = -np.linalg.solve(phases.T, start)
    rate = used / law.mean
    alone = math.exp(-rate * demand)
    lasting = (left / left.sum()) @ expm(demand * phases).sum(axis=1)
    first, ratio = (alone, 0.0) if idle else ((1 - used) * alone, used * lasting * alone)
    s = (a + 2j * math.pi * np.arange(waves)) / (2 * t)
    values = transform(text, used, demand, s, idle=idle)
    values = (values - first / (1 - ratio * np.exp(-s * demand))) / s
    terms = values.real * (-1.0) ** np.arange(waves)
    terms[0] /= 2
    smooth = np.hanning(waves // 2)
    rest = np.cumsum(terms)[-len(smooth) :] @ smooth / smooth.sum()
    jumps = sum(first * ratio**k for k in range(1 + math.floor(t / demand * (1 + 1e-12))))
    return math.exp(a / 2) / t * rest + jumps


def test_times_that_are_multiples_have_a_probability_of_their_own(capsys):
    """With jobs exp:1 at U = 1/2, (1 - U) U^k e^(-kD) e^(-(k + 1) D/2) is that of (k + 1) D."""
    found, demand = core("exp:1", 0.5), 0.1
    for k in range(6):
        at = (k + 1) * demand
        before, by = found.probability(demand, np.array([at * (1 - 1e-9), at]))
        exact = 0.5 ** (k + 1) * math.exp(-k * demand - (k + 1) * demand / 2)
        assert by - before == pytest.approx(exact, abs=1e-9)
    jump = found.quantile(demand, 0.8)
    assert jump == pytest.approx(0.3, rel=1e-15)
    assert main(["petri", "slowdown", "--demand", "0.1", "--background", "exp:1", "--utilization",
                 "0.5", "--deadline", "0.299", "--json"]) == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)["deadline"] == pytest.approx(0.77073131, abs=1e-7)


def test_probabilities_are_the_sums_of_waves_without_number():
    for seed in seeds(SUMMED):
        text, used, demand, beyond, idle = case(seed)
        (found,) = core(text, used).probability(demand, np.array([demand + beyond]), idle=idle)
        exact = summed(text, used, demand, beyond, idle=idle)
        jump = abs(beyond / demand - round(beyond / demand)) < 1e-9  # where sums converge slowest
        assert found == pytest.approx(exact, abs=1e-6 if jump else 1e-7), seed


@pytest.mark.parametrize(("text", "used", "demand"), [("exp:1", 0.5, 0.1), ("hyper:4,1", 0.7, 1),
                                                      ("erlang:3,1", 0.9, 0.3)])  # fmt: skip
def test_the_mean_of_the_law_is_that_of_work_conserved(text, used, demand):
    found, nodes = core(text, used), np.polynomial.legendre.leggauss(12)
    last = found.quantile(demand, 1 - 1e-9)
    edges = np.unique(np.append(demand * np.arange(1, 40), np.geomspace(40 * demand, last, 60)))
    half = np.diff(edges)[:, None] / 2
    times = edges[:-1, None] + half * (1 + nodes[0])
    longer = 1 - found.probability(demand, times.ravel()).reshape(times.shape)
    mean = demand + float((half * longer @ np.diag(nodes[1])).sum())
    assert mean == pytest.approx(demand / (1 - used), rel=1e-6)


def job(text: str, draw, *, under_way: bool) -> float:
    """Return a demand, or what is left of one under way at a random moment."""
    law = Law.read(text)
    part = draw.random() if under_way else 1.0
    if law.law == "hyper":
        shares, means = law.branches()
        weights = shares * means if under_way else shares
        mean = means[0] if draw.random() < weights[0] / weights.sum() else means[1]
        return part * draw.gamma(1 + under_way, mean)
    if law.law == "stages":
        count, stage, fewer = law.stages()
        short = fewer * (count - 1) if under_way else fewer
        whole = short + (1 - fewer) * count if under_way else 1.0
        stages = count - (draw.random() < short / whole)
        return part * draw.gamma(stages + under_way, stage)
    stages = int(law.parameters[0]) if law.law == "erlang" else 1
    return part * draw.gamma(stages + under_way, law.mean / stages)


def simulated(text, used, demand, *, idle, draw) -> float:
    """Return a time that a demand took: all that are there have equal shares."""
    rate = used / Law.read(text).mean
    jobs = 0 if idle else draw.geometric(1 - used) - 1
    left = [job(text, draw, under_way=True) for _ in range(jobs)]
    now, mine, comes = 0.0, demand, draw.exponential(1 / rate)
    while True:
        shortest = min([mine, *left])
        step = shortest * (len(left) + 1)
        if now + step > now + comes:
            shortest = comes / (len(left) + 1)
            now, comes = now + comes, draw.exponential(1 / rate)
            mine, left = mine - shortest, [one - shortest for one in left]
            left.append(job(text, draw, under_way=False))
            continue
        if shortest == mine:
            return now + step
        now, comes, mine = now + step, comes - step, mine - shortest
        left = [one - shortest for one in left if one != shortest]


def test_one_simulated_time_of_each_case_is_by_the_law():
    """Sums of what happened less its probability, over the root of the variances, are normal."""
    apart = variance = 0.0
    for seed in range(CASES):
        text, used, demand, beyond, idle = case(seed)
        time = simulated(text, used, demand, idle=idle, draw=np.random.default_rng(seed))
        ended = time <= (demand + beyond) * (1 + 1e-12)
        (chance,) = core(text, used).probability(demand, np.array([demand + beyond]), idle=idle)
        apart += ended - chance
        variance += chance * (1 - chance)
    assert abs(apart) < 4 * math.sqrt(variance)


@pytest.mark.parametrize(("text", "used", "demand"), [("exp:1", 0.5, 0.05), ("exp:1", 0.9, 0.01),
                                                      ("erlang:4,1", 0.5, 0.1)])  # fmt: skip
def test_tables_of_the_law_have_its_jumps(text, used, demand):
    found = core(text, used)
    reached, times = _table(found, demand, idle=False)
    assert (np.diff(reached) >= 0).all()
    assert (np.diff(times) >= 0).all()
    for k in range(6):
        at = np.isclose(times, (k + 1) * demand, rtol=1e-9)
        atom, ratio = found.atoms(demand, idle=False)
        jump = reached[0] if k == 0 else np.ptp(reached[at])
        assert jump == pytest.approx(atom * ratio**k, rel=1e-6)
