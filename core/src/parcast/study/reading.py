"""Study files: the grid of a study as people write it, checked before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison import inputs
from parcast.comparison.grid import check_mapping, check_seed, listed, solver_names, whole_numbers
from parcast.comparison.measurements import Measurements
from parcast.comparison.recorded import measured_times
from parcast.comparison.settings import Settings, option_value
from parcast.comparison.uncertainty import check_uncertainty
from parcast.errors import FileError, ParcastError, UnknownNameError, did_you_mean
from parcast.files.tables import read_data
from parcast.model.machine import Machine
from parcast.model.workload import Workload
from parcast.quantities.ranges import parse_numbers
from parcast.study.plan import Plan

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

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
    plans: tuple[Plan, ...]  #: one for each solver
    summary: str = ""
    measured: Measurements | None = None
    data: Mapping[str, Any] = attrs.field(factory=dict, repr=False)  #: as read

    def __len__(self) -> int:
        return sum(map(len, self.plans))


def read_study(registry: Catalog, source: str | Path | Mapping[str, Any]) -> Study:
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
    registry: Catalog
    data: Mapping[str, Any]
    where: str
    folder: Path

    def study(self, name: str) -> Study:
        """Return the whole study."""
        for key in self.data:
            if key not in _KEYS:
                hint = did_you_mean(str(key), _KEYS) or f" Known: {', '.join(_KEYS)}."
                raise FileError(f"{self.where}: unknown key {key!r}.{hint}")
        times = self._read(
            "measured", lambda value: measured_times(self.registry, self._beside(value))
        )
        plans = self._plans(times)
        points = sum(map(len, plans))
        if points > MOST_POINTS:
            raise FileError(
                f"{self.where}: the grid has {points:,} points; take at most {MOST_POINTS:,}"
            )
        self._check_values(plans[0])
        return Study(
            name=self._text("name") or name,
            summary=self._text("summary"),
            plans=plans,
            measured=times,
            data={key: value for key, value in self.data.items() if _is_plain(value)},
        )

    def _plans(self, times: Measurements | None) -> tuple[Plan, ...]:
        of = self.registry
        measured = {key: times.values(key) or None for key in ("p", "d")} if times else {}
        workloads = self._read(
            "workload", lambda value: [inputs.workload(of, x) for x in self._all(value)]
        )
        machines = self._read(
            "machine", lambda value: [inputs.machine(of, x) for x in self._all(value)]
        )
        settings = {key: self._values(key, value) for key, value in self._table("set").items()}
        first = {key: values[0] for key, values in settings.items()}
        shared = {
            "workloads": tuple(workloads or self._lack("workload")),
            "machines": tuple(machines or self._lack("machine")),
            "p": self._numbers("p", measured.get("p")),
            "d": self._numbers("d", measured.get("d")),
            "mappings": tuple(self._read("mapping", _mappings) or ("block",)),
            "settings": settings,
            "kinds": self._read("set", lambda _: Settings.sort(first, of, workloads), default=True),
            "seeds": tuple(self._read("seed", _seeds) or (0,)),
            "uncertainty": self.data.get("uncertainty", 0),
        }
        solvers = self._read("solver", lambda value: _solvers(of, value, workloads), default=True)
        return tuple(Plan(solver=solver, **shared) for solver in solvers)

    def _check_values(self, plan: Plan) -> None:
        """Refuse a setting without a value at a scenario's first point, and samples of nothing.

        Of a large grid only the first 1000 scenarios are checked.
        """
        scenarios = list(islice(plan.scenarios(), 1000))
        errors: dict[str, ParcastError | None] = {}
        for scenario in scenarios:
            p, d = scenario.processes(plan.p)[0], scenario.disks(plan.d, 1)[0]
            chosen = scenario.settings
            for kind in (chosen.parameters, chosen.machine, chosen.choices):
                for name, value in kind.items():
                    alone = attrs.evolve(scenario, settings=plan.kinds.only(name, value))
                    (question,) = alone.questions(self.registry, p, d, [plan.solver])
                    key = f"{name}={value}"
                    errors[key] = question.error if errors.get(key, question.error) else None
        for error in filter(None, errors.values()):
            raise type(error)(f"{self.where}: set: {error}") from None
        self._read("uncertainty", lambda value: check_uncertainty(value, self.registry, scenarios))

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
            for item in listed(value) or [None]:
                if isinstance(item, bool | int | float | str):
                    continue
                if isinstance(item, Mapping):
                    raise FileError(
                        f"{self.where}: {key}.{name} is a table; write it as "
                        f'"{name}.{next(iter(item), "")}" = VALUE, with the quotes'
                    )
                raise FileError(
                    f"{self.where}: {key}.{name} = {value!r} must be a value or a list of values"
                )
        return table

    def _values(self, name: str, values: Any) -> tuple[Any, ...]:
        """Return the values of a setting, machines for those that are names or files of some."""

        def meant(value: Any) -> Any:
            machine = option_value(self.registry, name, self._beside(value))
            return machine if isinstance(machine, Machine) else value

        choices: tuple[Any, ...] = self._read("set", lambda _: tuple(map(meant, _distinct(values))))
        return choices

    def _all(self, names: Any) -> list[Any]:
        """Return the names or files, those of files as seen from here."""
        return [self._beside(name) for name in listed(names)]

    def _beside(self, name: Any) -> Any:
        if not isinstance(name, str):
            return name
        try:
            return self.folder / name if (self.folder / name).is_file() else name
        except OSError:  # no file has such a name
            return name

    def _numbers(self, key: str, default: list[int] | None) -> tuple[int, ...] | None:
        def read(value: Any) -> tuple[int, ...]:
            if isinstance(value, str):
                return parse_numbers(key, value)
            return tuple(dict.fromkeys(whole_numbers(key, value, None)))

        numbers: tuple[int, ...] | None = self._read(key, read)
        return numbers or (None if default is None else tuple(default))


def _distinct(value: Any) -> tuple[Any, ...]:
    """Return the values of a setting, each once; 1 and 1.0 are two."""
    return tuple({(type(item), item): item for item in listed(value)}.values())


def _solvers(registry: Catalog, names: Any, workloads: Sequence[Workload]) -> list[str]:
    texts = names is None or all(isinstance(name, str) for name in listed(names))
    if not texts:
        raise UnknownNameError(f"{names!r} is no solver; give a name or a list of names")
    return solver_names(registry, names, workloads)


def _mappings(value: Any) -> list[Any]:
    """Return one mapping or several; a list of numbers is one, a node for each process."""
    mappings = listed(value)
    if mappings and not any(isinstance(item, str | list | tuple) for item in mappings):
        mappings = [tuple(mappings)] if isinstance(value, list | tuple) else mappings
    mappings = [tuple(item) if isinstance(item, list) else item for item in mappings]
    for mapping in mappings or [()]:
        check_mapping(mapping)
    return list(dict.fromkeys(mappings))


def _seeds(value: Any) -> list[int]:
    seeds = list(parse_numbers("seed", value, least=0)) if isinstance(value, str) else listed(value)
    for seed in seeds or [None]:
        check_seed(seed)
    return list(dict.fromkeys(seeds))


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float)
