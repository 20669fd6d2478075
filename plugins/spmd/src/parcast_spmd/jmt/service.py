"""Service times in simulation files: the mean, and whether the station has a product form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number

_Means = Mapping[str, Callable[[Mapping[str, float]], float]]

#: The mean of each distribution from its parameters, by the last word of its class.
_MEANS: _Means = {
    "Exponential": lambda values: 1 / values["lambda"],
    "DeterministicDistr": lambda values: values["t"],
    "Erlang": lambda values: values["r"] / values["alpha"],
    "HyperExp": lambda values: (
        values["p"] / values["lambda1"] + (1 - values["p"]) / values["lambda2"]
    ),
    "Uniform": lambda values: (values["min"] + values["max"]) / 2,
}


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


def mean_service(strategy: Element, position: str) -> tuple[float | None, bool]:
    """Return a mean service time, None where a class is never served, and if exponential.

    Raises
    ------
    FileError
        If the time depends on load, or its distribution is not known here.
    """
    kind = last(strategy.get("classPath"))
    if kind == "DisabledServiceTimeStrategy":
        return None, True
    if kind == "ZeroServiceTimeStrategy":
        return 0.0, True
    children = list(strategy)
    if kind != "ServiceTimeStrategy" or len(children) != 2:
        raise FileError(f"{position} is by {kind!r}, which is not supported; give a distribution.")
    name = last(children[0].get("classPath"))
    if name not in _MEANS:
        names = ", ".join(_MEANS)
        raise FileError(f"{position} has the distribution {name!r}; known are {names}.")
    parameters = {
        parameter.get("name", ""): number(parameter.findtext("value"), f"{position}, {name}")
        for parameter in children[1]
    }
    try:
        return _MEANS[name](parameters), name == "Exponential"
    except KeyError as error:
        raise FileError(f"{position}: {name} has no parameter {error.args[0]}; add it.") from None
    except ZeroDivisionError:
        raise FileError(f"{position}: {name} has a rate of 0; give one above 0.") from None
