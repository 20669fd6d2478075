"""Whether stated probabilities are right: of an efficiency under a target, and of the knee.

    python experiments/scaling/chances.py 200

Codes are those of ``codes.py``: divided work and one other mechanism, which takes 20 to 70 % of the
time at 256, so that the true efficiency and the true knee are known at any p. A code is measured at
p = 1 to 16, 32 or 64, three runs each, with a noise of 5 %. Asked are the probabilities that the
efficiency is under 50 % at twice to sixteen times the largest of them, and that there is a knee up
to sixteen times. An efficiency is over that at one process. Codes with boundaries are not asked for
a knee: their slope falls towards what makes one, and never reaches it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from codes import Code, code

from parcast_scaling.curves import curves
from parcast_scaling.forecast import Knee, bands, knee
from parcast_scaling.mechanisms import SURFACE, Floats
from parcast_scaling.times import observe

_TARGET = 0.5
_FACTORS = np.array([2.0, 4.0, 8.0, 16.0])

#: Ends of the classes of stated probabilities.
_EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)


def true_knee(synthetic: Code, last: float) -> float | None:
    """Return where doubling makes a code less than 1.41 times as fast; None where beyond."""
    p = np.geomspace(1, last, 4000)
    slopes = -np.gradient(np.log(synthetic(p)), np.log(p))
    under = np.flatnonzero(slopes < 0.5)
    return float(p[under[0]]) if len(under) else None


def true_efficiency(synthetic: Code, p: Floats) -> Floats:
    """Return the rate per process over that at one process."""
    efficiency: Floats = synthetic(np.ones(1)) / (p * synthetic(p))
    return efficiency


def asked(count: int) -> Iterator[tuple[Code, float, Floats, Knee]]:
    """Yield each code, its largest measured p, the stated probabilities and the stated knee."""
    for number in range(count):
        synthetic, rng = code(number, 256, 0.2, 0.7)
        largest = 2.0 ** (4 + number // 5 % 3)
        runs = synthetic.runs(2.0 ** np.arange(np.log2(largest) + 1), 3, rng)
        sizes = largest * _FACTORS
        grid = np.geomspace(1, sizes[-1], 2 * int(np.log2(sizes[-1])) + 1)
        together = np.concatenate([sizes, grid])
        drawn, _ = curves(observe(runs), together, np.ones_like(together))
        stated = [band.below for band in bands(drawn.at(slice(0, len(sizes))), _TARGET)]
        yield synthetic, largest, np.array(stated), knee(drawn.at(slice(len(sizes), None)))


def chances(count: int) -> str:
    """Return how often the efficiency is under the target and the knee near, by what is stated."""
    under: list[tuple[float, float]] = []
    knees: list[tuple[float, float]] = []
    apart: list[tuple[float, bool]] = []
    for synthetic, largest, stated, bend in asked(count):
        true = true_efficiency(synthetic, largest * _FACTORS) < _TARGET
        under += zip(stated, true, strict=True)
        at = true_knee(synthetic, largest * _FACTORS[-1])
        if synthetic.kind != SURFACE:
            knees.append((bend.chance, at is not None))
        if at is not None and at > largest:
            near = bend.median is not None and 0.5 <= bend.median / at <= 2
            apart.append((at / largest, near))
    close = [near for factor, near in apart if factor <= 4]
    every = [near for _, near in apart]
    return (
        f"{table('under 50 %', under)}\n\n{table('with a knee', knees)}\n\nof {len(every)} knees "
        f"beyond what is measured {sum(every)} are predicted within a doubling, and {sum(close)} "
        f"of the {len(close)} up to four times the largest measured p"
    )


def table(what: str, cases: list[tuple[float, float]]) -> str:
    """Return how often something is true, by its stated probability."""
    stated, true = np.array(cases, dtype=float).T
    lines = [f"| stated | cases | stated, mean | {what} |", "|---|---|---|---|"]
    for low, high in pairwise(_EDGES):
        rows = (stated >= low) & ((stated < high) | (high == 1))
        if rows.any():
            lines.append(
                f"| {100 * low:.0f} to {100 * high:.0f} % | {rows.sum()} "
                f"| {100 * stated[rows].mean():.0f} % | {100 * true[rows].mean():.0f} % |"
            )
    score, base = ((stated - true) ** 2).mean(), true.mean() * (1 - true.mean())
    always = f"{100 * true.mean():.0f} %"
    return "\n".join([*lines, "", f"Brier score {score:.3f}; stating always {always}: {base:.3f}"])


if __name__ == "__main__":
    print(chances(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
