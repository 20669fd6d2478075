"""Service times in simulation files: the mean, and whether the station has a product form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number

_Means = Mapping[str, Callable[[Mapping[str, float]], float]]

#: The mean of each distribution from its parameters, by the last word of its class.
_MEANS: _Means = {
    "Exponential": lambda given: 1 / given["lambda"],
    "DeterministicDistr": lambda given: given["t"],
    "Erlang": lambda given: given["r"] / given["alpha"],
    "HyperExp": lambda given: given["p"] / given["lambda1"] + (1 - given["p"]) / given["lambda2"],
    "Uniform": lambda given: (given["min"] + given["max"]) / 2,
}


def last(class_path: str | None) -> str:
    """Return the last word of a Java class."""
    return (class_path or "").rpartition(".")[2]


def by_class(parameter: Element) -> dict[str, Element]:
    """Return the entries of an array by the job class that stands before each."""
    found: dict[str, Element] = {}
    name = None
    for child in parameter:
        if child.tag == "refClass":
            name = (child.text or "").strip()
        elif name is not None:
            found[name] = child
            name = None
    return found


def mean_service(strategy: Element, place: str) -> tuple[float | None, bool]:
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
        raise FileError(f"{place} is by {kind!r}, which is not followed; give a distribution.")
    name = last(children[0].get("classPath"))
    if name not in _MEANS:
        known = ", ".join(_MEANS)
        raise FileError(f"{place} has the distribution {name!r}; known are {known}.")
    given = {
        parameter.get("name", ""): number(parameter.findtext("value"), f"{place}, {name}")
        for parameter in children[1]
    }
    try:
        return _MEANS[name](given), name == "Exponential"
    except KeyError as error:
        raise FileError(f"{place}: {name} has no parameter {error.args[0]}; add it.") from None
    except ZeroDivisionError:
        raise FileError(f"{place}: {name} has a rate of 0; give one above 0.") from None
