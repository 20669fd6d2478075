"""Service times and times between arrivals in simulation files."""

from __future__ import annotations

import math

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number
from parcast_spmd.mixed.times import KINDS, Time

_NONE = Time(mean=0.0, variation=0.0, exponential=True)


def last(class_path: str | None) -> str:
    """Return the last word of a Java class."""
    return (class_path or "").rpartition(".")[2]


def by_class(parameter: Element) -> dict[str, Element]:
    """Return the entries of an array by the job class that stands before each."""
    entries: dict[str, Element] = {}
    name = None
    for child in parameter:
        if child.tag == "refClass":
            name = (child.text or "").strip()
        elif name is not None:
            entries[name] = child
            name = None
    return entries


def time_of(strategy: Element, position: str) -> Time | None:
    """Return a time, None where there is none (a class that is never served, or does not come).

    Raises
    ------
    FileError
        If the time depends on load, or its distribution is not known here.
    """
    kind = last(strategy.get("classPath"))
    if kind == "DisabledServiceTimeStrategy":
        return None
    if kind == "ZeroServiceTimeStrategy":
        return _NONE
    children = list(strategy)
    if kind == "ServiceTimeStrategy" and (strategy.findtext("value") or "").strip() == "null":
        return None
    if kind != "ServiceTimeStrategy" or len(children) != 2:
        raise FileError(f"{position} is by {kind!r}, which is not supported; give a distribution.")
    name = last(children[0].get("classPath"))
    if name not in KINDS:
        names = ", ".join(KINDS)
        raise FileError(f"{position} has the distribution {name!r}; known are {names}.")
    parameters = {
        parameter.get("name", ""): number(parameter.findtext("value"), f"{position}, {name}")
        for parameter in children[1]
    }
    try:
        time = KINDS[name](parameters)
    except KeyError as error:
        raise FileError(f"{position}: {name} has no parameter {error.args[0]}; add it.") from None
    except (ZeroDivisionError, OverflowError):
        raise FileError(
            f"{position}: {name} has a rate of 0, or one beyond any use; give one above 0."
        ) from None
    if not math.isfinite(time.mean):
        raise FileError(f"{position}: {name} has no finite mean; give other parameters.")
    return time
