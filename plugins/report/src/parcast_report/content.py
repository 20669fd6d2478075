"""What a report says in words and tables: counted and compared, nothing drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from parcast import Results, Row, Status
from parcast.model import is_lower_bound
from parcast.quantities import format_seconds, is_number
from parcast.results import merge_similar, plain

#: More rows than these are not printed in one table.
MOST_ROWS = 120

#: More processes or disks than these are told by their ends.
_MOST_LISTED = 8


@attrs.frozen
class Table:
    """A table with its caption; a cell is text."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@attrs.frozen
class Remark:
    """Something that a solver says, and of which points."""

    solver: str
    text: str
    points: str  #: empty where it is all of them


@attrs.frozen
class Case:
    """One workload on one machine."""

    name: str
    question: str
    answers: tuple[str, ...]  #: sentences
    results: Results = attrs.field(repr=False)

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of this case."""
        return self.results.rows


def cases(results: Results) -> list[Case]:
    """Return the results by workload and machine, in their order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in results.rows:
        groups.setdefault((row.workload, row.machine), []).append(row)
    return [
        Case(
            f"{workload} on {machine}",
            _question(workload, machine, rows, results.provenance),
            tuple(_answers(rows)),
            attrs.evolve(results, rows=tuple(rows)),
        )
        for (workload, machine), rows in groups.items()
    ]


def _question(
    workload: str, machine: str, rows: Sequence[Row], provenance: Mapping[str, Any]
) -> str:
    p, d = ({getattr(row, name) for row in rows} for name in ("p", "d"))
    processes = f"{numbers(p)} process{'' if p == {1} else 'es'}"
    disks = f"{numbers(d)} disk{'' if d == {1} else 's'}"
    settings = provenance.get("settings") or {}
    texts = [f"{name} = {_spell(value)}" for name, value in settings.items()]
    where = f", where {' and '.join(texts)}" if texts else ""
    return f"How long does {workload} take on {machine} with {processes} and {disks}{where}?"


def numbers(values: Iterable[int]) -> str:
    """Return whole numbers as people list them: ``1, 4 and 16`` or ``1 to 512 (24 values)``."""
    ordered = sorted(set(values))
    if len(ordered) > _MOST_LISTED:
        return f"{ordered[0]} to {ordered[-1]} ({len(ordered)} values)"
    texts = [f"{value}" for value in ordered]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _spell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else f"{value}"


