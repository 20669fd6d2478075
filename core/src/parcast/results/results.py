"""Results: rows in one schema, whatever asked for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.model.query import Parts, Status, is_lower_bound
from parcast.results.row import SCHEMA, Row, plain
from parcast.results.texts import (
    bottleneck_text,
    cause_text,
    energy_text,
    error_text,
    interval_text,
    mapping_text,
    merge_similar,
    part_text,
    percent_text,
    price_text,
    ranges,
    rate_text,
    reason_text,
    sampled_text,
    spelled,
    time_text,
    unanswered,
    widened_text,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray

    from parcast.plugins.entries import Writer
    from parcast.results.plot import Plot
    from parcast.results.side_by_side import SideBySide


@attrs.frozen
class Results:
    """The rows of a comparison or a study and where they came from."""

    rows: Sequence[Row]
    provenance: Mapping[str, Any] = attrs.field(factory=dict, hash=False, repr=False)
    #: of the registry that was asked, by suffix: who draws `plot`
    writers: Mapping[str, Writer] = attrs.field(factory=dict, eq=False, repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the one JSON object that every command prints."""
        rows = [row.to_dict() for row in self.rows]
        return {"schema": SCHEMA, "rows": rows, "provenance": plain(self.provenance)}

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a data frame (see `parcast.results.frames.to_frame`)."""
        from parcast.results.frames import to_frame

        return to_frame(self.rows, self.provenance)

    def to_dataset(self) -> xarray.Dataset:
        """Return the rows as a grid (see `parcast.results.frames.to_dataset`)."""
        from parcast.results.frames import to_dataset

        return to_dataset(self.rows, self.provenance)

    def plot(self) -> Plot:
        """Return the picture that shows the rows best (see `parcast.results.plot.plot`)."""
        from parcast.results.plot import plot

        return plot(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return header and rows as text; columns that would say nothing are left out."""
        columns = {
            "workload": _unless_same([row.workload for row in self.rows]),
            "machine": _unless_same([row.machine for row in self.rows]),
            "p": [str(row.p) for row in self.rows],
            "d": [str(row.d) for row in self.rows],
            "mapping": _unless_same([mapping_text(row.mapping) for row in self.rows]),
            **self._settings(),
            "seed": _unless_same([str(row.seed) for row in self.rows]),
            "solver": [row.solver for row in self.rows],
            "time": [time_text(row.time) for row in self.rows],
            "between": [interval_text(row) for row in self.rows],
            "95 % of samples": [sampled_text(row) for row in self.rows],
            "with record": [widened_text(row) for row in self.rows],
            "mostly from": [cause_text(row) for row in self.rows],
            "measured": [time_text(row.measured) for row in self.rows],
            "error": [error_text(row.error) for row in self.rows],
            "speedup": [rate_text(row, row.speedup, ".3g") for row in self.rows],
            "efficiency": [percent_text(part) for part in efficiencies(self.rows)],
            **{
                f"{items}/s": [
                    rate_text(row, rate, ".4g") for row, rate in zip(self.rows, rates, strict=True)
                ]
                for items, rates in throughputs(self.rows).items()
            },
            **{
                part.name: [part_text(row.parts, part.name) for row in self.rows]
                for part in attrs.fields(Parts)
            },
            "bottleneck": [bottleneck_text(row) for row in self.rows],
            "price": [price_text(row) for row in self.rows],
            "energy": [energy_text(row) for row in self.rows],
            "": [reason_text(row) for row in self.rows],
        }
        visible = {head: cells for head, cells in columns.items() if any(cells)}
        return list(visible), [list(cells) for cells in zip(*visible.values(), strict=True)]

    def _settings(self) -> dict[str, list[str]]:
        """Return a column for each setting that differs between rows."""
        names = dict.fromkeys(name for row in self.rows for name in row.params)
        columns = {name: [spelled(row.params.get(name)) for row in self.rows] for name in names}
        return {name: cells for name, cells in columns.items() if len(set(cells) - {""}) > 1}

    def jobs(self) -> tuple[list[str], list[list[str]]] | None:
        """Return header and rows, as text, of the jobs that ran at once; None without any."""
        listed = [(row, name, job) for row in self.rows for name, job in _jobs(row).items()]
        if not listed:
            return None
        places = [at for at, row in enumerate(self.rows) for _ in _jobs(row)]
        columns = {
            "job": [name for _, name, _ in listed],
            "workload": _unless_same([row.workload for row, _, _ in listed]),
            "machine": _unless_same([row.machine for row, _, _ in listed]),
            "p": [str(job["processes"]) for _, _, job in listed],
            **{name: [cells[at] for at in places] for name, cells in self._settings().items()},
            "nodes": [ranges(job.get("nodes", ())) for _, _, job in listed],
            "solver": [row.solver for row, _, _ in listed],
            "alone": [time_text(job.get("alone")) for _, _, job in listed],
            "together": [time_text(job["time"]) for _, _, job in listed],
            "slowdown": [_slowdown(job) for _, _, job in listed],
        }
        visible = {head: cells for head, cells in columns.items() if any(cells)}
        return list(visible), [list(cells) for cells in zip(*visible.values(), strict=True)]

    def best(self) -> list[str]:
        """Return which rows are best (see `parcast.results.best.best`).

        Where only one machine is asked and it states neither price nor power, there is nothing to
        choose.
        """
        if len({row.machine for row in self.rows}) < 2 and not any(map(price_text, self.rows)):
            return []
        from parcast.results.best import best

        return best(self.rows)

    def answered(self) -> Results:
        """Return the rows that have a time."""
        return attrs.evolve(self, rows=[row for row in self.rows if row.status is Status.OK])

    def unanswered(self) -> list[str]:
        """Return who has no time, where and why: each reason once."""
        return unanswered(self.rows)

    def machines(self) -> SideBySide | None:
        """Return machines beside each other (see `parcast.results.side_by_side.side_by_side`)."""
        if len({row.machine for row in self.rows}) < 2:
            return None
        from parcast.results.side_by_side import side_by_side

        return side_by_side(self.rows)

    def notes(self) -> list[str]:
        """Return every row's notes, each once, with the solvers that it is from.

        Notes that differ in one number are one note with the range of it. Which p a note is of
        is said where the same solvers have answers at others.
        """
        rows_of: dict[str, list[Row]] = {}
        for row in self.rows:
            for note in row.notes:
                rows_of.setdefault(note, []).append(row)
        sentences = {
            f"{', '.join(dict.fromkeys(row.solver for row in rows))}: {note}": rows
            for note, rows in rows_of.items()
        }
        return [
            sentence + self._where([row for variant in variants for row in sentences[variant]])
            for sentence, variants in merge_similar(sentences).items()
        ]

    def _where(self, rows: Sequence[Row]) -> str:
        """Return of which p rows are, where their solvers have answers at other p too."""
        solvers, processes = {row.solver for row in rows}, {row.p for row in rows}
        answered = {row.p for row in self.rows if row.solver in solvers and row.status is Status.OK}
        places = ranges(sorted(processes)).replace(",", ", ")
        return f" (p = {places})" if answered - processes else ""

    def _repr_html_(self) -> str:
        from html import escape

        from parcast.html import table

        notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in self.notes())
        return table(*self.table()) + notes


