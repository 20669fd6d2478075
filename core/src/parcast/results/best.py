"""Which answer is best: the fastest, the cheapest and that of least energy for the same work."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs

from parcast.model.query import Query, Status, is_lower_bound
from parcast.results.preference import preferred_solver
from parcast.results.row import Row
from parcast.results.texts import charged, energy_text, price_text, spelled, time_text

#: Amounts of work that differ by less are the same: sums over processes are rounded.
_SAME = 1e-9

#: With more amounts of work than this, the first are told.
_MOST_TOLD = 5


@attrs.frozen
class _Way:
    """A way to be best: what is least, and how it is told."""

    word: str
    value: Callable[[Row], float | None]
    text: Callable[[Row], str]


_WAYS = (
    _Way("fastest", lambda row: row.time, lambda row: time_text(row.time)),
    _Way("cheapest", lambda row: charged(row).get("price"), price_text),
    _Way("least energy", lambda row: charged(row).get("energy"), energy_text),
)


def work_of(query: Query) -> dict[str, float]:
    """Return the amounts that all processes together have to do, by name; none where unknown.

    A kind of workload knows them by a method ``work(query)`` of its content.
    """
    amounts = getattr(query.workload.content, "work", None)
    work: dict[str, float] = amounts(query) if amounts else {}
    return {name: amount for name, amount in work.items() if amount}


def best(rows: Sequence[Row]) -> list[str]:
    """Return which row is fastest, cheapest and takes least energy, for each amount of work.

    Only estimates of one solver are ranked: a lower bound is none, and that one method says less
    than another tells nothing of machines. Solvers that have another best are named.
    Runs do the same work where workload and parameters are the same, and p too or what all
    processes do together.
    """
    estimates = [row for row in rows if row.status is Status.OK and not is_lower_bound(row)]
    groups = _groups(estimates)
    currencies = {charged(row).get("currency") for row in rows if price_text(row)}
    ways = [way for way in _WAYS if way.word != "cheapest" or len(currencies) == 1]
    ranking: list[str] = []
    for way in ways:
        sentences = [sentence for group in groups if (sentence := _sentence(way, group, rows))]
        ranking += sentences[:_MOST_TOLD]
        if omitted := len(sentences) - _MOST_TOLD:
            ranking += [f"{way.word}: and so on for {omitted} more amounts of work"] * (omitted > 0)
    return ranking


def _sentence(way: _Way, group: Sequence[Row], rows: Sequence[Row]) -> str:
    """Return the preferred solver's best row, and the best of solvers that say another is."""
    ranked = {
        solver: peers
        for solver in dict.fromkeys(row.solver for row in group)
        if len(peers := _valued(way, [row for row in group if row.solver == solver])) > 1
    }
    if not ranked:
        return ""
    varying = {
        name for peer in rows for name, value in own(peer).items() if own(rows[0])[name] != value
    }
    least = {solver: min(peers, key=way.value) for solver, peers in ranked.items()}  # type: ignore[arg-type]
    preferred = preferred_solver(ranked)
    run = _run(least[preferred], varying)
    dissent = "".join(
        f"; {solver} says {_run(row, varying)}: {way.text(row)}"
        for solver, row in least.items()
        if _run(row, varying) != run and run in {_run(peer, varying) for peer in ranked[solver]}
    )
    return f"{way.word}: {run} by {preferred}: {way.text(least[preferred])}{dissent}"


def _valued(way: _Way, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if way.value(row) is not None]


def _run(row: Row, varying: Collection[str]) -> str:
    settings = "".join(f", {name}={spelled(own(row)[name])}" for name in sorted(varying))
    return f"{row.workload} on {row.machine}, p={row.p}, d={row.d}{settings}"


def own(row: Row) -> Mapping[str, Any]:
    """Return the parameters of the workload that were set; others have a dot in their name."""
    return {name: value for name, value in row.params.items() if "." not in name}


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows that do the same work together."""
    works = {_question(row): row.details["work"] for row in rows if row.details.get("work")}
    groups: list[tuple[Any, list[Row]]] = []
    for row in rows:
        work = works.get(_question(row))
        for key, group in groups:
            if _same(key, (row, work)):
                group.append(row)
                break
        else:
            groups.append(((row, work), [row]))
    return [group for _, group in groups]


def _question(row: Row) -> Any:
    return row.workload, row.p, tuple(sorted((k, spelled(v)) for k, v in own(row).items()))


def _same(left: tuple[Row, Any], right: tuple[Row, Any]) -> bool:
    (row, work), (second, seconds) = left, right
    if _question(row) == _question(second):
        return True
    if row.workload != second.workload or own(row) != own(second):
        return False
    if not work or not seconds or work.keys() != seconds.keys():
        return False
    return all(math.isclose(work[name], seconds[name], rel_tol=_SAME) for name in work)
