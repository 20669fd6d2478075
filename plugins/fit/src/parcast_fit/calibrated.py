"""The calibrated machine or workload as a file: what was fitted with its source, all else kept."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import tomlkit
from tomlkit import TOMLDocument

from parcast.errors import FileError, UnitError
from parcast.files import check_suffix, write_text
from parcast.model import Machine, Workload
from parcast.quantities import parse_quantity
from parcast_fit.estimates import Estimate
from parcast_fit.wording import show

_PARTS = ("processor", "nodes", "network", "storage", "cost")


@attrs.frozen(kw_only=True)
class Calibrated:
    """A workload and a machine with what was fitted and what was set besides."""

    workload: Workload
    machine: Machine
    estimates: tuple[Estimate, ...]
    settings: Mapping[str, Any]
    source: str  #: of the estimates, as the file says it

    def write(self, path: str | Path) -> list[Path]:
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
        check_suffix(path, "a calibrated machine or workload", [".toml"])
        kinds = [kind for kind in ("machine", "workload") if any(self._of(kind))]
        files = []
        for kind in kinds:
            target = path if len(kinds) == 1 else path.with_stem(f"{path.stem}-{kind}")
            write_text(target, tomlkit.dumps(self._document(kind)))
            files.append(target)
        return files

    def unwritten(self) -> list[str]:
        """Return the settings that the files do not hold and their user must give again."""
        kinds = {estimate.of for estimate in self.estimates}
        written = {name for kind in kinds for name in self._constants(kind)}
        free = {estimate.name for estimate in self.estimates}
        return [f"{n}={v}" for n, v in self.settings.items() if n not in free and n not in written]

    def _of(self, kind: str) -> list[Estimate]:
        return [estimate for estimate in self.estimates if estimate.of == kind]

    def _document(self, kind: str) -> TOMLDocument:
        document = _as_read(self.machine if kind == "machine" else self.workload)
        for name, value in self._constants(kind).items():
            _put(document, kind, name, value, "assumed: set while others were fitted")
        for estimate in self._of(kind):
            value = _spell(document, estimate, kind)
            _put(document, kind, estimate.name, value, f"{self.source}; {_certainty(estimate)}")
        return document

    def _constants(self, kind: str) -> dict[str, Any]:
        """Return what was set besides and is the same everywhere; formulas of p are left out."""
        free = {estimate.name for estimate in self.estimates}
        constants: dict[str, Any] = {}
        for name, value in self.settings.items():
            in_workload = name in self.workload.parameters
            in_machine = not in_workload and name.split(".")[0] in _PARTS
            if name in free or not (in_workload if kind == "workload" else in_machine):
                continue
            plain = not isinstance(value, str) or _is_number(value)
            if plain or (kind == "machine" and value.replace("_", "").isalpha()):
                constants[name] = value
        return constants


def _as_read(described: Machine | Workload) -> TOMLDocument:
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


def _is_number(text: str) -> bool:
    try:
        parse_quantity(text)
    except UnitError:  # a formula such as 1e7*p
        return False
    return True


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


def _spell(document: Mapping[str, Any], estimate: Estimate, kind: str) -> Any:
    """Return the number in the unit it had, with its standard uncertainty where it is known."""
    name = f"parameters.{estimate.name}" if kind == "workload" else estimate.name
    value: Any = document
    for key in name.split("."):
        value = value.get(key, {}) if isinstance(value, Mapping) else {}
    unit = value.split()[-1] if isinstance(value, str) and " " in value.strip() else ""
    unit = "" if unit == "%" else unit  # 27 +- 5 % is refused: it may be of the 27
    factor = parse_quantity(f"1 {unit}").value if unit else 1.0
    number, low, high = repr(estimate.used / factor), estimate.low, estimate.high
    if estimate.state == "determined" and low is not None and high is not None:
        spread = (high - low) / 4 / factor  # a 95 % interval is about 4 of them wide
        return f"{number} +- {spread:.2g} {unit}".rstrip()
    return f"{number} {unit}" if unit else estimate.used


def _certainty(estimate: Estimate) -> str:
    """Return how well the data determine an estimate, as its source says it."""
    if estimate.state == "determined" and estimate.low is not None and estimate.high is not None:
        ends = (
            f"{show(estimate.low, estimate.dimension)} .. {show(estimate.high, estimate.dimension)}"
        )
        return f"95 % interval {ends}"
    if estimate.state == "undetermined":
        return "not determined by the data, one of many values that fit alike"
    if estimate.state == "open":
        return "the data set it no limit, so it is about where the search started"
    if estimate.state == "determined":
        return "as many points as parameters, so no interval"
    limit = {"at bound": f"at its bound {show(estimate.used, estimate.dimension)}"}
    if estimate.state == "at most" and estimate.high is not None:
        limit["at most"] = f"known to be at most {show(estimate.high, estimate.dimension)}"
    if estimate.state == "at least" and estimate.low is not None:
        limit["at least"] = f"known to be at least {show(estimate.low, estimate.dimension)}"
    return limit[estimate.state]
