"""The arguments and options that the commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

#: How the slack of an edge is known.
Policy = StrEnum("Policy", ["auto", "interval", "upper", "lower", "clocked"])

#: What can be swept.
SweepField = StrEnum("SweepField", ["latency", "per_byte", "noise", "compute"])


class RuleName(StrEnum):
    """The corrected rules, the paper's first equation, or its second one for waits."""

    corrected = "corrected"
    paper = "paper"
    equation_2 = "equation-2"


class CollectiveName(StrEnum):
    """What the stages of a collective cost."""

    paper = "paper"
    butterfly = "butterfly"


TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace of a run.")]
AssumeAlike = Annotated[
    bool,
    typer.Option(
        "--assume-alike", help="Take ranks of a profile without a file for the like of the first."
    ),
]
OfSteps = Annotated[
    bool, typer.Option("--steps", help="The steps that the trace repeats alone, and each of them.")
]
Texts = list[str] | None
RecordedOn = Annotated[
    str | None, typer.Option("--recorded-on", help="The machine that the run was recorded on.")
]
TimedOn = Annotated[
    str | None,
    typer.Option("--machine", help="Time a trace that has no times on this machine first."),
]
Overhead = Annotated[
    str | None, typer.Option(help="What a recorded call itself cost its rank, such as 1us.")
]
Eager = Annotated[
    str | None,
    typer.Option(help="Longer sends wait for their receiver: 64KiB, CALL=64KiB, or estimated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")]

PolicyOption = Annotated[Policy, typer.Option(help="How slack is determined.")]
Rules = Annotated[RuleName, typer.Option(help="The corrected rules, or the paper's.")]
Collectives = Annotated[CollectiveName, typer.Option(help="How the stages of a collective add up.")]
