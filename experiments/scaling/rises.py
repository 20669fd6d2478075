r"""How often the next doubling takes more than twice or threefold what is predicted, and by what.

    python experiments/scaling/rises.py ../shared/truth --uk archer-benchmarks/.git \
        --abci abci2.0benchmark/.git --usernetes flux-usernetes/.git --hpc-tests hpc-tests/.git \
        --half tuned

Each series is cut as in ``judge.py``, and twice the last size is compared with the median that is
predicted; of codes 12 cuts of a family count at most, chosen by the hash of their names. Beside the
counts stand the means of families, each counted the same: as they are, and as the bands expect
them.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from statistics import median

import attrs
import numpy as np
from judge import Question, add_sources, chosen, questions
from numpy.typing import NDArray
from series import COLLECTIVES

from parcast_scaling.curves import curves
from parcast_scaling.prior import Prior
from parcast_scaling.rises import Rises
from parcast_scaling.scope import Network
from parcast_scaling.times import Run, observe

_TIMES = np.array([2.0, 3.0, 5.0])

_CUTS = 12


@attrs.frozen(kw_only=True)
class Outcome:
    """What a doubling shows."""

    question: Question
    exposed: float  #: the part of the time that a rise reaches, median
    noise: float
    above: NDArray[np.bool_]  #: whether it takes more than so many times the median
    expected: NDArray[np.float64]  #: the chance of that

    @property
    def collective(self) -> bool:
        """Whether it is an operation alone, without a code around it."""
        return self.question.series.group in COLLECTIVES

    @property
    def cloud(self) -> bool:
        """Whether its network is a cloud's."""
        return self.question.series.scope.network == Network.CLOUD

    @property
    def change(self) -> float:
        """How many times longer the last known size takes than the one before."""
        before, last = (median(size.seconds) for size in self.question.known[-2:])
        return last / before


#: What may be known before, and told apart by.
KINDS: dict[str, Callable[[Outcome], bool]] = {
    "collectives": lambda of: of.collective,
    "collectives on clouds": lambda of: of.collective and of.cloud,
    "collectives elsewhere": lambda of: of.collective and not of.cloud,
    "collectives, repeats apart by 10 % or more": lambda of: of.collective and of.noise >= 0.1,
    "collectives, repeats nearer or none": lambda of: of.collective and of.noise < 0.1,
    "collectives, two sizes known": lambda of: of.collective and len(of.question.known) == 2,
    "collectives, three sizes known": lambda of: of.collective and len(of.question.known) == 3,
    "collectives, four sizes known": lambda of: of.collective and len(of.question.known) >= 4,
    "collectives that fell by 15 % or more": lambda of: of.collective and of.change < 0.85,
    "collectives, flat within 15 %": lambda of: of.collective and 0.85 <= of.change < 1.15,
    "collectives that rose by 15 % or more": lambda of: of.collective and of.change >= 1.15,
    "codes": lambda of: not of.collective,
    "codes, half or more exposed": lambda of: not of.collective and of.exposed >= 0.5,
    "codes, less exposed": lambda of: not of.collective and of.exposed < 0.5,
}


def outcome(question: Question, *, knowing: bool) -> Outcome:
    """Return what a doubling shows, and what was expected."""
    prior = Prior(rises=Rises(scope=question.series.scope)) if knowing else Prior()
    runs = [Run(size.p, x, size.n) for size in question.known for x in size.seconds]
    observed = observe(runs)
    at = np.array([question.asked.p]), np.array([question.asked.n])
    drawn, posterior = curves(observed, *at, prior=prior)
    draws = np.exp(drawn.seen[:, 0])
    middle = np.median(draws)
    return Outcome(
        question=question,
        exposed=float(np.median(posterior.exposed())),
        noise=observed.noise,
        above=median(question.asked.seconds) > _TIMES * middle,
        expected=(draws[:, None] > _TIMES * middle).mean(axis=0),
    )


def thinned(asked: Sequence[Question]) -> list[Question]:
    """Return the questions, of families of codes not too many."""
    families: dict[str, list[Question]] = defaultdict(list)
    for question in asked:
        families[question.series.family].append(question)
    kept = []
    for several in families.values():
        limit = None if several[0].series.group in COLLECTIVES else _CUTS
        kept += sorted(several, key=_mark)[:limit]
    return kept


def _mark(question: Question) -> str:
    name = f"{question.series.name}{len(question.known)}"
    return hashlib.sha256(name.encode()).hexdigest()


def row(name: str, several: Sequence[Outcome]) -> str:
    """Return a line of the table."""
    counts = Counter(each.question.series.family for each in several)
    weights = np.array([1 / counts[each.question.series.family] for each in several])
    weights /= weights.sum()
    above = np.array([each.above for each in several])
    expected = np.array([each.expected for each in several])
    risen = len({each.question.series.family for each in several if each.above[0]})
    cells = [
        f"{above[:, at].sum()} ({100 * weights @ above[:, at]:.1f} %; "
        f"{100 * weights @ expected[:, at]:.1f} %)"
        for at in range(len(_TIMES))
    ]
    return f"| {name} | {len(several)} of {len(counts)} ({risen}) | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_sources(parser)
    parser.add_argument(
        "--knowing", action="store_true", help="whose network it is, and whether a code computes"
    )
    options = parser.parse_args()
    asked = [each for series in chosen(options) for each in questions(series)]
    seen = [
        outcome(each, knowing=options.knowing)
        for each in thinned([each for each in asked if each.factor == 2])
    ]
    heads = " | ".join(f"over {times:g} times" for times in _TIMES)
    print(f"| | times of families (with a rise) | {heads} |")
    print("|---|---|" + "---|" * len(_TIMES))
    for name, holds in KINDS.items():
        if several := [each for each in seen if holds(each)]:
            print(row(name, several))


if __name__ == "__main__":
    main()
