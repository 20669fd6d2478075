"""The kernel as plain Python gives the same numbers as compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from parcast_perturb.perturbation import Addition, Perturbation, Recorded, Semantics
from parcast_perturb.propagation.running import propagate
from parcast_perturb.propagation.sampling import mixed
from parcast_perturb.readers.neutral import trace_of

if __name__ == "__main__":  # the plain form, in a process of its own
    from programs import Costs, neutral, random_program
else:
    from .programs import Costs, neutral, random_program


def finals():
    """Return delays of some programs under every policy and option."""
    values = np.random.default_rng(4).exponential(30, 65536) - 5
    added = Perturbation(
        noise=(Addition(values=values),), latency=(Addition(values=values, ranks=(0,)),),
        compute=(Addition(3.5),), per_byte=(Addition(0.25),),
    )  # fmt: skip
    found = []
    for seed in range(12):
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
                found.append([done.final.tolist(), done.moved.tolist(), done.cause.tolist(),
                              sorted(done.clipped.items())])  # fmt: skip
    return json.loads(json.dumps(found))


def test_plain_python_gives_the_same_numbers():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    plain = subprocess.run(
        [sys.executable, __file__], env=environment, check=True, capture_output=True,
        cwd=Path(__file__).parent, timeout=300,
    )  # fmt: skip
    assert json.loads(plain.stdout) == finals()


def test_draws_are_spread_evenly_and_do_not_follow_each_other():
    function = mixed.py_func
    rows = [function(function(row)) >> 16 for row in range(40_000)]
    share = np.array(rows) / 65536
    assert abs(share.mean() - 0.5) < 0.006
    assert abs(np.corrcoef(share[:-1], share[1:])[0, 1]) < 0.02
    assert np.histogram(share, 20)[0].min() > 1800


if __name__ == "__main__":
    sys.stdout.write(json.dumps(finals()))
