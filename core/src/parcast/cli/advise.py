"""``parcast advise``: which solvers can answer a question, at what cost, assuming what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from parcast.api import Registry
from parcast.cli.options import AssumeAlike, Json, Machine, Mapping, Seed, Setting, Workload
from parcast.cli.output import print_json, print_table, print_text, show_progress
from parcast.comparison.settings import split_assignment
from parcast.errors import InvalidPointError
from parcast.files import assuming_alike
from parcast.model.query import Status, is_lower_bound
from parcast.quantities.units import format_seconds
from parcast.results.row import plain

if TYPE_CHECKING:
    from parcast.analysis.advice import Advice
    from parcast.analysis.improvements import Improvements


#: Improvements that gain less of the time are told in one line.
LEAST_GAIN = 5e-4


def advise(
    context: typer.Context,
    workload: Annotated[str, Workload],
    machine: Annotated[str, Machine],
    p: Annotated[
        int | None, typer.Option("-p", help="Processes; 16 if not given.", metavar="N")
    ] = None,
    d: Annotated[
        int | None, typer.Option("-d", help="Disks; the machine's own if not given.", metavar="N")
    ] = None,
    mapping: Mapping = "block",
    settings: Setting = None,
    seed: Seed = 0,
    assume_alike: AssumeAlike = False,
    every: Annotated[
        bool, typer.Option("--every", help="Run every solver that can answer; may take minutes.")
    ] = False,
    json: Json = False,
) -> int:
    """Say what would help, which solvers can answer, assuming what, and why answers differ.

    Each number of the machine is made twice as good, and the quickest solver that departs least
    from the question is asked again. Runs at one point the solvers that compare runs and those
    that state a low cost, but none that states a high one; --every runs all. Those that depart
    least from the question come first.
    """
    from parcast.analysis.advice import advise, disagreement
    from parcast.analysis.improvements import improvements

    registry: Registry = context.obj
    if assume_alike:
        context.with_resource(assuming_alike())
    values = dict(map(split_assignment, settings or ()))
    with show_progress() as tell:
        candidates = advise(
            registry, workload, machine,
            p=p, d=d, mapping=mapping, settings=values, seed=seed, every=every, tell=tell,
        )  # fmt: skip
        adviser = _adviser(candidates)
        what_if = adviser and improvements(
            registry, workload, machine, adviser.solver,
            p=p, d=d, mapping=mapping, settings=values, seed=seed, tell=tell,
        )  # fmt: skip
    able = [candidate for candidate in candidates if candidate.has_answer]
    if candidates and all(
        candidate.prediction.status is Status.INVALID for candidate in candidates
    ):
        raise InvalidPointError(candidates[0].prediction.message)
    if json:
        print_json(
            {
                "solvers": [_described(candidate) for candidate in candidates],
                "why": disagreement(candidates),
                "improvements": what_if and plain(attrs.asdict(what_if)),
            }
        )
    else:
        if what_if:
            _print_improvements(what_if)
        _print(candidates, able, disagreement(candidates))
    return 0 if able else 1


def _adviser(candidates: Sequence[Advice]) -> Advice | None:
    """Return whose estimate is cheap enough to ask again: a default that departs least."""
    from parcast.comparison.elasticities import MOST_SECONDS

    estimates = [
        candidate
        for candidate in candidates
        if candidate.prediction.time and not is_lower_bound(candidate.prediction)
        if candidate.cost is not None and candidate.cost <= MOST_SECONDS
    ]

    def rank(candidate: Advice) -> tuple[bool, bool, int, float]:
        departures, cost = len(candidate.departures), candidate.cost or 0.0
        return (not candidate.default, not candidate.exact, departures, cost)

    return min(estimates, key=rank, default=None)


def _print_improvements(what_if: Improvements) -> None:
    print(f"What would help, by {what_if.solver} at p = {what_if.p}, d = {what_if.d}?\n")
    priced = any(row.price is not None for row in what_if.improvements)
    rows = [
        [
            row.number,
            format_seconds(row.time),
            f"{100 * row.gain:.1f} %",
            row.bottleneck or "",
            *([_price(row.price, what_if.currency)] if priced else []),
        ]
        for row in what_if.improvements
        if abs(row.gain) >= LEAST_GAIN
    ]
    unchanged = [
        "nothing",
        format_seconds(what_if.time),
        "",
        what_if.bottleneck or "",
        *([""] if priced else []),
    ]
    header = ["twice as good", "time", "gain", "bottleneck then"]
    header += ["worth it up to"] if priced else []
    print_table(header, [unchanged, *rows], optional=("bottleneck then",))
    numbers = [row for row in what_if.improvements if not row.number.startswith("no ")]
    same = [row.number for row in numbers if abs(row.gain) < LEAST_GAIN]
    if same:
        print_text(f"\nno gain from {', '.join(same)}")
    print()


def _price(price: float | None, currency: str) -> str:
    return "" if price is None else f"{price:.4g} {currency}/h a node".replace(" /h", "/h")


def _print(candidates: Sequence[Advice], able: Sequence[Advice], why: Sequence[str]) -> None:
    from parcast.analysis.advice import solvers_by_text

    if able:
        rows = [_row(candidate) for candidate in able]
        header = ("solver", "time", "also gives", "conversion", "run time")
        print_table(header, rows, optional=("also gives", "conversion"))
        print("\n* the default of its family\n")
    for text, solvers in solvers_by_text(able).items():
        print_text(f"{_named(solvers, able)}: {text}")
    for index, (text, solvers) in enumerate(solvers_by_text(able, "satisfied").items()):
        if index == 0:
            print("\nassumptions that hold here:")
        print_text(f"{_named(solvers, able)}: {text}")
    for index, sentence in enumerate(why):
        print_text(("\n" if index == 0 else "") + sentence)
    reasons: dict[str, list[str]] = {}
    for candidate in candidates:
        if not candidate.has_answer:
            reason = f"{candidate.prediction.status.value}: {candidate.prediction.message}"
            reasons.setdefault(reason, []).append(candidate.solver)
    for index, (reason, solvers) in enumerate(reasons.items()):
        print_text(("\n" if able and index == 0 else "") + f"{', '.join(solvers)} {reason}")


def _named(solvers: Sequence[str], able: Sequence[Advice]) -> str:
    """Return names by commas, a family's name where all of it that can answer are meant."""
    members: dict[str, list[str]] = {}
    for candidate in able:
        members.setdefault(candidate.solver.partition(".")[0], []).append(candidate.solver)
    whole = {family for family, names in members.items() if {*names} <= {*solvers}}
    families = [name.partition(".")[0] for name in solvers]
    labels = (
        family if family in whole else name for name, family in zip(solvers, families, strict=True)
    )
    return ", ".join(dict.fromkeys(labels))


def _row(candidate: Advice) -> list[str]:
    time = candidate.prediction.time
    reached = ", ".join(candidate.lowering) or "none"
    return [
        candidate.solver + ("*" if candidate.default else ""),
        "not run" if time is None else format_seconds(time),
        ", ".join(candidate.gives),
        reached if candidate.exact else f"{reached} (approximately)",
        _takes(candidate),
    ]


def _takes(candidate: Advice) -> str:
    if candidate.seconds is not None:
        return format_seconds(candidate.seconds)
    return "?" if candidate.cost is None else f"about {format_seconds(candidate.cost)}"


def _described(candidate: Advice) -> Any:
    prediction = candidate.prediction
    return plain(
        {
            **attrs.asdict(candidate, filter=lambda field, _: field.name != "prediction"),
            "status": prediction.status.value,
            "message": prediction.message,
            "time": prediction.time,
            "gives": candidate.gives,
            "departures": candidate.departures,
            "assumptions": prediction.assumptions,
            "notes": prediction.notes,
        }
    )
