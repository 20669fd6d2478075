"""``parcast advise``: which solvers can answer a question, at what cost, assuming what."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import typer

from parcast.cli.output import print_json, print_table, print_text
from parcast.cli.solve import Json, Machine, Mapping, Seed, Setting, Workload
from parcast.errors import InvalidPointError
from parcast.query import Status
from parcast.registry import Registry
from parcast.results import plain
from parcast.settings import split_assignment
from parcast.units import format_seconds


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(advise)


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
    json: Json = False,
) -> int:
    """Say which solvers can answer, what each gives, assumes and costs, and why they disagree.

    Every solver is asked about one point. First come those that change and assume least.
    """
    from parcast.advice import advise, disagreement

    registry: Registry = context.obj
    given = dict(map(split_assignment, settings or ()))
    found = advise(
        registry, workload, machine, p=p, d=d, mapping=mapping, settings=given, seed=seed
    )
    able = [one for one in found if one.can]
    others = [one for one in found if not one.can]
    if found and all(one.prediction.status is Status.INVALID for one in found):
        raise InvalidPointError(found[0].prediction.message)
    if json:
        print_json({"solvers": [_described(one) for one in found], "why": disagreement(found)})
        return 0 if able else 1
    if able:
        rows = [_row(one) for one in able]
        print_table(("solver", "time", "gives besides", "reached by", "took"), rows)
        print("\n* what its family answers with\n")
    for one in able:
        for text in one.departures:
            print_text(f"{one.solver}: {text}")
    for index, sentence in enumerate(disagreement(found)):
        print_text(("\n" if index == 0 else "") + sentence)
    for index, one in enumerate(others):
        reason = f"{one.prediction.status.value}: {one.prediction.message}"
        print_text(("\n" if able and index == 0 else "") + f"{one.solver} {reason}")
    return 0 if able else 1


def _row(one: Any) -> list[str]:
    time, took = one.prediction.time, one.seconds
    reached = ", ".join(one.lowering) or "as it is"
    return [
        one.solver + ("*" if one.default else ""),
        "" if time is None else format_seconds(time),
        ", ".join(one.gives),
        reached if one.exact else f"{reached} (approximately)",
        "" if took is None else format_seconds(took),
    ]


def _described(one: Any) -> Any:
    prediction = one.prediction
    return plain(
        {
            **attrs.asdict(one, filter=lambda field, _: field.name != "prediction"),
            "status": prediction.status.value,
            "message": prediction.message,
            "time": prediction.time,
            "gives": one.gives,
            "assumptions": prediction.assumptions,
            "notes": prediction.notes,
        }
    )
