"""Study files: the grid of a study as people write it, checked before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast.asking import check_mapping, check_seed, listed, solver_names, whole_numbers
from parcast.errors import FileError, ParcastError, did_you_mean
from parcast.files import read_data
from parcast.measured import Measurements, read_measured
from parcast.ranges import parse_numbers
from parcast.settings import Settings
from parcast.study.plan import Plan
from parcast.uncertainty import check_uncertainty

if TYPE_CHECKING:
    from parcast.registry import Registry

#: A larger grid is a slip of the finger.
MOST_POINTS = 10**7

_KEYS = (
    "name", "summary", "workload", "machine", "solver", "p", "d", "mapping", "seed", "set",
    "measured", "uncertainty",
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Study:
    """A grid of questions, with its name and what its answers are compared with."""

    name: str
    plan: Plan
    summary: str = ""
    measured: Measurements | None = None
    data: Mapping[str, Any] = attrs.field(factory=dict, repr=False)  #: as read


def read_study(registry: Registry, source: str | Path | Mapping[str, Any]) -> Study:
    """Return the study that a .toml or .json file, or a mapping with the same keys, describes.

    Workloads, machines and measured times are found beside the file. ``docs/studies.md`` lists
    the keys; in a mapping their values may also be workloads and machines themselves.

    Raises
    ------
    ParcastError
        If the file, a key, a name or a value is wrong; the key is named.
    """
    if isinstance(source, Mapping):
        return _Reading(registry, dict(source), "study", Path()).study("study")
    path = Path(source)
    return _Reading(registry, read_data(path), str(path), path.parent).study(path.stem)


@attrs.frozen
class _Reading:
    registry: Registry
    data: Mapping[str, Any]
    where: str
    folder: Path

    def study(self, name: str) -> Study:
        """Return the whole study."""
        for key in self.data:
            if key not in _KEYS:
                hint = did_you_mean(str(key), _KEYS) or f" Known: {', '.join(_KEYS)}."
                raise FileError(f"{self.where}: unknown key {key!r}.{hint}")
        times = self._read("measured", lambda one: read_measured(self._beside(one)))
        plan = self._plan(times)
        if len(plan) > MOST_POINTS:
            raise FileError(
                f"{self.where}: the grid has {len(plan):,} points; take at most {MOST_POINTS:,}"
            )
        return Study(
            name=self._text("name") or name,
            summary=self._text("summary"),
            plan=plan,
            measured=times,
            data={key: value for key, value in self.data.items() if _is_plain(value)},
        )

    def _plan(self, times: Measurements | None) -> Plan:
        of = self.registry
        measured = {key: times.values(key) or None for key in ("p", "d")} if times else {}
        workloads = self._read("workload", lambda one: [of.workload(x) for x in self._all(one)])
        settings = {key: tuple(_several(value)) for key, value in self._table("set").items()}
        first = {key: values[0] for key, values in settings.items()}
        plan = Plan(
            workloads=tuple(workloads or self._lack("workload")),
            machines=tuple(
                self._read("machine", lambda one: [of.machine(x) for x in self._all(one)])
                or self._lack("machine")
            ),
            solvers=tuple(self._read("solver", lambda one: solver_names(of, one), default=True)),
            p=self._numbers("p", measured.get("p")),
            d=self._numbers("d", measured.get("d")),
            mappings=tuple(self._read("mapping", _mappings) or ("block",)),
            settings=settings,
            kinds=self._read("set", lambda _: Settings.sort(first, of, workloads), default=True),
            seeds=tuple(self._read("seed", _seeds) or (0,)),
            uncertainty=self.data.get("uncertainty", 0),
        )
        self._read("uncertainty", lambda one: check_uncertainty(one, of, list(plan.lines())))
        return plan

    def _read(self, key: str, make: Callable[[Any], Any], *, default: bool = False) -> Any:
        """Return what a key's value means, or None where the key is not there."""
        if key not in self.data and not default:
            return None
        try:
            return make(self.data.get(key))
        except ParcastError as error:
            raise type(error)(f"{self.where}: {key}: {error}") from None

    def _lack(self, key: str) -> tuple[Any, ...]:
        raise FileError(f'{self.where}: which {key}? Add a line such as {key} = "NAME"')

    def _text(self, key: str) -> str:
        value = self.data.get(key, "")
        if not isinstance(value, str):
            raise FileError(f"{self.where}: {key} = {value!r} must be text")
        return value

    def _table(self, key: str) -> Mapping[str, Any]:
        table = self.data.get(key, {})
        if not isinstance(table, Mapping):
            raise FileError(f"{self.where}: {key} must be a table, such as [{key}]")
        for name, value in table.items():
            for one in _several(value) or [None]:
                if isinstance(one, bool | int | float | str):
                    continue
                if isinstance(one, Mapping):
                    raise FileError(
                        f"{self.where}: {key}.{name} is a table; write it as "
                        f'"{name}.{next(iter(one), "")}" = VALUE, with the quotes'
                    )
                raise FileError(
                    f"{self.where}: {key}.{name} = {value!r} must be a value or a list of values"
                )
        return table

    def _all(self, names: Any) -> list[Any]:
        """Return the names or files, those of files as seen from here."""
        return [self._beside(one) for one in listed(names)]

    def _beside(self, name: Any) -> Any:
        if not isinstance(name, str) or not (self.folder / name).is_file():
            return name
        return self.folder / name

    def _numbers(self, key: str, default: list[int] | None) -> tuple[int, ...] | None:
        def read(value: Any) -> tuple[int, ...]:
            if isinstance(value, str):
                return parse_numbers(key, value)
            return tuple(dict.fromkeys(whole_numbers(key, value, None)))

        found: tuple[int, ...] | None = self._read(key, read)
        return found or (None if default is None else tuple(default))


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _mappings(value: Any) -> list[Any]:
    """Return one mapping or several; a list of numbers is one, a node for each process."""
    found = [value] if isinstance(value, str) or not listed(value) else listed(value)
    if isinstance(found[0], int):
        found = [tuple(found)]
    found = [tuple(one) if isinstance(one, list) else one for one in found]
    for one in found:
        check_mapping(one)
    return found


def _seeds(value: Any) -> list[int]:
    found = list(parse_numbers("seed", value)) if isinstance(value, str) else listed(value)
    for one in found:
        check_seed(one)
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float)
