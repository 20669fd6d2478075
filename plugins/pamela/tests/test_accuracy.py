"""Random models after figure 3 of the paper, and the estimate that they calibrate."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from parcast_pamela.compilation.compiler import Values, compile_model
from parcast_pamela.language.reading import model_of
from parcast_pamela.simulation.program import unfold
from parcast_pamela.simulation.running import run
from parcast_pamela.solvers.accuracy import ALPHA, estimate

from ..benchmarks.random_tasks import random_model  # noqa: TID252  (of a script, no package)


def by_hand(simulation):
    """Return phi, omega and T^l of a random model, going through its nodes one by one."""
    whole = len(simulation.kind) - 1
    path = bound = 0.0
    total = defaultdict(float)

    def children(node):
        start = simulation.first[node]
        return simulation.children[start : start + simulation.count[node]]

    for layer in children(whole):
        demand, longest = defaultdict(float), 0.0
        for task in children(layer):
            for access in children(task):
                demand[simulation.first[access]] += simulation.time[access]
            longest = max(longest, sum(simulation.time[access] for access in children(task)))
        for resource, time in demand.items():
            total[resource] += time
        path += longest
        bound += max(longest, *demand.values())
    return path, max(total.values()), bound


def test_formulas_of_random_models():
    draw = np.random.default_rng(7)
    for _ in range(5):
        one = random_model(draw, accesses=6)
        assert one.simulation.events == 600
        found = one.critical_path, one.contention, one.bound
        assert found == pytest.approx(by_hand(one.simulation))


def test_the_calibration_is_that_of_other_models_too():
    """25 new models, whose spread at one theta is about 0.05."""
    draw = np.random.default_rng(1)
    errors = []
    for _ in range(25):
        one = random_model(draw)
        alpha = one.bound / run(one.simulation).time
        assert 0.5 < alpha <= 1 + 1e-9
        errors.append(alpha - np.interp(one.theta, *zip(*ALPHA, strict=True)))
    assert abs(np.mean(errors)) < 0.03
    assert np.std(errors) < 0.1


MRM = """
param P : int >= 1, N : int >= 1
resource s
L = par (p = 1, P) seq (i = 1, N) { delay(9) ; use(s, 1) }
"""


@pytest.mark.parametrize(("cycles", "ratio"), [(1, 10 / 19), (1000, 0.999)])
def test_machine_repair_at_saturation(cycles, ratio):
    """Figure 2: T = tl + P ts for one cycle, T^l being max(P ts, tl + ts)."""
    given = {"P": 10, "N": cycles}
    bound = compile_model(model_of(MRM)).values(given).bound
    assert float(bound) / run(unfold(model_of(MRM), given)).time == pytest.approx(ratio, abs=1e-3)


def test_estimate():
    assert estimate(Values(10, 10, 10, 100)) == pytest.approx(10 / 0.589)
    assert estimate(Values(10, 10, 10, 12)) == 12
    middle = Values(1000, int(1000 * math.exp(0.125)), 1133, 10**6)
    assert estimate(middle) == pytest.approx(1133 / 0.604, rel=1e-3)
    for outside in (Values(1, 8, 8, 9), Values(10, 1, 10, 11), Values(1, 0, 1, 1)):
        assert estimate(outside) is None
