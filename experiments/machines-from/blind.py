"""Benchmarks at the largest number of nodes, predicted from those at fewer.

    python experiments/machines-from/blind.py ../shared/truth/perfstudy/points.csv

Of each system and benchmark the series at the largest number of nodes is kept apart; the usual
step is of the others alone, and so is how far messages are off.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import attrs
import numpy as np

from parcast import Registry
from parcast_machines_from.estimating.growth import PAIRS, Law, law_of, steps_of
from parcast_machines_from.estimating.messages import Counts, explained
from parcast_machines_from.growing import continued
from parcast_machines_from.reading import read_file
from parcast_machines_from.records import Series

FEWEST = 2  # numbers of nodes

#: Processes of a node where the table has none: a rank for each of eight accelerators.
PER_NODE = {"azure/cyclecloud/gpu": 8}


def groups(path: Path) -> dict[tuple[str, str, str], list[Series]]:
    """Return the series of each system and benchmark, by rising nodes."""
    by_key = defaultdict(list)
    for item in read_file(path).series:
        if not item.benchmark.startswith("triad"):
            key = (item.system, item.benchmark, item.memory)
            by_key[key].append(_with_processes(item))
    return {key: items for key in sorted(by_key) if len(items := _by_nodes(by_key[key])) >= FEWEST}


def _with_processes(item: Series) -> Series:
    if item.processes is not None or item.system not in PER_NODE:
        return item
    return attrs.evolve(item, processes=PER_NODE[item.system] * (item.nodes or 1))


def _by_nodes(items: list[Series]) -> list[Series]:
    """Return one series for each number of nodes, that with most repeats."""
    ordered = sorted(items, key=lambda item: item.values[0].repeats)
    by_nodes = {item.nodes or 0: item for item in ordered}
    return [by_nodes[nodes] for nodes in sorted(by_nodes)]


def laws(series: dict[tuple[str, str, str], list[Series]]) -> dict[bool, object]:
    """Return the usual steps of benchmarks of pairs and of all, without the largest sizes."""
    steps = defaultdict(list)
    for (_, benchmark, _), items in series.items():
        for before, after in pairwise(items[:-1]):
            steps[benchmark in PAIRS].append(steps_of(before, after))
    return {kind: law_of(items) for kind, items in steps.items()}


def law_of_messages(counts: Counts, series: dict[tuple[str, str, str], list[Series]]) -> Law:
    """Return how far messages are off from the smallest number of nodes to the second one.

    Of each collective that the smallest number explains, without the largest ones.
    """
    off: list[float] = []
    for (system, benchmark, memory), items in series.items():
        if benchmark != "allreduce" or len(items) <= FEWEST:
            continue
        before, after = items[:2]
        cause = explained(counts, [before])
        if cause is None:
            continue
        steps = steps_of(before, after)
        expected = cause.steps(steps, before.nodes or 0, after.nodes or 0)
        errors = [step - expected[size] for size, step in steps.items()]
        median = _median([abs(math.expm1(-error)) for error in errors])
        print(
            f"- rehearsal by messages, {system} {memory} from {before.nodes} nodes "
            f"({cause.library}): median error {100 * median:.1f} %."
        )
        off += errors
    low, high = np.quantile(off, [0.05, 0.95])
    return Law(0.0, float(low), float(high))


def rehearsed(series: dict[tuple[str, str, str], list[Series]]) -> None:
    """Print how ways to grow do for collectives without the largest sizes.

    Each cluster's second largest size is predicted from the one below and from other clusters,
    and each size of a cluster's own step from its neighbors.
    """
    steps = {
        key: steps_of(*items[-3:-1])
        for key, items in series.items()
        if key[1] not in PAIRS and len(items) > FEWEST
    }
    names = ("no growth", "the usual step", "that of the size", "that of clusters alike")
    errors: dict[str, list[float]] = defaultdict(list)
    for (system, *_), item in steps.items():
        rest = {key: step for key, step in steps.items() if key[0] != system}
        alike = [step for key, step in rest.items() if key[0][-3:] == system[-3:]]  # cpu or gpu
        for size, true in item.items():
            usual = (
                0.0,
                _median([_median(list(step.values())) for step in rest.values()]),
                _median([step[size] for step in rest.values() if size in step]),
                _median([_median(list(step.values())) for step in alike]),
            )
            for name, step in zip(names, usual, strict=True):
                errors[name].append(abs(math.expm1(step - true)))
    for name in names:
        print(f"- rehearsal, {name}: median error {100 * _median(errors[name]):.1f} %.")
    for reach in (1, 4, 99):
        own = []
        for item in steps.values():
            sizes = sorted(item)
            for at, size in enumerate(sizes):
                near = sizes[max(0, at - reach) : at + reach + 1]
                step = _median([item[other] for other in near if other != size])
                own.append(abs(math.expm1(step - item[size])))
        print(
            f"- rehearsal, the own step from {reach} neighbors on each side: "
            f"median error {100 * _median(own):.1f} %."
        )


def floors(series: dict[tuple[str, str, str], list[Series]]) -> None:
    """Print what even one who knows more would be off by, for collectives."""
    repeats, known = [], []
    for (_, benchmark, _), items in series.items():
        if benchmark in PAIRS:
            continue
        before, truth = items[-2:]
        steps = steps_of(before, truth)
        middle = _median(list(steps.values()))
        known += [abs(math.expm1(middle - step)) for step in steps.values()]
        repeats += [
            (value.high - value.low) / 2 / value.value
            for value in truth.values
            if value.repeats > 1 and value.high is not None and value.low is not None
        ]
    print(f"- half the range of repeats at the largest size: {100 * _median(repeats):.1f} %.")
    print(f"- one growth for all sizes, known from the answer: {100 * _median(known):.1f} %.")


def _median(values: list[float]) -> float:
    return float(np.median(values))


def main(path: Path) -> None:
    """Print the page."""
    series = groups(path)
    rehearsed(series)
    floors(series)
    usual, counts = laws(series), Counts(Registry())
    by_messages = law_of_messages(counts, series)
    low, high = (math.exp(end) for end in (by_messages.low, by_messages.high))
    print(f"- around messages: 90 % from {low:.3g} to {high:.3g} times.")
    rows, points = [], defaultdict(list)
    for (system, benchmark, memory), items in series.items():
        truth = items[-1]
        values = {value.size: value for value in truth.values}
        answers, by = continued(
            counts,
            items[:-1],
            truth.nodes or 0,
            usual=usual[benchmark in PAIRS],
            by_messages=by_messages,
        )
        compared = [(answer, values[answer.size]) for answer in answers if answer.size in values]
        errors = [abs(answer.value / value.value - 1) for answer, value in compared]
        inside = [answer.low <= value.value <= answer.high for answer, value in compared]
        kind = "pairs" if benchmark in PAIRS else "collectives"
        points[kind] += list(zip(errors, inside, strict=True))
        points["all"] += list(zip(errors, inside, strict=True))
        worst = max(compared, key=lambda pair: abs(math.log(pair[0].value / pair[1].value)))
        spread = np.median([(v.high - v.low) / v.value for v in truth.values])
        rows.append(
            f"| {system} | {benchmark}{' (device)' if memory == 'device' else ''} | "
            f"{', '.join(str(item.nodes) for item in items[:-1])} | {truth.nodes} | "
            f"{len(compared)} | "
            f"{100 * np.median(errors):.1f} % | {worst[0].value / worst[1].value:.2f} x at "
            f"{worst[0].size:.0f} B | {sum(inside)} of {len(inside)} | {100 * spread:.0f} % | "
            f"{by} |"
        )
    for kind in ("pairs", "collectives", "all"):
        errors, inside = zip(*points[kind], strict=True)
        print(
            f"- **{kind}**: {len(errors)} values, median error {100 * np.median(errors):.1f} %, "
            f"{100 * np.mean(inside):.1f} % inside the 90 % interval."
        )
    for kind, law in usual.items():
        name = "pairs" if kind else "collectives"
        print(
            f"- usual step of {name}: times {math.exp(law.step):.3g} a doubling, 90 % from "
            f"{math.exp(law.step + law.low):.3g} to {math.exp(law.step + law.high):.3g}."
        )
    print()
    print(
        "| system | benchmark | from nodes | at | sizes | median error | worst | inside | "
        "range of repeats | by |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
