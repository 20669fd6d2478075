"""The kernel as plain Python gives the same numbers as compiled."""

import subprocess
import sys

import numpy as np
import pytest

from parcast.testing import seeds
from parcast_perturb.perturbation import Addition, Arrivals, Perturbation, Recorded, Semantics
from parcast_perturb.propagation import forms
from parcast_perturb.propagation.deltas import or_empty
from parcast_perturb.propagation.running import propagate
from parcast_perturb.propagation.sampling import hash32
from parcast_traces.readers.neutral import trace_of

from .programs import Costs, neutral, random_program


def finals():
    """Return delays of some programs under every policy and option."""
    values = np.random.default_rng(4).exponential(30, 65536) - 5
    strikes = Arrivals(interval=70, length=9, periodic=False)
    added = Perturbation(
        noise=(Addition(values=values),), latency=(Addition(values=values, ranks=(0,)),),
        compute=(Addition(3.5), Addition(arrivals=strikes)), per_byte=(Addition(0.25),),
    )  # fmt: skip
    found = []
    for seed in seeds(12):
        costs = Costs(o=10, latency=50, per_byte=1, eager_max=100)
        trace = trace_of(neutral(random_program(seed), costs), "random")
        known = Recorded(overhead=10, latency=50, per_byte=1, eager_max=100)
        for policy in ("upper", "lower", "clocked"):
            for semantics in (
                Semantics(),
                Semantics(collectives="butterfly"),
                Semantics(protocol="rendezvous"),
            ):
                done = propagate(
                    trace, added, known, policy, semantics, replications=2, causes=True
                )
                assert done.cause is not None
                found.append([done.final.tolist(), done.changes.tolist(), done.cause.tolist(),
                              sorted(done.clipped.items())])  # fmt: skip
    return found


def test_both_forms_give_the_same_numbers(monkeypatch):
    answers = []
    for compiled in (False, True):
        monkeypatch.setattr(forms.PROPAGATION, "worth_compiling", lambda _, form=compiled: form)
        answers.append(finals())
    assert answers[0] == answers[1]
    assert len(forms.PROPAGATION.compiled.signatures) == 1


def test_costs_are_handed_over_row_after_row_as_the_kernel_is_compiled_for():
    by_column = np.ones((2, 3))[:, [0, 2]]
    assert not by_column.flags.c_contiguous
    assert or_empty(by_column, 2).flags.c_contiguous


@pytest.mark.parametrize("events", [10, forms.PLAIN_EVENTS + 1])
def test_small_questions_never_load_numba(events):
    code = (
        "import sys; from parcast_perturb.propagation import forms\n"
        f"print(not forms.PROPAGATION.worth_compiling({events}), 'numba' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.split() == [str(events == 10), "False"]


def test_draws_are_spread_evenly_and_do_not_follow_each_other():
    function = hash32
    rows = [function(function(row)) >> 16 for row in range(40_000)]
    share = np.array(rows) / 65536
    assert abs(share.mean() - 0.5) < 0.006
    assert abs(np.corrcoef(share[:-1], share[1:])[0, 1]) < 0.02
    assert np.histogram(share, 20)[0].min() > 1800
