"""Times as tools write them: what each dialect says of a transition."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

from parcast.errors import FileError, ParcastError
from parcast_petri.nets.pnml.elements import child, children, label, local

#: Fields of a transition, apart from its arcs, as the JSON form of nets has them.
Fields = dict[str, Any]


def fields(transition: ET.Element, name: str) -> tuple[str | None, Fields, list[str]]:
    """Return which dialect's time a transition has, the fields it sets, and notes.

    Raises
    ------
    FileError
        If the time is of a kind that is not known, so that it would be lost.
    """
    notes = [
        f"blocks of {tool!r} in transitions are ignored"
        for block in children(transition, "toolspecific")
        if (tool := block.get("tool")) not in _BLOCKS
    ]
    try:
        for dialect, read in _DIALECTS.items():
            if (timing := read(transition)) is not None:
                return dialect, timing[0], [*notes, *timing[1]]
    except ParcastError as error:
        raise FileError(f"transition {name!r}: {error}") from None
    except (ValueError, ArithmeticError, KeyError) as error:
        raise FileError(f"transition {name!r} is timed with no number: {error}") from None
    return None, {}, notes


def _tool(transition: ET.Element, *names: str) -> ET.Element | None:
    blocks = (node for node in transition if local(node) == "toolspecific")
    return next((block for block in blocks if block.get("tool") in names), None)


def _parcast(transition: ET.Element) -> tuple[Fields, list[str]] | None:
    block = _tool(transition, "parcast")
    if block is None:
        return None
    stated = json.loads(block.findtext("{*}transition") or "{}", parse_float=Fraction)
    if not isinstance(stated, dict):
        raise FileError("its parcast block is no JSON object")
    if twice := stated.keys() & {"name", "pre", "post", "inhibitor"}:
        raise FileError(f"its parcast block has {min(twice)!r}, which PNML says")
    return stated, []


def _line(transition: ET.Element) -> tuple[Fields, list[str]] | None:
    if _tool(transition, "LINE") is None:
        return None
    raise FileError("it has times of LINE, which are not read; state them in another way")


def _prom(transition: ET.Element) -> tuple[Fields, list[str]] | None:
    block = _tool(transition, "StochasticPetriNet")
    if block is None:
        return None
    properties = {
        node.get("key", ""): (node.text or "").strip() for node in children(block, "property")
    }
    properties = {
        **{k: v for k, v in block.attrib.items() if k not in ("tool", "version")},
        **properties,
    }
    kind = properties.get("distributionType", "UNDEFINED").upper()
    values = [value for value in properties.get("distributionParameters", "").split(";") if value]
    timing: Fields = {"priority": int(float(properties.get("priority", 0)))}
    if kind == "IMMEDIATE":
        return timing, _weighed(properties.get("weight"))
    match kind, values:
        case "EXPONENTIAL", [rate]:
            timing["delay"] = _law("exp", 1 / float(rate))
        case "DETERMINISTIC", [value]:
            return timing | {"delay": str(Fraction(value))}, []
        case "UNIFORM", [least, most]:
            timing["delay"] = _law("uniform", float(least), float(most))
        case "LOGNORMAL" | "NORMAL" | "GAMMA" | "BETA" | "UNDEFINED" | _, _:
            raise FileError(
                f"its distributionType {kind} with parameters {';'.join(values) or 'none'!r} is "
                "not read; IMMEDIATE, EXPONENTIAL, DETERMINISTIC and UNIFORM are"
            )
    return timing | {"kind": "random"}, []


def _law(law: str, *parameters: float) -> str:
    return f"{law}:{','.join(map(repr, parameters))}"


def _weighed(weight: str | None) -> list[str]:
    if weight in (None, "1", "1.0"):
        return []
    return ["weights of transitions are ignored: priority, then order, decides which fires"]


def _pipe(transition: ET.Element) -> tuple[Fields, list[str]] | None:
    timed, rate = label(transition, "timed"), label(transition, "rate")
    if timed is None and rate is None:
        return None
    timing: Fields = {"priority": int(label(transition, "priority") or 0)}
    if timed != "true":
        return timing, _weighed(rate)
    if label(transition, "infiniteServer") == "true":
        timing["servers"] = "infinite"
    return timing | {"kind": "random", "delay": _law("exp", 1 / float(rate or 1))}, []


def _tapaal(transition: ET.Element) -> tuple[Fields, list[str]] | None:
    law, attributes = transition.get("distribution"), transition.attrib
    timing: Fields = {"priority": int(attributes.get("priority", 0))}
    if attributes.get("urgent") == "true":  # it does not wait, whatever its distribution
        if law not in (None, "constant") or float(attributes.get("value", 0)):
            raise FileError(f"it is urgent and has the distribution {law!r}; keep one")
        return timing, _weighed(attributes.get("weight"))
    if law is None:
        return None
    if attributes.get("infiniteServer") == "true":
        timing["servers"] = "infinite"
    match law:
        case "constant":
            if value := Fraction(attributes["value"]):
                timing["delay"] = str(value)
            return timing, _weighed(attributes.get("weight"))
        case "exponential":
            timing["delay"] = _law("exp", 1 / float(attributes["rate"]))
        case "uniform":
            timing["delay"] = _law("uniform", float(attributes["a"]), float(attributes["b"]))
        case "gamma" | "erlang":
            shape, scale = float(attributes["shape"]), float(attributes["scale"])
            timing["delay"] = _law(law, shape, shape * scale)
        case "log normal":
            mean, deviation = float(attributes["logMean"]), float(attributes["logStddev"])
            timing["delay"] = _lognormal(mean, deviation)
        case _:
            raise FileError(
                f"its distribution {law!r} is not read, as there is no such law here; constant, "
                "exponential, uniform, erlang, gamma and log normal are"
            )
    return timing | {"kind": "random"}, _weighed(attributes.get("weight"))


def _lognormal(mean: float, deviation: float) -> str:
    """Return the law whose logarithm has this mean and standard deviation."""
    if not deviation > 0:
        raise FileError(f"its logStddev {deviation:g} must be above 0")
    whole = math.exp(mean + deviation**2 / 2)
    return _law("lognormal", whole, whole * math.sqrt(math.expm1(deviation**2)))


def _tina(transition: ET.Element) -> tuple[Fields, list[str]] | None:
    delay = child(transition, "delay")
    if delay is None:
        return None
    interval = child(delay, "interval")
    if interval is None:
        raise FileError("its delay has no interval")
    bounds = [(node.text or "").strip() for node in interval]
    if len(bounds) == 2 and bounds[0] in {"0", "0.0"} and bounds[1] in {"infty", "infinity", "w"}:
        return None  # as where nothing is said
    if len(bounds) != 2 or bounds[0] != bounds[1] or interval.get("closure") != "closed":
        raise FileError(
            f"its delay is an interval, {' .. '.join(bounds)}, which is no single time and no law; "
            "make it a point"
        )
    value = Fraction(bounds[0])
    return ({"delay": str(value)} if value else {}), []


#: Blocks that are read, and ProM's own, which have no times.
_BLOCKS = ("parcast", "LINE", "StochasticPetriNet", "ProM", "nupn")

_DIALECTS: Mapping[str, Any] = {
    "parcast": _parcast,
    "ProM": _prom,
    "LINE": _line,
    "PIPE": _pipe,
    "TAPAAL": _tapaal,
    "TINA": _tina,
}
