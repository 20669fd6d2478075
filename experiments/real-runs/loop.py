"""Predictions beside real runs on this host: every family's error, by program and ranks.

    parcast mpi measure -o this-machine.toml
    python experiments/real-runs/loop.py this-machine.toml

The number of rounds is fixed beforehand; a round goes over all programs and p, so that a drift of
the host's load touches all of them alike. The measured time is the median over rounds of
`mpi.run`'s medians. With ``--burn N`` that many other processes compute meanwhile, ``-p`` names
numbers of processes, and ``--set`` changes the machine that is predicted, as in
``parcast compare``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from parcast import Machine, Registry, Row
from parcast.comparison.settings import split_assignment
from parcast_mpi.host import Host, load, ticks

ROUNDS = 3

#: Programs and their parameters: each takes about half a second on one core.
PROGRAMS = {
    "ring-matmul": {"n": 1728},
    "stencil2d": {"n": 2048, "steps": 200},
    "master-worker": {"tasks": 100, "work": 1e8},
    "checkpointing-stencil": {"n": 2048, "steps": 100, "interval": 10},
}

Point = tuple[str, int]


def main() -> None:
    """Print the load, the errors of every point, and each family's median error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("machine")
    parser.add_argument("--burn", type=int, default=0)
    parser.add_argument("-p", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--set", action="append", default=[], dest="settings")
    asked = parser.parse_args()
    registry = Registry()
    machine = registry.machine(asked.machine)
    before, start = load(2.0), ticks()
    with burning(asked.burn):
        measured = measure(registry, machine, asked.p)
    end = ticks()
    changed = dict(map(split_assignment, asked.settings))
    predicted = {point: predict(registry, machine, point, changed) for point in measured}
    host = machine.part("host", Host)
    print(f"measured machine: {machine.summary}; {host.measured if host else ''}")
    print(f"load before: {before}")
    if start and end:
        print(f"load during the runs, these included: {end.since(start)}")
    table(measured, predicted)


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Keep other processes computing."""
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(count)]
    for one in burners:
        one.start()
    yield
    for one in burners:
        one.terminate()


def burn() -> None:
    """Compute until ended."""
    value = 1.0
    while value:
        value = 1.000001 * value % 2 + 0.5


def settings(point: Point) -> dict[str, object]:
    """Return the parameters of a point; more ranks than cores share them."""
    return {**PROGRAMS[point[0]], "nodes.oversubscribe": "true"}


def measure(registry: Registry, machine: Machine, p: list[int]) -> dict[Point, list[float]]:
    """Return the median of each round by point."""
    found: dict[Point, list[float]] = defaultdict(list)
    for round_ in range(ROUNDS):
        for name in PROGRAMS:
            rows = registry.compare(
                name, machine, p=p, solvers="mpi.run", settings=settings((name, 1)), seed=round_
            ).rows
            for row in rows:
                if row.time is None:
                    print(f"{name} at p={row.p}: {row.message}")
                else:
                    found[name, row.p].append(row.time)
    return found


def predict(
    registry: Registry, machine: Machine, point: Point, changed: dict[str, str]
) -> list[Row]:
    """Return a row of every family for one point."""
    name, p = point
    given = {**settings(point), **changed}
    return list(registry.compare(name, machine, p=p, settings=given).rows)


def table(measured: dict[Point, list[float]], predicted: dict[Point, list[Row]]) -> None:
    """Print Markdown: a line for each point, and one for each program's median errors."""
    families = sorted({family(row) for rows in predicted.values() for row in rows})
    print(f"\n| program | p | measured | {' | '.join(families)} |")
    print("|---" * (3 + len(families)) + "|")
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (name, p), times in measured.items():
        time = statistics.median(times)
        spread = (max(times) - min(times)) / 2 / time
        cells = []
        rows = {family(row): row for row in predicted[name, p]}
        for one in families:
            if rows[one].time is None:
                cells.append(rows[one].status.value)
                continue
            error = rows[one].time / time - 1
            errors[name][one].append(abs(error))
            cells.append(f"{error:+.0%}")
        print(f"| {name} | {p} | {time:.3f} s ±{spread:.0%} | {' | '.join(cells)} |")
    for name, found in errors.items():
        cells = [f"{statistics.median(found[f]):.0%}" if found[f] else "" for f in families]
        print(f"| {name} | median of errors | | {' | '.join(cells)} |")


def family(row: Row) -> str:
    """Return the family that a row's solver is of."""
    return row.solver.partition(".")[0]


if __name__ == "__main__":
    main()
