"""How often bands hold, and how far medians are off, at twice and four times what was measured.

    python experiments/scaling/judge.py ../shared/truth --uk archer-benchmarks/.git \
        --extrap extrap/bin/python > table.md

With ``--abci``, ``--usernetes`` and ``--hpc-tests`` (clones, see ``collectives.py``) more series
are judged; ``-`` for the folder of truth leaves that out. With ``--unseen``, a folder of clones of
``unseen.py``, one table of kinds of series is printed in place of all: of these every family is
judged, since none tuned the prior.

Each series is cut after its second, third, ... size; what is before calibrates, and twice and four
times the last of it are predicted, where they were measured. Half of the families (by the hash of
their names) tuned the prior; the tables are of the others, of these (``--half tuned``), or of all
(``--half both``). Each family counts the same, and the standard error is that of their mean.
Last stands how often codes bend in the next doubling, by what is stated.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from statistics import median

import attrs
import numpy as np
from chances import table
from collectives import abci, hpc_tests, usernetes
from numpy.typing import NDArray
from series import COLLECTIVES, Series, Size, truth, uk_benchmarks
from unseen import unseen

from parcast.quantities import student_t
from parcast_scaling import predict
from parcast_scaling.curves import curves
from parcast_scaling.forecast import knee
from parcast_scaling.times import Run, observe

#: So many series of a family are asked whether they bend next.
_CUTS = 12

#: So many predictions of a family that is unseen count at a factor: more would be alike.
_ALIKE = 6

EXTRAP = Path(__file__).with_name("extrap_models.py")


@attrs.frozen(kw_only=True)
class Question:
    """Sizes that calibrate, and one to predict."""

    series: Series
    known: tuple[Size, ...]
    asked: Size

    @property
    def factor(self) -> float:
        """How many times the largest size that calibrates."""
        return self.asked.p / self.known[-1].p


@attrs.frozen
class Answer:
    """A predicted time, and its 90 % band where there is one."""

    seconds: float
    low: float = math.nan
    high: float = math.nan


def questions(series: Series) -> Iterator[Question]:
    """Yield each cut of a series with each size at twice or four times its end."""
    for count in range(2, len(series.sizes)):
        known = series.sizes[:count]
        for size in series.sizes[count:]:
            if size.p / known[-1].p in {2.0, 4.0}:
                yield Question(series=series, known=known, asked=size)


@cache  # a question is of two groups
def by_parcast(question: Question, *, knowing: bool = False) -> Answer:
    """Return the band of this project; ``knowing`` what may be stated beside the times."""
    points = [(size.p, seconds, size.n) for size in question.known for seconds in size.seconds]
    scope = question.series.scope if knowing else None
    (band,) = predict(points, [(question.asked.p, question.asked.n)], scope=scope)
    return Answer(band.median, band.low90, band.high90)


def by_power(question: Question) -> Answer:
    """Return time over work as a power of p, with the 90 % band of the regression."""
    x = np.log([size.p for size in question.known])
    y = np.log([median(size.seconds) / size.n for size in question.known])
    slope, start = np.polyfit(x, y, 1)
    at = math.log(question.asked.p)
    middle = math.exp(start + slope * at) * question.asked.n
    spare = len(x) - 2
    if spare == 0:
        return Answer(middle)
    scatter = math.sqrt(((y - start - slope * x) ** 2).sum() / spare)
    lever = 1 + 1 / len(x) + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    width = student_t(0.9, spare) * scatter * math.sqrt(lever)
    return Answer(middle, middle * math.exp(-width), middle * math.exp(width))


def by_extrap(asked: Sequence[Question], python: str) -> list[Answer]:
    """Return Extra-P's times, without a band: it states none."""
    lines = []
    for question in asked:
        seconds = [[x / size.n for x in size.seconds] for size in question.known]
        sizes = [size.p for size in question.known]
        lines.append(json.dumps([sizes, seconds, [question.asked.p], ["negative", "fewer"]]))
    done = subprocess.run(  # noqa: S603
        [python, str(EXTRAP)], input="\n".join(lines), text=True, capture_output=True, check=True
    )
    times = [json.loads(line)[0] for line in done.stdout.splitlines()]
    return [
        Answer(math.nan if time is None else time * question.asked.n)
        for question, time in zip(asked, times, strict=True)
    ]


