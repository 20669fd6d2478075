"""Results: rows in one schema, whatever asked for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.model.query import Parts, Status, is_lower_bound
from parcast.results.ratios import efficiencies, throughputs
from parcast.results.row import SCHEMA, Row, plain
from parcast.results.texts import (
    bottleneck_text,
    energy_text,
    mapping_text,
    merge_similar,
    price_text,
    ranges,
    spelled,
    time_text,
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
            "between": [_interval(row) for row in self.rows],
            "95 % of samples": [_sampled(row) for row in self.rows],
            "with record": [_widened(row) for row in self.rows],
            "mostly from": [_cause(row) for row in self.rows],
            "measured": [time_text(row.measured) for row in self.rows],
            "error": [_error(row.error) for row in self.rows],
            "speedup": [_at_most(row, row.speedup, ".3g") for row in self.rows],
            "efficiency": [_percent(part) for part in efficiencies(self.rows)],
            **{
                f"{items}/s": [
                    _at_most(row, rate, ".4g") for row, rate in zip(self.rows, rates, strict=True)
                ]
                for items, rates in throughputs(self.rows).items()
            },
            **{
                part.name: [_part(row.parts, part.name) for row in self.rows]
                for part in attrs.fields(Parts)
            },
            "bottleneck": [bottleneck_text(row) for row in self.rows],
            "price": [price_text(row) for row in self.rows],
            "energy": [energy_text(row) for row in self.rows],
            "": [_reason(row) for row in self.rows],
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
        each = [(row, name, job) for row in self.rows for name, job in _jobs(row).items()]
        if not each:
            return None
        places = [at for at, row in enumerate(self.rows) for _ in _jobs(row)]
        columns = {
            "job": [name for _, name, _ in each],
            "workload": _unless_same([row.workload for row, _, _ in each]),
            "machine": _unless_same([row.machine for row, _, _ in each]),
            "p": [str(job["processes"]) for _, _, job in each],
            **{name: [cells[at] for at in places] for name, cells in self._settings().items()},
            "nodes": [ranges(job.get("nodes", ())) for _, _, job in each],
            "solver": [row.solver for row, _, _ in each],
            "alone": [time_text(job.get("alone")) for _, _, job in each],
            "together": [time_text(job["time"]) for _, _, job in each],
            "slowdown": [_slowdown(job) for _, _, job in each],
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


def _at_most(row: Row, rate: float | None, digits: str) -> str:
    """Return what a time gives by division: at most that, where the time is a lower bound."""
    if not rate:
        return ""
    return f"{'<= ' if is_lower_bound(row) else ''}{rate:{digits}}"


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.3g} %"


def _jobs(row: Row) -> Mapping[str, Any]:
    """Return the jobs of a row by name; what else a solver may call its jobs are none."""
    jobs = row.details.get("jobs")
    if not isinstance(jobs, Mapping):
        return {}
    each = all(isinstance(job, Mapping) and "slowdown" in job for job in jobs.values())
    return jobs if each else {}


def _slowdown(job: Mapping[str, Any]) -> str:
    slowdown = job.get("slowdown")
    return "" if slowdown is None else f"{slowdown:.3f}"


def _error(error: float | None) -> str:
    return "" if error is None else f"{100 * error:+z.1f} %"


def _interval(row: Row) -> str:
    """Return what is proven of the time; or between what a solver, by its ``range``, puts it."""
    if row.lower is None and row.upper is None:
        return " .. ".join(map(time_text, row.details.get("range", ())))
    return f"{time_text(row.lower) or '0'} .. {time_text(row.upper) or '?'}"


def _sampled(row: Row) -> str:
    interval = row.details.get("uncertainty", {}).get("interval")
    return " .. ".join(map(time_text, interval)) if interval else ""


def _widened(row: Row) -> str:
    """Return the interval that the record of the solver's errors is in, too."""
    interval = row.details.get("record", {}).get("interval")
    return " .. ".join(map(time_text, interval)) if interval else ""


def _cause(row: Row) -> str:
    """Return which uncertain number explains most of the variance, and how much of it."""
    causes = row.details.get("uncertainty", {}).get("causes", {})
    return next((f"{name} ({100 * part:.0f} %)" for name, part in causes.items()), "")


def _part(parts: Parts | None, name: str) -> str:
    if parts is None or not parts.total:
        return ""
    return f"{100 * getattr(parts, name) / parts.total:.1f} %"


def _reason(row: Row) -> str:
    return "" if row.status is Status.OK else f"{row.status.value}: {row.message}"
