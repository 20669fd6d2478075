"""The rows of a surface: one spmd solver asked at every p, d and combination of settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from parcast import ParcastError, Registry, Results, Row
from parcast.comparison import Over, Tell, silent
from parcast.errors import UnknownNameError
from parcast.plugins import without_collection
from parcast_spmd.surface.asymptotic_bounds import asymptotes

if TYPE_CHECKING:
    from parcast.comparison import MachineLike, WorkloadLike

#: More points than this would not fit in memory.
MOST_POINTS = 1_000_000


def survey(
    registry: Registry,
    workload: WorkloadLike,
    machine: MachineLike,
    *,
    p: Iterable[int],
    d: Iterable[int] | None = None,
    over: Sequence[Over] = (),
    settings: Mapping[str, Any] | None = None,
    solver: str = "spmd",
    tell: Tell = silent,
) -> Results:
    """Return the rows of a surface, p varying slowest of p and d.

    Each row's details have the ``efficiency``, speedup / p, and ``bounds``, the asymptotic and
    the balanced job bounds on the model's time (see `asymptotes`). A setting that is varied
    over is one of the row's ``params``, in base units.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value.
    p, d
        Numbers of processes and of disks; the machine's own d where not given.
    over
        Settings that take several values; every combination is asked.
    settings
        Settings that are the same everywhere.
    solver
        ``spmd`` or one of its solvers.
    tell
        Hears what is being done, in words for people.

    Raises
    ------
    ParcastError
        If the solver is of another family, there are more than a million points, or
        `Registry.compare` refuses what is asked.
    """
    p, d = tuple(p), None if d is None else tuple(d)
    _check(registry, solver, over)
    points = len(p) * len(d or (1,)) * prod(len(setting.values) for setting in over)
    if points > MOST_POINTS:
        raise ParcastError(f"{points:,} points are more than {MOST_POINTS:,}; use larger steps")
    with without_collection():
        results = registry.compare(
            workload, machine, p=p, d=d, solvers=solver, settings=settings,
            over={setting.name: setting.values for setting in over}, tell=tell,
            elasticities=False,  # the map shows parts
        )  # fmt: skip
        rows = tuple(_enriched(results.rows, over))
    origin = dict(results.provenance)
    if over:
        origin["over"] = {
            setting.name: {
                "unit": setting.unit,
                "values": list(setting.values),
                "numbers": list(setting.number),
            }
            for setting in over
        }
    return Results(rows, origin, writers=registry.writers)


def _check(registry: Registry, solver: str, over: Sequence[Over]) -> None:
    names = {"spmd", *(name for name, entry in registry.solvers.items() if entry.family == "spmd")}
    if solver not in names:
        raise UnknownNameError(
            f"A surface is asked of spmd, not of {solver!r}; choose from {', '.join(sorted(names))}"
        )
    others = {entry.family for entry in registry.solvers.values()} - {"spmd"}
    for setting in over:
        if setting.name.partition(".")[0] in others:
            raise ParcastError(f"--over {setting.name}: it is an option of no solver of spmd")


def _enriched(rows: Sequence[Row], over: Sequence[Over]) -> Iterator[Row]:
    """Yield the rows with what only surfaces have; those of each combination are together."""
    combinations = list(product(*(setting.number for setting in over)))
    each = len(rows) // len(combinations)
    for start, numbers in enumerate(combinations):
        chosen = {setting.name: number for setting, number in zip(over, numbers, strict=True)}
        for row in rows[start * each : (start + 1) * each]:
            yield _enrich(row, chosen)


def _enrich(row: Row, chosen: Mapping[str, Any]) -> Row:
    details = dict(row.details)
    if row.speedup is not None:
        details["efficiency"] = row.speedup / row.p
    if row.time is not None:
        details["bounds"] = asymptotes(details["phases"]).to_data()
    params = {**row.params, **chosen} if chosen else row.params
    return Row(**{**vars(row), "params": params, "details": details})
