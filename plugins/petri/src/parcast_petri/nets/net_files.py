"""Nets as JSON objects: what `parcast petri solve` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from parcast.errors import FileError, ParcastError, did_you_mean, shorten
from parcast.files import read_text
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import Delay, Given, Link, Net, NetError, Tokens, Transition

_KINDS = ("immediate", "deterministic", "random")
_UNLIMITED = ("infinite", "inf", "unlimited")
_NET = frozenset({"name", "places", "transitions", "initial_marking", "links", "same"})
_TRANSITION = frozenset(
    {"name", "pre", "post", "inhibitor", "priority", "kind", "delay", "policy", "speed",
     "servers", "memory", "load", "queue"}
)  # fmt: skip


def read_json(path: Path) -> Net:
    """Return the net of a JSON file, decimals read as the exact fractions they spell.

    Raises
    ------
    FileError
        If it is no net; the key is named.
    """
    try:
        data = json.loads(read_text(path), parse_float=Fraction)
    except json.JSONDecodeError as error:
        raise FileError(f"{path}:{error.lineno}: this is no JSON: {error.msg}") from None
    except RecursionError:
        raise FileError(f"{path}: its lists and objects are nested too deeply") from None
    except ValueError as error:
        raise FileError(f"{path}: this is no net: {error}") from None
    try:
        return net_of(data)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def net_of(data: object) -> Net:
    """Return the net that a JSON object says, ``docs`` of the format in the README.

    Raises
    ------
    FileError
        If a key is missing or unknown, or a value is not what it should be.
    """
    if isinstance(data, Mapping) and isinstance(data.get("net"), Mapping):
        data = data["net"]
    table = _table(data, "the net", _NET)
    places = table.get("places", [])
    if not isinstance(places, list) or not all(isinstance(name, str) for name in places):
        raise FileError("places must be a list of names")
    listed = table.get("transitions")
    if not isinstance(listed, list):
        raise FileError("transitions must be a list of objects")
    marking = _arcs(table, "initial_marking", "the net")
    transitions = tuple(_transition(entry, f"transitions[{i}]") for i, entry in enumerate(listed))
    name = table.get("name", "net")
    try:
        return Net(
            places=tuple(places),
            transitions=transitions,
            initial=marking,
            name=str(name),
            same=_same(table.get("same", 0)),
            links=tuple(
                _link(entry, f"links[{i}]") for i, entry in enumerate(table.get("links", ()))
            ),
        )
    except ParcastError as error:
        raise FileError(str(error)) from None


def _same(value: object) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | Fraction)
        or not 0 <= value < 1
    ):
        raise FileError(f"same is {shorten(value)}; it is a part of a time, such as 1e-10")
    return float(value)


def _link(data: object, where: str) -> Link:
    table = _table(data, where, frozenset({"capacity", "loads", "weights"}))
    loads = table.get("loads")
    if not isinstance(loads, list) or not all(isinstance(name, str) for name in loads):
        raise FileError(f"{where}: loads must be a list of names")
    weights = table.get("weights", [1] * len(loads))
    if (
        not isinstance(weights, list)
        or len(weights) != len(loads)
        or not all(map(_is_part, weights))
    ):
        raise FileError(f"{where}: weights must be a list of numbers above 0, one for each load")
    return Link(Tokens.read(str(table.get("capacity", 1))), tuple(loads), tuple(weights))


def _is_part(value: object) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool) and value > 0


def _table(data: object, where: str, keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise FileError(f"{where} must be an object, not {shorten(json.dumps(data, default=str))}")
    for key in data:
        if key not in keys:
            hint = did_you_mean(key, keys) or f" Known: {', '.join(sorted(keys))}."
            raise FileError(f"{where} has an unknown key {key!r}.{hint}")
    return data


def _arcs(table: Mapping[str, Any], key: str, where: str) -> dict[str, int]:
    arcs = table.get(key) or {}
    if not isinstance(arcs, Mapping):
        raise FileError(f"{where}: {key} must be an object from places to tokens")
    for place, tokens in arcs.items():
        if isinstance(tokens, bool) or not isinstance(tokens, int):
            raise FileError(
                f"{where}: {key}.{place} is {shorten(tokens)}; tokens are whole numbers"
            )
    # an arc of no tokens is none
    return {place: tokens for place, tokens in arcs.items() if tokens}


def _transition(data: object, where: str) -> Transition:
    table = _table(data, where, _TRANSITION)
    name = table.get("name")
    if not isinstance(name, str):
        raise FileError(f"{where} needs a name")
    where = f"transition {name!r}"
    priority = table.get("priority") or 0
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise FileError(f"{where}: priority {priority!r} must be a whole number")
    return Transition(
        name=name,
        pre=_arcs(table, "pre", where),
        post=_arcs(table, "post", where),
        inhibitor=_arcs(table, "inhibitor", where),
        priority=priority,
        delay=_delay(table, where),
        speed=_speed(table, where),
        servers=_servers(table.get("servers", 1), where),
        memory=_choice(table, "memory", ("enabling", "age"), where),  # type: ignore[arg-type]
        load=table.get("load"),
        queue=table.get("queue"),
    )


def _choice(table: Mapping[str, Any], key: str, words: tuple[str, ...], where: str) -> str:
    word = table.get(key) or words[0]
    if word not in words:
        raise FileError(f"{where}: {key} {word!r} must be one of {', '.join(words)}")
    return str(word)


def _servers(value: object, where: str) -> int | None:
    if value is None or value in _UNLIMITED:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise FileError(f"{where}: servers {value!r} must be a whole number or 'infinite'")
    return value


def _delay(table: Mapping[str, Any], where: str) -> Delay | None:
    delay = table.get("delay")
    kind = table.get("kind") or ("immediate" if delay is None else "deterministic")
    if kind not in _KINDS:
        raise FileError(f"{where}: kind {kind!r} must be one of {', '.join(_KINDS)}")
    if kind == "immediate":
        if delay is not None and delay != 0:
            raise FileError(f"{where} is immediate and has a delay of {delay}; leave one out")
        return None
    if delay is None:
        raise FileError(f"{where} needs a delay")
    if kind == "random":
        try:
            return Law.read(delay)
        except ParcastError as error:
            raise FileError(f"{where}: delay {error}") from None
    return number(delay, f"{where}: delay")


def number(value: object, where: str) -> Fraction | Tokens:
    """Return an exact number, or arithmetic on tokens, as a file spells it.

    Raises
    ------
    FileError
        If it is neither.
    """
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        pass
    try:
        return Tokens.read(str(value))
    except ParcastError as error:
        raise FileError(f"{where} {error}") from None


def _link_data(link: Link) -> dict[str, Any]:
    weights = {} if set(link.weights) <= {1} else {"weights": [*map(float, link.weights)]}
    return {"capacity": link.capacity.text, "loads": list(link.loads), **weights}


def net_data(net: Net) -> dict[str, Any]:
    """Return a net as `net_of` reads it, every number exact."""
    links = [_link_data(link) for link in net.links]
    return {
        **({"links": links} if links else {}),
        **({"same": net.same} if net.same else {}),
        "name": net.name,
        "places": list(net.places),
        "initial_marking": dict(net.initial),
        "transitions": [transition_data(transition) for transition in net.transitions],
    }


def transition_data(transition: Transition) -> dict[str, Any]:
    """Return a transition as an object of a file, without what is as it is by default."""
    data: dict[str, Any] = {
        "name": transition.name,
        "pre": dict(transition.pre),
        "post": dict(transition.post),
    }
    if transition.inhibitor:
        data["inhibitor"] = dict(transition.inhibitor)
    if transition.delay is not None:
        data |= _delay_data(transition)
    if transition.speed is not None:
        data |= {"policy": "ps", "speed": transition.speed.text}
    if transition.servers != 1:
        data["servers"] = transition.servers or "infinite"
    default = {"priority": 0, "memory": "enabling", "load": None, "queue": None}
    return data | {
        k: getattr(transition, k) for k, v in default.items() if getattr(transition, k) != v
    }


def _delay_data(transition: Transition) -> dict[str, Any]:
    delay = transition.delay
    if isinstance(delay, Law):
        return {"kind": "random", "delay": f"{delay.law}:{','.join(map(repr, delay.parameters))}"}
    if isinstance(delay, Tokens):
        return {"delay": delay.text}
    if isinstance(delay, Given):
        raise NetError(
            f"transition {transition.name!r} is given its delays by a solver; no file says them"
        )
    assert delay is not None
    exact = Fraction(delay)
    return {"delay": str(exact) if exact != Fraction(repr(float(exact))) else repr(float(exact))}


def _speed(table: Mapping[str, Any], where: str) -> Tokens | None:
    policy = _choice(table, "policy", ("fixed", "ps"), where)
    speed = table.get("speed")
    if speed is None:
        if policy == "ps":
            raise FileError(f"{where} is drained at a speed (policy 'ps'); give the speed")
        return None
    try:
        return Tokens.read(str(speed))
    except ParcastError as error:
        raise FileError(f"{where}: speed {error}") from None