def row(name: str, asked: Sequence[Question], answers: Sequence[Answer]) -> str:
    """Return a line of the table: coverage, width, median error, error of the worst tenth."""
    return " | ".join([f"| {name}", *_cells(asked, answers)]) + " |"


def _cells(asked: Sequence[Question], answers: Sequence[Answer]) -> tuple[str, str, str, str]:
    """Return coverage, width, median error and error of the worst tenth."""
    counts = Counter(question.series.family for question in asked)
    weights = np.array([1 / counts[question.series.family] for question in asked])
    truths = np.array([median(question.asked.seconds) for question in asked])
    low, high = (np.array([getattr(a, end) for a in answers]) for end in ("low", "high"))
    times = np.array([answer.seconds for answer in answers])
    errors = np.where(times > 0, np.abs(times / truths - 1), np.inf)
    stated = ~np.isnan(low)
    order = np.argsort(errors)
    parts = np.cumsum(weights[order]) / weights.sum()
    middle, worst = (errors[order][np.searchsorted(parts, level)] for level in (0.5, 0.9))
    width = f"{np.exp(np.median(np.log(high[stated] / low[stated]))):.2f}" if stated.any() else ""
    covers = _percent(*_mean_of_families(asked, _inside(asked, answers)))
    coverage = covers if stated.any() else "none stated"
    return coverage, width, f"{100 * middle:.1f} %", f"{100 * worst:.0f} %"


def _inside(asked: Sequence[Question], answers: Sequence[Answer]) -> NDArray[np.bool_]:
    """Return which times lie in the band; where none is stated, none does."""
    truths = [median(question.asked.seconds) for question in asked]
    return np.array([a.low <= true <= a.high for a, true in zip(answers, truths, strict=True)])


def _family(question: Question) -> str:
    return question.series.family


def _mean_of_families(
    asked: Sequence[Question],
    holds: NDArray[np.bool_],
    family: Callable[[Question], str] = _family,
) -> tuple[float, float]:
    """Return the mean of the families' shares, and its standard error."""
    families: dict[str, list[bool]] = defaultdict(list)
    for question, hold in zip(asked, holds, strict=True):
        families[family(question)].append(bool(hold))
    shares = np.array([np.mean(several) for several in families.values()])
    error = shares.std(ddof=1) / math.sqrt(len(shares)) if len(shares) > 1 else math.nan
    return float(shares.mean()), float(error)


def _percent(share: float, error: float) -> str:
    spread = "" if math.isnan(error) else f" +- {100 * error:.0f}"
    return f"{100 * share:.0f}{spread} %"


def bend(series: Series) -> float | None:
    """Return where the measured rate's slope first falls under a half, by interpolation."""
    slopes, middles = _slopes(series)
    under = np.flatnonzero(slopes < 0.5)
    if len(under) == 0 or under[0] == 0:
        return None
    after = under[0]
    part = (slopes[after - 1] - 0.5) / (slopes[after - 1] - slopes[after])
    return float(2 ** (middles[after - 1] + part * (middles[after] - middles[after - 1])))


