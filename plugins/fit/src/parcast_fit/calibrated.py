"""The calibrated machine or workload as a file: what was fitted with its source, all else kept."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit import TOMLDocument

from parcast.errors import FileError, UnitError
from parcast.model import Machine, Workload
from parcast.quantities import parse_quantity
from parcast_fit.result import Estimate, Fit
from parcast_fit.wording import show


def write(fit: Fit, path: str | Path) -> list[Path]:
    """Write what was calibrated; return the files.

    Comments and everything that was not fitted stay. Constant settings are written too, as
    assumed. Where both a machine and a workload were calibrated, the one goes to
    ``NAME-machine.toml``, the other to ``NAME-workload.toml``.

    Raises
    ------
    FileError
        If the workload is no table, or the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise FileError(f"{path}: a calibrated file is TOML; name it {path.stem}.toml")
    kinds = [kind for kind in ("machine", "workload") if any(e.of == kind for e in fit.estimates)]
    files = []
    for kind in kinds:
        target = path if len(kinds) == 1 else path.with_stem(f"{path.stem}-{kind}")
        document = _document(fit.machine if kind == "machine" else fit.workload)
        for name, value in _constants(fit, kind).items():
            _put(document, kind, name, value, "assumed: set while others were fitted")
        for one in fit.estimates:
            if one.of == kind:
                _put(document, kind, one.name, _spelled(document, one, kind), _source(fit, one))
        try:
            target.write_text(tomlkit.dumps(document), encoding="utf-8")
        except OSError as error:
            raise FileError(f"{target} cannot be written: {error.strerror or error}") from None
        files.append(target)
    return files


def _document(described: Machine | Workload) -> TOMLDocument:
    """Return the file as it was read, with its comments where it is TOML."""
    if not described.data:
        raise FileError(
            f"{described.name!r} was not read from a table, so no calibrated file can be made; "
            "give the fitted numbers with --set"
        )
    path = Path(described.where)
    if path.suffix.lower() == ".toml" and path.is_file():
        text = path.read_text(encoding="utf-8-sig")
        if tomllib.loads(text) == described.data:
            return tomlkit.parse(text)
    document = tomlkit.document()
    document.update({"name": described.name, **described.data})
    return document


def _constants(fit: Fit, kind: str) -> dict[str, Any]:
    """Return what was set besides and is the same everywhere; formulas of p cannot be written."""
    free = {one.name for one in fit.estimates}
    made: dict[str, Any] = {}
    for name, value in fit.settings.items():
        own = name in fit.workload.parameters
        ours = own if kind == "workload" else (not own and name.split(".")[0] in _PARTS)
        if name in free or not ours:
            continue
        plain = not isinstance(value, str) or _is_number(value)
        if plain or (kind == "machine" and value.replace("_", "").isalpha()):
            made[name] = value
    return made


def _is_number(text: str) -> bool:
    try:
        parse_quantity(text)
    except UnitError:  # a formula such as 1e7*p
        return False
    return True


_PARTS = ("processor", "nodes", "network", "storage", "cost")


def unwritten(fit: Fit) -> list[str]:
    """Return the settings that a calibrated file does not hold and its user must give again."""
    kinds = {one.of for one in fit.estimates}
    held = {name for kind in kinds for name in _constants(fit, kind)}
    free = {one.name for one in fit.estimates}
    return [f"{n}={v}" for n, v in fit.settings.items() if n not in free and n not in held]


def _put(document: TOMLDocument, kind: str, name: str, value: Any, source: str) -> None:
    path = f"parameters.{name}" if kind == "workload" else name
    *tables, key = path.split(".")
    table: Any = document
    for word in tables:
        if word not in table:
            table[word] = tomlkit.table()
        table = table[word]
    if isinstance(value, str) and _is_number(value) and not parse_quantity(value).dimension:
        quantity = parse_quantity(value)
        value = value if quantity.spread else quantity.value
    table[key] = value
    if "sources" not in document:
        document["sources"] = tomlkit.table()
    sources: Any = document["sources"]
    sources[path] = source


def _spelled(document: Mapping[str, Any], one: Estimate, kind: str) -> Any:
    """Return the number in the unit it had, with its standard uncertainty where it is known."""
    found: Any = document
    for word in (f"parameters.{one.name}" if kind == "workload" else one.name).split("."):
        found = found.get(word, {}) if isinstance(found, Mapping) else {}
    unit = found.split()[-1] if isinstance(found, str) and " " in found.strip() else ""
    unit = "" if unit == "%" else unit  # 27 +- 5 % is refused: it may be of the 27
    factor = parse_quantity(f"1 {unit}").value if unit else 1.0
    value = repr(one.used / factor)
    known = one.state == "determined" and one.low is not None and one.high is not None
    if known and one.low is not None and one.high is not None:
        spread = (one.high - one.low) / 4 / factor  # a 95 % interval is about 4 of them wide
        return f"{value} +- {spread:.2g} {unit}".rstrip()
    return f"{value} {unit}" if unit else one.used


def _source(fit: Fit, one: Estimate) -> str:
    where = Path(fit.where).name
    start = f"fitted: {len(fit.points)} {fit.quantity}s in {where} with {', '.join(fit.solvers)}"
    if one.state == "determined" and one.low is not None and one.high is not None:
        ends = f"{show(one.low, one.dimension)} .. {show(one.high, one.dimension)}"
        return f"{start}; 95 % interval {ends}"
    if one.state == "undetermined":
        return f"{start}; not determined by the data, one of many values that fit alike"
    if one.state == "open":
        return f"{start}; the data set it no limit, so it is about where the search started"
    if one.state == "determined":
        return f"{start}; as many points as parameters, so no interval"
    limit = {"at bound": f"at its bound {show(one.used, one.dimension)}"}
    if one.state == "at most" and one.high is not None:
        limit["at most"] = f"known to be at most {show(one.high, one.dimension)}"
    if one.state == "at least" and one.low is not None:
        limit["at least"] = f"known to be at least {show(one.low, one.dimension)}"
    return f"{start}; {limit[one.state]}"
