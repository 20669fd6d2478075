"""The perturbation and the recording machine in a JSON file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, ParcastError, did_you_mean, shorten
from parcast_perturb.options import MachineOptions, PerturbationOptions
from parcast_perturb.perturbation import Extra, Perturbation, Recorded
from parcast_traces.readers.neutral import load

_PARAMS = {"o", "L", "G", "eager_max", "slack"}
_ADDED = {"os", "lat", "per_byte", "comp", "extra"}


def read_perturbation(
    path: Path, options: PerturbationOptions, machine: MachineOptions
) -> tuple[Perturbation, Recorded]:
    """Return the perturbation and the recording machine of a JSON file, which says them alone.

    It has an object ``perturbation`` (``os``, ``lat``, ``per_byte``, ``comp``, and ``extra``, a
    list of rank, event and delta) and an object ``params`` (``o``, ``L``, ``G``,
    ``eager_max``), all in the trace's ticks.

    Raises
    ------
    FileError
        If it cannot be read.
    ParcastError
        If options say something of it too.
    """
    if options != PerturbationOptions() or machine != MachineOptions():
        raise ParcastError(
            "--perturbation says everything that is added and what the machine was; leave "
            "out the other options about these"
        )
    data = load(path)
    if not isinstance(data, dict):
        raise FileError(f"{path} must be an object with perturbation and params")
    params, added = (
        _table(data.get(name, {}), keys, f"{path}: {name}")
        for name, keys in (("params", _PARAMS), ("perturbation", _ADDED))
    )
    extra = added.pop("extra", [])
    if not isinstance(extra, list):
        raise FileError(f"{path}: perturbation.extra must be a list")
    numbers = {name: _number(value, f"{path}: {name}") for name, value in added.items()}
    params.pop("slack", None)
    costs = {name: _number(value, f"{path}: params.{name}") for name, value in params.items()}
    return Perturbation.of(
        noise=numbers.get("os", 0.0),
        compute=numbers.get("comp", 0.0),
        latency=numbers.get("lat", 0.0),
        per_byte=numbers.get("per_byte", 0.0),
        extra=tuple(_extra(delay, f"{path}: perturbation.extra") for delay in extra),
    ), Recorded(
        overhead=costs.get("o", 0.0),
        latency=costs.get("L"),
        per_byte=costs.get("G"),
        eager_max=costs.get("eager_max", float("inf")),
    )


def _table(data: Any, keys: set[str], where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise FileError(f"{where} must be an object, not {shorten(data)}")
    if wrong := next(iter(data.keys() - keys), None):
        raise FileError(f"{where} has no {wrong!r}.{did_you_mean(wrong, keys)}")
    return dict(data)


def _number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise FileError(f"{where} must be a number, not {shorten(value)}")
    return float(value)


def _extra(data: Any, where: str) -> Extra:
    entry: Mapping[str, Any] = _table(data, {"rank", "event", "delta"}, where)
    if missing := next(iter({"rank", "event", "delta"} - entry.keys()), None):
        raise FileError(f"{where}: {missing} is missing")
    numbers = {name: _number(value, f"{where}.{name}") for name, value in entry.items()}
    if numbers["rank"] % 1 or numbers["event"] % 1:
        raise FileError(f"{where}: rank and event must be whole numbers")
    return Extra(int(numbers["rank"]), int(numbers["event"]), numbers["delta"])
