"""Synthetic codes whose mechanism is known: coverage, bottlenecks, and what measuring costs.

    python experiments/scaling/codes.py 200

Each code is divided work and one other mechanism, or none. It is measured at p = 1 to 1024, five
runs each, with a noise of 5 %; the other mechanism takes 50 to 85 % of the time at 1024, so that it
can be told. Predicted are the times at 2048 and 4096 and what takes most there. Beside it
stands how often somebody is right who knows all of this: that there is one other mechanism at most,
which ones it may be, what its share may be, and the noise.

For ``--worth-measuring`` a code is measured at p = 2 to 16, three runs each, and the 90 % band at
256 is to be less than twofold. Single runs are added by doubling p, at 32, 64, 128, 256 and beyond,
or as proposed, at up to 256, until it is. Node-hours are those of the added runs.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from statistics import median

import attrs
import numpy as np

from parcast_scaling.curves import curves
from parcast_scaling.forecast import bands
from parcast_scaling.mechanisms import COLLECTIVES, CONTENTION, SERIAL, SURFACE, WORK, Floats
from parcast_scaling.times import Run, observe
from parcast_scaling.worth import worth_measuring

NOISE = 0.05

KINDS: dict[str, Callable[[Floats], Floats]] = {
    WORK: np.zeros_like,
    SURFACE: lambda p: p**-0.5,
    SERIAL: np.ones_like,
    COLLECTIVES: np.log2,
    CONTENTION: lambda p: p,
}


#: Shares of the other mechanism at the largest size.
_SHARES = (0.5, 0.85)


@attrs.frozen
class Code:
    """A code: its work, and the share of its other mechanism at the largest size."""

    kind: str
    seconds: float
    share: float
    top: float

    def __call__(self, p: Floats) -> Floats:
        """Return its time without noise."""
        term = KINDS[self.kind]
        at_top = float(term(np.array([self.top]))[0])
        shared = self.share * term(p) / at_top if at_top else np.zeros_like(p)
        divided = (1 - self.share if at_top else 1.0) * self.top / p
        times: Floats = self.seconds * (divided + shared)
        return times

    def runs(self, sizes: Floats, repeats: int, rng: np.random.Generator) -> list[Run]:
        """Return measured runs."""
        p = np.repeat(sizes, repeats)
        times = self(p) * np.exp(NOISE * rng.standard_normal(len(p)))
        return [Run(float(size), float(time)) for size, time in zip(p, times, strict=True)]


def code(number: int, top: float, low: float, high: float) -> tuple[Code, np.random.Generator]:
    """Return a code of that number, and the generator of its noise."""
    rng = np.random.default_rng([2026, number])
    kind = list(KINDS)[number % len(KINDS)]
    return Code(kind, float(np.exp(rng.uniform(-2, 5))), float(rng.uniform(low, high)), top), rng


def coverage(count: int) -> str:
    """Return how often bands hold and the bottleneck is right, of so many codes."""
    sizes, wanted = 2.0 ** np.arange(11), np.array([2048.0, 4096.0])
    inside, right, sure, sure_right = Counter[float](), 0, 0, 0
    for number in range(count):
        synthetic, rng = code(number, 1024, *_SHARES)
        drawn, _ = curves(observe(synthetic.runs(sizes, 5, rng)), wanted, np.ones(2))
        predicted = bands(drawn, 0.5)
        new = synthetic.runs(wanted, 5, rng)
        for band in predicted:
            measured = median(run.seconds for run in new if run.p == band.p)
            inside[band.p] += band.low90 <= measured <= band.high90
        hit = predicted[-1].binds == synthetic.kind
        right += hit
        sure += predicted[-1].binds_chance >= 0.7
        sure_right += hit and predicted[-1].binds_chance >= 0.7
    shares = ", ".join(f"{100 * inside[p] / count:.1f} % at {p:g}" for p in wanted)
    return (
        f"{count} codes: new medians in the 90 % band: {shares}; the right bottleneck in "
        f"{100 * right / count:.1f} %, and in {sure_right} of the {sure} where it is stated with a "
        "probability of 70 % or more"
    )


def best(count: int) -> str:
    """Return how often the likeliest mechanism is the right one, of so many codes."""
    sizes, right = 2.0 ** np.arange(11), 0
    shares = np.linspace(*_SHARES, 71)
    curves_of = {
        kind: np.log([Code(kind, 1.0, share, 1024)(sizes) for share in shares]) for kind in KINDS
    }
    for number in range(count):
        synthetic, rng = code(number, 1024, *_SHARES)
        runs = synthetic.runs(sizes, 5, rng)
        logs = np.log([run.seconds for run in runs]).reshape(11, 5).mean(axis=1)
        evidence = {}
        for kind, curve in curves_of.items():
            off = logs - curve
            off -= off.mean(axis=1, keepdims=True)  # any number of seconds is as likely
            evidence[kind] = np.exp(-(off**2).sum(axis=1) * 5 / NOISE**2 / 2).mean()
        right += max(evidence, key=evidence.__getitem__) == synthetic.kind
    return f"whoever knows how they are made is right in {100 * right / count:.1f} %"


def cost_of(synthetic: Code, rng: np.random.Generator, *, proposed: bool) -> float:
    """Return p times hours until the 90 % band at 256 is less than twofold.

    Both ways end by the same band: where nothing more is proposed.
    """
    runs, spent = synthetic.runs(2.0 ** np.arange(1, 5), 3, rng), 0.0
    for _ in range(12):
        proposals = worth_measuring(runs, 256, 1, seed=1, most=256, enough=2.0)
        if not proposals:
            break
        size = proposals[0].p if proposed else 2 * max(run.p for run in runs)
        new = synthetic.runs(np.array([size]), 1, rng)
        spent += size * new[0].seconds / 3600
        runs += new
    return spent


def worth(count: int) -> str:
    """Return what proposals cost over what doubling costs."""
    costs = []
    for number in range(count):
        synthetic, _ = code(number, 256, 0.2, 0.7)
        costs.append([
            cost_of(synthetic, np.random.default_rng([7, number]), proposed=proposed)
            / synthetic.seconds
            for proposed in (True, False)
        ])  # fmt: skip
    proposed, doubled = np.array(costs).T
    ratios = proposed[doubled > 0] / doubled[doubled > 0]
    error = ratios.std(ddof=1) / math.sqrt(len(ratios))
    return (
        f"{len(ratios)} codes: proposals take {100 * np.median(ratios):.0f} % of the node-hours of "
        f"doubling in the median, {100 * ratios.mean():.0f} +- {100 * error:.0f} % in the mean, "
        f"{100 * ratios.max():.0f} % at most, and {100 * proposed.sum() / doubled.sum():.0f} % of "
        "all node-hours together, if all codes compute as long"
    )


if __name__ == "__main__":
    codes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(coverage(codes))
    print(best(codes))
    print(worth(codes))
