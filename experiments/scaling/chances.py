"""Whether stated probabilities are right: of an efficiency under a target, and of the knee.

    python experiments/scaling/chances.py 200

Codes are those of ``codes.py``: divided work and one other mechanism, which takes 20 to 70 % of the
time at 256, so that the true efficiency and the true knee are known at any p. A code is measured at
p = 1 to 16, 32 or 64, three runs each, with a noise of 5 %. Asked are the probabilities that the
efficiency is under 50 % at twice to sixteen times the largest of them, and that there is a knee up
to there. An efficiency is over that at one process. The slope of codes with boundaries falls
towards what makes a knee, and never reaches it: they have none.

Half as many codes more are drawn as the prior has them, with their drift and their sudden rises: of
these what is stated must be right, if it is computed rightly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

import attrs
import numpy as np
from codes import NOISE, Code, code

from parcast_scaling.curves import curves
from parcast_scaling.discrepancy import fractional
from parcast_scaling.forecast import Knee, bands, knee, knee_positions
from parcast_scaling.mechanisms import SURFACE, Floats
from parcast_scaling.particles import Bools, relative_parts
from parcast_scaling.prior import Prior
from parcast_scaling.times import Run, observe

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


@attrs.frozen
class Stated:
    """Of a code, from twice to sixteen times the largest measured size."""

    below: tuple[float, ...]  #: the probability that the efficiency is under the target, at each
    knees: Floats  #: logarithms to the base 2, infinite where beyond
    knee: Knee


@attrs.frozen
class Asked:
    """A code, and what is stated of it."""

    largest: float  #: that is measured
    bend: float | None  #: the true knee, None where beyond sixteen times the largest
    stated: Stated
    under: Bools | None = None  #: whether the efficiency is under the target, where it is asked
    surface: bool = False

    def knee_up_to(self, factor: float) -> tuple[float, bool]:
        """Return the stated probability of a knee up to so many times, and the truth."""
        limit = factor * self.largest
        stated = float((self.stated.knees <= np.log2(limit)).mean())
        return stated, self.bend is not None and self.bend <= limit


def of_known_codes(count: int) -> Iterator[Asked]:
    """Yield the codes of ``codes.py``."""
    for number in range(count):
        synthetic, rng = code(number, 256, 0.2, 0.7)
        largest = 2.0 ** (4 + number // 5 % 3)
        runs = synthetic.runs(2.0 ** np.arange(np.log2(largest) + 1), 3, rng)
        yield Asked(
            largest,
            true_knee(synthetic, largest * _FACTORS[-1]),
            stated_of(runs, largest),
            true_efficiency(synthetic, largest * _FACTORS) < _TARGET,
            synthetic.kind == SURFACE,
        )


def of_prior(count: int) -> Iterator[Asked]:
    """Yield codes that are drawn as the prior has them."""
    prior = Prior()
    for number in range(count):
        rng = np.random.default_rng([77, number])
        largest = 2.0 ** (4 + number % 3)
        measured = 2.0 ** np.arange(np.log2(largest) + 1)
        p = np.concatenate([measured, _grid(largest)])
        explanation = prior.draw(1, rng)
        parts = relative_parts(explanation, prior.terms, p, np.ones_like(p), (largest, 1.0))[0]
        deviations = prior.deviations(NOISE)
        scatter, drift = (
            values[level]
            for values, level in zip(
                deviations, divmod(int(explanation.level[0]), len(deviations[0])), strict=True
            )
        )
        kernel = fractional(np.log2(p)[:, None], prior.roughness)
        values, vectors = np.linalg.eigh(kernel)
        normal = rng.standard_normal(len(p))
        smooth = np.log(parts.sum(axis=1))
        smooth = smooth + drift * (vectors @ (np.sqrt(np.maximum(values, 0)) * normal))
        exposed = 1 - explanation.shares()[:, 0]
        beyond = np.log2(p / largest)
        smooth = smooth + prior.rises.draw(exposed, np.log2(largest), beyond, rng)[0]
        seen = smooth[: len(measured)] + scatter * rng.standard_normal(len(measured))
        runs = [
            Run(float(size), float(np.exp(log + NOISE * rng.standard_normal())))
            for size, log in zip(measured, seen, strict=True)
            for _ in range(3)
        ]
        bend = float(2 ** knee_positions(_grid(largest), smooth[None, len(measured) :])[0])
        yield Asked(largest, bend if np.isfinite(bend) else None, stated_of(runs, largest))


def _grid(largest: float) -> Floats:
    last = largest * _FACTORS[-1]
    return np.geomspace(1, last, 2 * int(np.log2(last)) + 1)


def stated_of(runs: Sequence[Run], largest: float) -> Stated:
    """Return what is stated from runs up to the largest size."""
    together = np.concatenate([largest * _FACTORS, _grid(largest)])
    drawn, _ = curves(observe(runs), together, np.ones_like(together))
    sizes, grid = drawn.at(slice(0, len(_FACTORS))), drawn.at(slice(len(_FACTORS), None))
    return Stated(
        below=tuple(band.below for band in bands(sizes, _TARGET)),
        knees=knee_positions(grid.p, grid.smooth),
        knee=knee(grid),
    )


def chances(count: int) -> str:
    """Return how often the efficiency is under the target and the knee near, by what is stated."""
    under: list[tuple[float, bool]] = []
    apart: list[tuple[float, bool]] = []
    known = list(of_known_codes(count))
    for each in known:
        if each.under is not None:
            under += zip(each.stated.below, each.under, strict=True)
        if each.bend is not None and each.bend > each.largest:
            middle = each.stated.knee.median
            near = middle is not None and 0.5 <= middle / each.bend <= 2
            apart.append((each.bend / each.largest, near))
    close = [near for factor, near in apart if factor <= 4]
    every = [near for _, near in apart]
    populations = {
        "of the prior": list(of_prior(count // 2)),
        "of codes.py": known,
        "of these without boundaries": [each for each in known if not each.surface],
    }
    knees = [
        table(f"with a knee up to {factor:g} times, {name}", [
            each.knee_up_to(factor) for each in codes
        ])
        for name, codes in populations.items()
        for factor in _FACTORS[1:]
    ]  # fmt: skip
    nearness = (
        f"of {len(every)} knees beyond what is measured {sum(every)} are predicted within a "
        f"doubling, and {sum(close)} of the {len(close)} up to four times the largest measured p"
    )
    return "\n\n".join([table("under 50 %", under), *knees, nearness])


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