def _unless_same(cells: Sequence[str]) -> list[str]:
    return [""] * len(cells) if len(set(cells)) <= 1 else list(cells)


def _jobs(row: Row) -> Mapping[str, Any]:
    """Return the jobs of a row by name; what else a solver may call its jobs are none."""
    jobs = row.details.get("jobs")
    if not isinstance(jobs, Mapping):
        return {}
    complete = all(isinstance(job, Mapping) and "slowdown" in job for job in jobs.values())
    return jobs if complete else {}


def _slowdown(job: Mapping[str, Any]) -> str:
    slowdown = job.get("slowdown")
    return "" if slowdown is None else f"{slowdown:.3f}"


def efficiencies(rows: Sequence[Row]) -> list[float | None]:
    """Return each row's efficiency over the fewest processes of the same solver and settings.

    With T(p) seconds on p processes, and q the fewest, that is q T(q) / (p T(p)): 1 where twice
    the processes take half the time. None where there is no such row, or only one p.
    """
    fewest: dict[Any, Row] = {}
    answered: dict[Any, set[int]] = {}
    for row in rows:
        if row.time:
            answered.setdefault(_series(row), set()).add(row.p)
        first = fewest.setdefault(_series(row), row)
        if row.time and (row.p < first.p or not first.time):
            fewest[_series(row)] = row
    return [
        _efficiency(fewest[_series(row)], row) if len(answered.get(_series(row), ())) > 1 else None
        for row in rows
    ]


def _efficiency(first: Row, row: Row) -> float | None:
    if not row.time or not first.time or is_lower_bound(row):
        return None
    return first.p * first.time / (row.p * row.time)


def _series(row: Row) -> Any:
    settings = tuple(sorted((name, spelled(value)) for name, value in row.params.items()))
    return row.workload, row.machine, row.solver, row.d, str(row.mapping), row.seed, settings


def throughputs(rows: Sequence[Row]) -> dict[str, list[float | None]]:
    """Return how much rows finish in a second, by what is counted."""
    counted = [row.details.get("throughput") for row in rows]
    names = dict.fromkeys(item["items"] for item in counted if item)
    return {
        name: [item["per_second"] if item and item["items"] == name else None for item in counted]
        for name in names
    }