def _answers(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what the rows say, in sentences."""
    timed = [row for row in rows if row.time is not None]
    if not timed:
        yield "No solver gives a time; their reasons stand below."
        return
    bounds = dict.fromkeys(row.solver for row in timed if is_lower_bound(row))
    timed = [row for row in timed if not is_lower_bound(row)]
    if not timed:
        yield f"There are lower bounds alone: {', '.join(bounds)}."
        return
    best = min(timed, key=_time)
    yield f"Shortest: {format_seconds(_time(best))} at {coordinates(best)} by {best.solver}."
    if bounds:
        yield f"Lower bounds, not estimates, are the times of {', '.join(bounds)}."
    last = max(timed, key=lambda row: (row.p, row.d))
    at_last = [row for row in timed if coordinates(row) == coordinates(last)]
    low, high = min(at_last, key=_time), max(at_last, key=_time)
    if _time(high) > 1.005 * _time(low) > 0:
        yield (
            f"At {coordinates(last)} solvers differ by a factor of {_time(high) / _time(low):.3g}: "
            f"{format_seconds(_time(low))} by {low.solver}, "
            f"{format_seconds(_time(high))} by {high.solver}."
        )
    errors = {name: _errors(group) for name, group in by_solver(rows).items()}
    errors = {name: group_errors for name, group_errors in errors.items() if group_errors}
    if errors:
        name = min(errors, key=lambda solver: _mean(errors[solver]))
        yield (
            f"Nearest to the measured times: {name}, {100 * _mean(errors[name]):.3g} % off on "
            f"average over {len(errors[name])} of them."
        )


def _time(row: Row) -> float:
    return row.time or 0.0


def coordinates(row: Row) -> str:
    """Return what was asked of a row beside workload and machine."""
    settings = [f"{name}={value:.6g}" if is_number(value) else f"{name}={value}"
                for name, value in row.params.items()]  # fmt: skip
    return ", ".join([f"p={row.p}", f"d={row.d}", *settings])


def by_solver(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each solver."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.solver, []).append(row)
    return groups


def _errors(rows: Iterable[Row]) -> list[float]:
    return [abs(row.error) for row in rows if row.error is not None]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def solvers(rows: Sequence[Row]) -> Table:
    """Return what each solver answered, how near it came and how long it took."""
    columns: dict[str, Callable[[list[Row]], str]] = {
        "answered": _answered,
        "shortest time": lambda group: _extreme(group, "time", min),
        "largest speedup": lambda group: _extreme(group, "speedup", max),
        "mean error": lambda group: _error(_errors(group), _mean),
        "largest error": lambda group: _error(_errors(group), max),
        "says besides": _extras,
        "solved in": _solved_in,
    }
    groups = by_solver(rows)
    cells = {head: [say(group) for group in groups.values()] for head, say in columns.items()}
    filled = {head: column for head, column in cells.items() if any(column)}
    rows_ = zip(groups, *filled.values(), strict=True)
    return Table("Solvers side by side", ("solver", *filled), tuple(rows_))


def _answered(rows: Sequence[Row]) -> str:
    good = sum(row.status is Status.OK for row in rows)
    points = f"{good} of {len(rows)} points"
    bad = dict.fromkeys(row.status.value.replace("_", " ") for row in rows)
    bad.pop(Status.OK.value, None)
    return f"{points} ({', '.join(bad)})" if bad else points


def _extreme(rows: Sequence[Row], name: str, best: Callable[..., Row]) -> str:
    valued = [row for row in rows if getattr(row, name)]
    if not valued:
        return ""
    row = best(valued, key=lambda row: getattr(row, name))
    value = getattr(row, name)
    text = format_seconds(value) if name == "time" else f"{value:.3g}"
    return f"{text} at p={row.p}, d={row.d}"


def _error(errors: Sequence[float], way: Callable[[Sequence[float]], float]) -> str:
    return f"{100 * way(errors):.3g} %" if errors else ""


def _extras(rows: Sequence[Row]) -> str:
    columns = {
        "proven bounds": any(row.lower is not None or row.upper is not None for row in rows),
        "parts": any(row.parts is not None for row in rows),
        "quantiles": any(row.quantiles for row in rows),
        "95 % interval": any(row.ci is not None for row in rows),
        "bottleneck": any(row.binding for row in rows),
        "price or energy": any("charge" in row.details for row in rows),
    }
    return ", ".join(word for word, present in columns.items() if present)


def _solved_in(rows: Sequence[Row]) -> str:
    seconds = [row.solve_seconds for row in rows if row.solve_seconds is not None]
    return format_seconds(math.fsum(seconds)) if seconds else ""


def machines(results: Results) -> Table | None:
    """Return machines beside each other, where several are asked about the same."""
    compared = results.machines()
    if compared is None:
        return None
    caption = f"Machines compared with {compared.first}, by {compared.solver}"
    return Table(caption, compared.header, compared.rows[:MOST_ROWS])


def remarks(rows: Sequence[Row]) -> dict[str, list[Remark]]:
    """Return notes, assumptions, lowerings and reasons, each once with its points."""
    by_kind: dict[str, dict[tuple[str, str], list[Row]]] = {}
    for row in rows:
        heard = {
            "Warnings": [f"{row.status.value.replace('_', ' ')}: {row.message}"]
            if row.status is not Status.OK
            else [],
            "Assumptions": row.details.get("assumptions", ()),
            "Notes": row.notes,
            "Lowerings": [", then ".join(row.lowering)] if row.lowering else [],
        }
        for kind, texts in heard.items():
            for text in texts:
                by_kind.setdefault(kind, {}).setdefault((row.solver, f"{text}"), []).append(row)
    order = ("Warnings", "Assumptions", "Notes", "Lowerings")
    totals = {name: len(group) for name, group in by_solver(rows).items()}
    return {kind: list(_remarks(by_kind[kind], totals)) for kind in order if kind in by_kind}


def _remarks(
    rows_by_text: Mapping[tuple[str, str], list[Row]], totals: Mapping[str, int]
) -> Iterator[Remark]:
    for solver in dict.fromkeys(solver for solver, _ in rows_by_text):
        texts = [text for name, text in rows_by_text if name == solver]
        for text, variants in merge_similar(texts).items():
            rows = {id(row): row for variant in variants for row in rows_by_text[solver, variant]}
            yield Remark(solver, text, _points(list(rows.values()), totals[solver]))


def _points(rows: Sequence[Row], total: int) -> str:
    if len(rows) == total:
        return ""
    p, d = ({getattr(row, name) for row in rows} for name in ("p", "d"))
    return f"p = {numbers(p)}" + (f", d = {numbers(d)}" if len(d) > 1 else "")


def answered(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows that have an answer; why others have none is a remark."""
    return [row for row in rows if row.status is Status.OK]


def answers(rows: Sequence[Row]) -> Table:
    """Return rows as text, up to `MOST_ROWS`; of none an empty table."""
    if not rows:
        return Table("All answers", (), ())
    header, cells = Results(rows[:MOST_ROWS]).table()
    caption = "All answers"
    if len(rows) > MOST_ROWS:
        caption = f"The first {MOST_ROWS} of {len(rows):,} answers; -o results.csv has all"
    heads = ("reason" if head == "" else head for head in header)
    return Table(caption, tuple(heads), tuple(map(tuple, cells)))


def uncertain(rows: Sequence[Row]) -> Table | None:
    """Return which uncertain numbers the times depend on most."""
    cells = []
    for row in rows:
        spread = row.details.get("uncertainty") or {}
        if interval := spread.get("interval"):
            causes = list(spread.get("causes", {}).items())[:3]
            text = ", ".join(f"{name} ({100 * part:.0f} %)" for name, part in causes)
            ends = " .. ".join(map(format_seconds, interval))
            cells.append((row.solver, coordinates(row), ends, text))
    if not cells:
        return None
    header = ("solver", "point", "95 % of samples", "mostly from")
    return Table("What uncertain numbers make of the times", header, tuple(cells[:MOST_ROWS]))


def facts(results: Results) -> list[tuple[str, str]]:
    """Return how the results came about, a fact a line."""
    origin = plain(results.provenance)
    run = origin.get("run") or {}
    command = run.get("command") or []
    measured = origin.get("measured") or {}
    texts = {
        "asked": run.get("time", ""),
        "on": " ".join(filter(None, [run.get("host"), origin.get("platform")])),
        "command": " ".join(map(str, command)),
        "parcast": origin.get("parcast", ""),
        "plugins": ", ".join(f"{k} {v}" for k, v in (origin.get("plugins") or {}).items()),
        "Python, numpy": ", ".join(filter(None, [origin.get("python"), origin.get("numpy")])),
        "seed": _spell(origin.get("seed", "")),
        "measured times": measured.get("source") or "",
    }
    return [(name, str(text)) for name, text in texts.items() if text != ""]