def _slopes(series: Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slopes of the rate, and the logarithms of p that they are at."""
    x = np.log2([size.p for size in series.sizes])
    rate = np.log2([size.n / median(size.seconds) for size in series.sizes])
    return np.diff(rate) / np.diff(x), (x[1:] + x[:-1]) / 2


#: Kinds of series that the table of kinds tells apart.
KINDS: dict[str, Callable[[Question], bool]] = {
    "all": lambda _: True,
    "codes": lambda of: of.series.group not in COLLECTIVES,
    "codes on clusters": lambda of: of.series.group not in COLLECTIVES and not of.series.cloud,
    "codes on clouds": lambda of: of.series.group not in COLLECTIVES and of.series.cloud,
    "codes, strong scaling": lambda of: of.series.group not in COLLECTIVES and not of.series.weak,
    "codes, weak scaling": lambda of: of.series.weak,
    "collectives": lambda of: of.series.group in COLLECTIVES,
    "collectives on clusters": lambda of: of.series.group in COLLECTIVES and not of.series.cloud,
    "collectives on clouds": lambda of: of.series.group in COLLECTIVES and of.series.cloud,
    "two sizes known": lambda of: len(of.known) == 2,
    "three sizes known": lambda of: len(of.known) == 3,
    "four or more known": lambda of: len(of.known) > 3,
}


def print_kinds(several: Sequence[Series], extrap: str | None) -> None:
    """Print one table: coverage and medians by kind of series and by source."""
    asked = thinned([question for series in several for question in questions(series)])
    others = dict(zip(asked, by_extrap(asked, extrap), strict=True)) if extrap else {}
    sources = sorted({series.source for series in several})
    kinds = KINDS | {name: partial(_of_source, name) for name in sources}
    print("| series | at | predictions of families | in the 90 % band | each code once | width "
          "| median error | Extra-P | power law | its band |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, belongs in kinds.items():
        for factor in (2.0, 4.0):
            chosen = [each for each in asked if each.factor == factor and belongs(each)]
            if chosen:
                print(_kind_row(name, factor, chosen, others))


def thinned(asked: Sequence[Question]) -> list[Question]:
    """Return at most :data:`_ALIKE` questions of a family at a factor, by a hash of names."""
    alike: dict[tuple[str, float], list[Question]] = defaultdict(list)
    for question in asked:
        alike[question.series.family, question.factor].append(question)
    return [
        question for several in alike.values() for question in sorted(several, key=_mark)[:_ALIKE]
    ]


def _mark(question: Question) -> str:
    name = f"{question.series.name} {len(question.known)} {question.asked.p:g}"
    return sha256(name.encode()).hexdigest()


def _of_source(source: str, question: Question) -> bool:
    return question.series.source == source


def _kind_row(
    name: str, factor: float, asked: Sequence[Question], others: Mapping[Question, Answer]
) -> str:
    families = len({question.series.family for question in asked})
    cells = _cells(asked, [by_parcast(question) for question in asked])
    once = _mean_of_families(
        asked, _inside(asked, [by_parcast(question) for question in asked]), _code_and_system
    )
    extrap = _cells(asked, [others[question] for question in asked])[2] if others else ""
    power = _cells(asked, [by_power(question) for question in asked])
    row = [name, f"{factor:g} times", f"{len(asked)} of {families}", cells[0], _percent(*once)]
    return "| " + " | ".join([*row, cells[1], cells[2], extrap, power[2], power[0]]) + " |"


def _code_and_system(question: Question) -> str:
    return " ".join(question.series.family.split()[:2])


def knees(several: Sequence[Series]) -> tuple[int, int, int]:
    """Return how many knees lie beyond what calibrates, and of these predicted within a doubling.

    The last count is that of knees in the 90 % range. At most four doublings beyond the last size
    that calibrates are looked at.
    """
    count, near, inside = 0, 0, 0
    for series in several:
        at = bend(series)
        known = [size for size in series.sizes if at is not None and 1.4 * size.p <= at]
        if at is None or len(known) < 3:
            continue
        runs = [Run(size.p, x, size.n) for size in known for x in size.seconds]
        grid = np.geomspace(known[0].p, 16 * known[-1].p, 40)
        drawn, _ = curves(observe(runs), grid, np.full(40, known[-1].n))
        found = knee(drawn)
        count += 1
        near += found.median is not None and 0.5 <= found.median / at <= 2
        inside += (found.low90 or math.inf) <= at <= (found.high90 or math.inf)
    return count, near, inside


def next_bends(several: Sequence[Series], most: int = _CUTS) -> Iterator[tuple[bool, float, bool]]:
    """Yield whether a series goes on, how likely the next doubling was to bend, and the truth.

    A doubling bends where the rate's slope is under a half, as times show it. Each cut of a series
    that has not bent is asked. Of a family so many series count at most, chosen by the hash of
    their names. Who measures ends where it no longer pays: so those that go on are told apart.
    """
    families: dict[str, list[Series]] = defaultdict(list)
    for series in several:
        families[series.family].append(series)
    for alike in families.values():
        marked = sorted(alike, key=lambda series: sha256(series.name.encode()).hexdigest())
        for series in marked[:most]:
            slopes, _ = _slopes(series)
            for count in range(2, len(series.sizes)):
                if (slopes[: count - 1] < 0.5).any():
                    break
                known, asked = series.sizes[:count], series.sizes[count]
                if asked.p / known[-1].p <= 2:
                    stated = _chance_of_bend(known, asked)
                    yield count + 1 < len(series.sizes), stated, bool(slopes[count - 1] < 0.5)


def _chance_of_bend(known: Sequence[Size], asked: Size) -> float:
    """Return how likely the slope from the last known size to another is under a half."""
    runs = [Run(size.p, x, size.n) for size in known for x in size.seconds]
    drawn, _ = curves(observe(runs), np.array([asked.p]), np.array([asked.n]))
    last = known[-1]
    rate = np.log(asked.n / last.n) - drawn.seen[:, 0] + math.log(median(last.seconds))
    return float((rate < 0.5 * math.log(asked.p / last.p)).mean())


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add the options that name series."""
    parser.add_argument("truth", type=Path)
    parser.add_argument("--uk", type=Path, help="a clone of hpc-uk/archer-benchmarks")
    parser.add_argument("--abci", type=Path, help="a clone of aistabci/abci2.0benchmark")
    parser.add_argument(
        "--usernetes", type=Path, help="a clone of converged-computing/flux-usernetes"
    )
    parser.add_argument("--hpc-tests", type=Path, help="a clone of stackhpc/hpc-tests")
    parser.add_argument("--unseen", type=Path, help="a folder of clones, each as owner+name")
    parser.add_argument("--half", choices=("judged", "tuned", "both"), default="judged")


def chosen(options: argparse.Namespace) -> list[Series]:
    """Return the series that the options name."""
    several = list(truth(options.truth)) if str(options.truth) != "-" else []
    clones = {
        uk_benchmarks: options.uk,
        abci: options.abci,
        usernetes: options.usernetes,
        hpc_tests: options.hpc_tests,
    }
    for read, clone in clones.items():
        several += read(clone) if clone else ()
    if options.half == "both":
        return several
    return [series for series in several if series.judged == (options.half == "judged")]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_sources(parser)
    parser.add_argument("--extrap", help="the python of an environment with Extra-P")
    options = parser.parse_args()
    if options.unseen:
        several = list(unseen(options.unseen))
        print_kinds(several, options.extrap)
        print_knees(several, _ALIKE // 2)
    else:
        print_tables(chosen(options), options.extrap)


def print_tables(several: Sequence[Series], extrap: str | None) -> None:
    """Print how predictions of series are, by group, and their knees."""
    groups: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for series in several:
        for question in questions(series):
            sizes = "two sizes" if len(question.known) == 2 else "three or more"
            groups[series.group, f"{sizes}, at {question.factor:g} times"].append(question)
            groups["all", f"at {question.factor:g} times"].append(question)
            groups[f"of {series.source}", f"at {question.factor:g} times"].append(question)
    for (group, part), asked in sorted(groups.items()):
        families = len({question.series.family for question in asked})
        print(f"\n{group}, {part} ({len(asked)} predictions of {families} families)\n")
        print("| | in the 90 % band | width | median error | worst tenth from |")
        print("|---|---|---|---|---|")
        print(row("parcast", asked, [by_parcast(question) for question in asked]))
        if group in COLLECTIVES:
            knowing = [by_parcast(question, knowing=True) for question in asked]
            print(row("parcast, network known", asked, knowing))
        if extrap:
            print(row("Extra-P 4.2", asked, by_extrap(asked, extrap)))
        print(row("power law", asked, [by_power(question) for question in asked]))
    print_knees(several)


def print_knees(several: Sequence[Series], most: int = _CUTS) -> None:
    """Print how near knees are, by group, and how often codes bend in the next doubling."""
    for group in sorted({series.group for series in several}):
        count, near, inside = knees([series for series in several if series.group == group])
        if count:
            print(f"\n{group}: of {count} knees beyond what calibrates {near} are predicted within "
                  f"a doubling, {inside} lie in the 90 % range")  # fmt: skip
    codes = [series for series in several if series.group == "applications"]
    cases = list(next_bends(codes, most))
    for goes_on, where in ((True, "go on"), (False, "end there")):
        if alike := [(stated, true) for on, stated, true in cases if on == goes_on]:
            print(f"\nof series that {where}\n\n{table('bend in the next doubling', alike)}")


if __name__ == "__main__":
    main()
