"""``parcast list``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from parcast.api import Registry
from parcast.cli.options import Json
from parcast.cli.output import print_json, print_table
from parcast.errors import ParcastError, UnknownNameError, did_you_mean
from parcast.files.datasets import read_dataset
from parcast.model.dataset import Dataset
from parcast.model.machine import Machine
from parcast.model.workload import Workload


def list_names(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            help="solvers, machines, workloads, plugins, kinds, lowerings, …",
            autocompletion=lambda incomplete: [n for n in _LISTS if n.startswith(incomplete)],
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List what is installed."""
    registry: Registry = context.obj
    if what is not None and what not in _LISTS:
        hint = did_you_mean(what, _LISTS) or f" Known: {', '.join(_LISTS)}."
        raise UnknownNameError(f"There is no list of {what!r}.{hint}")
    lists = {name: _LISTS[name](registry) for name in ([what] if what else _LISTS)}
    if json:
        print_json(lists)
        return
    for name, rows in lists.items():
        if not rows and what is not None:
            print(f"no {name}")
        if rows:
            heading = [name, *list(rows[0])[1:]]
            print_table(heading, [[str(cell) for cell in row.values()] for row in rows])
            print()


Rows = list[dict[str, Any]]


def _solvers(registry: Registry) -> Rows:
    families = [
        {"name": entry.name, "takes": entry.kind or "any kind", "summary": entry.summary}
        for entry in registry.families.values()
    ]
    solvers = [
        {"name": entry.name, "takes": entry.kind, "summary": entry.summary}
        for entry in registry.solvers.values()
    ]
    return sorted(families + solvers, key=lambda row: row["name"])


def _machines(registry: Registry) -> Rows:
    rows = [
        {"name": name, **{key: _fact(registry.machine, name, key) for key in _OF_MACHINES}}
        for name in registry.machines
    ]
    return sorted(rows, key=lambda row: _place(row["group"]))


#: What lists say of machines beside their names.
_OF_MACHINES = ("group", "year", "summary")

#: The groups that are listed first, in their order; machines of none come last.
_GROUPS = ("today", "storage", "papers")


def _place(group: str) -> tuple[int, str]:
    return (_GROUPS.index(group), "") if group in _GROUPS else (len(_GROUPS), group or "~")


def _workloads(registry: Registry) -> Rows:
    return [
        {"name": name, **{key: _fact(registry.workload, name, key) for key in ("kind", "summary")}}
        for name in registry.workloads
    ]


def _measurements(registry: Registry) -> Rows:
    def dataset(name: str) -> Dataset:
        return read_dataset(Path(str(registry.measurements[name].path)))

    return [
        {"name": name, "summary": _fact(dataset, name, "summary")} for name in registry.measurements
    ]


def _fact(read: Callable[[str], Machine | Workload | Dataset], name: str, key: str) -> str:
    """Return what a shipped file says of itself, or why it cannot be read."""
    try:
        fact = getattr(read(name), key)
        return "" if fact is None else str(fact)
    except ParcastError as error:
        return f"cannot be read: {error}" if key == "summary" else "?"


def _plugins(registry: Registry) -> Rows:
    return [
        {"name": info.name, "package": info.package, "problem": info.problem}
        for info in registry.plugins
    ]


def _summaries(entries: Mapping[str, Any]) -> Rows:
    return [{"name": entry.name, "summary": entry.summary} for entry in entries.values()]


def _lowerings(registry: Registry) -> Rows:
    return [
        {"name": e.name, "exact": e.exact, "summary": e.summary}
        for e in registry.lowerings.values()
    ]


_LISTS: Mapping[str, Callable[[Registry], Rows]] = {
    "solvers": _solvers,
    "machines": _machines,
    "workloads": _workloads,
    "measurements": _measurements,
    "predictors": lambda registry: _summaries(registry.predictors),
    "plugins": _plugins,
    "kinds": lambda registry: _summaries(registry.kinds),
    "lowerings": _lowerings,
    "parts": lambda registry: _summaries(registry.parts),
    "readers": lambda registry: _summaries(registry.readers),
    "writers": lambda registry: _summaries(registry.writers),
    "kernels": lambda registry: _summaries(registry.kernels),
}
