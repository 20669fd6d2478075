"""Scaling for parcast: the curve beyond few measured times, and amounts as formulas of p."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parcast import PredictorEntry, Reader, hookimpl

if TYPE_CHECKING:
    import typer

    from parcast_scaling.amounts import scaling
    from parcast_scaling.forecast import forecast, predict
    from parcast_scaling.runs import amounts_of

__all__ = ["amounts_of", "forecast", "parcast_commands", "predict", "scaling"]

_HOMES = {"amounts_of": "runs", "forecast": "forecast", "predict": "forecast", "scaling": "amounts"}


def __getattr__(name: str) -> Any:
    """Import a function, and with it numpy, when first asked for."""
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"parcast_scaling.{_HOMES[name]}"), name)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast scaling`` and ``parcast walltime``."""
    from parcast_scaling import commands

    app.command(name="scaling")(commands.scaling)
    app.command(name="walltime")(commands.walltime)


#: What tells tables of times: a column of them beside one of processes, or columns of sacct.
_TIMES = (
    r"\A(?:#.*\n)*(?i:(?=.*\btime\b)(?=.*\b(?:p|np|n?procs|processes|ranks|tasks|nodes)\b))"
    r".*[,;\t]"
)
_ACCOUNTING = (
    r"\A(?i:(?=.*\b(?:jobid(?:raw)?|timelimit(?:raw)?)\b)(?=.*\b(?:state|elapsed(?:raw)?)\b))"
)
_EXTRA_P = r"\A\s*(?:#.*\n\s*)*PARAMETERS? "
_LINES = r'\A\s*\{\s*"params"'

#: Tables of times, which commands take.
parcast_readers = tuple(
    Reader(suffix, "parcast_scaling.reading:read_times", summary, mark=mark, command="scaling")
    for suffix, summary, mark in (
        (".csv", "Measured times, or jobs as sacct lists them.", f"{_TIMES}|{_ACCOUNTING}"),
        (".txt", "Measured times of Extra-P, or jobs as sacct lists them.",
         f"{_EXTRA_P}|{_LINES}|{_ACCOUNTING}"),
        (".jsonl", "Measured times of Extra-P.", _LINES),
        (".json", "Measured times of Extra-P.", r'"measurements"'),
        ("", "Jobs as sacct lists them.", _ACCOUNTING),
    )
)  # fmt: skip

parcast_predictors = (
    PredictorEntry(
        "scaling", "parcast_scaling.predictor:answer", "The field's terms, weighted by evidence."
    ),
)
