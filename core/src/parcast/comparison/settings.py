"""Settings written NAME=VALUE: workload parameters, machine values and solver options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, get_args

import attrs

from parcast.comparison import inputs
from parcast.comparison.setting_values import meant, number_of, plain_value
from parcast.errors import (
    FileError,
    FormulaError,
    ParcastError,
    PluginError,
    UnknownNameError,
    did_you_mean,
    shorten,
)
from parcast.files.structuring import structure, uncertain_numbers
from parcast.model.machine import Machine
from parcast.model.workload import Workload
from parcast.plugins.entries import SolverEntry, load_class
from parcast.quantities.expressions import Expr, Value

if TYPE_CHECKING:
    from parcast.model.query import Query
    from parcast.plugins.catalog import Catalog


@attrs.frozen(slots=False)
class Settings:
    """Settings sorted by what they set; values are as the user gave them."""

    parameters: Mapping[str, Any]
    machine: Mapping[str, Any]
    options: Mapping[str, Any]
    choices: Mapping[str, Any] = attrs.field(factory=dict)  #: words for what a workload may be

    @classmethod
    def sort(
        cls, values: Mapping[str, Any], registry: Catalog, workloads: Iterable[Workload]
    ) -> Settings:
        """Return these sorted; an option that takes a machine has it, not only its name.

        Raises
        ------
        UnknownNameError
            If a name is no parameter of any workload, machine value or solver option.
        FileError
            If an option is uncertain.
        """
        workloads = list(workloads)
        parameters = {name for workload in workloads for name in workload.parameters}
        choices = {name for workload in workloads for name in workload.choices}
        sorted_out = cls({}, {}, {})
        for name, value in values.items():
            if name in parameters:
                chosen = sorted_out.parameters
            elif name in choices:
                chosen = sorted_out.choices
            elif name in _option_names(registry, name.split(".")[0]):
                chosen = sorted_out.options
            elif name.split(".")[0] in registry.parts and "." in name:
                chosen = sorted_out.machine
            elif name in {"p", "d"}:
                raise UnknownNameError(f"{name} is given by -{name} (or {name}=), not by a setting")
            else:
                raise _unknown(name, registry, parameters | choices)
            is_option = chosen is sorted_out.options
            chosen[name] = option_value(registry, name, value) if is_option else value  # type: ignore[index]
        for entry in registry.solvers.values():
            sorted_out._refuse_uncertain_options(entry)
        return sorted_out

    def with_values(self, values: Mapping[str, Any]) -> Settings:
        """Return settings of the same names with these values."""
        return Settings(
            {name: values[name] for name in self.parameters},
            {name: values[name] for name in self.machine},
            {name: values[name] for name in self.options},
            {name: values[name] for name in self.choices},
        )

    def concerns(self, name: str, workload: Workload, solver: str) -> bool:
        """Tell whether a setting can change what a solver or family says of a workload."""
        if name in self.options:
            return name.partition(".")[0] == solver.partition(".")[0]
        if name in self.choices:
            return name in workload.choices
        return name not in self.parameters or name in workload.parameters

    def only(self, name: str, value: Any) -> Settings:
        """Return settings of which one alone is set, to this value."""
        groups = (self.parameters, self.machine, self.options, self.choices)
        return Settings(*({name: value} if name in group else {} for group in groups))

    def chosen(self, workload: Workload) -> Workload:
        """Return the workload as words choose it.

        Raises
        ------
        FileError
            If a word is none of the choices.
        """
        values = {}
        for name, word in self.choices.items():
            if name not in workload.choices:
                continue
            words = workload.choices[name]
            text = str(word).lower() if isinstance(word, bool) else str(word)
            if text not in words:
                raise FileError(
                    f"{name}={shorten(word)}: must be one of {', '.join(words)}."
                    f"{did_you_mean(text, list(words))}"
                )
            values[name] = words[text]
        if not values:
            return workload
        return attrs.evolve(workload, content=attrs.evolve(workload.content, **values))

    def parameters_at(self, workload: Workload, p: int, d: int) -> dict[str, Value]:
        """Return the workload's overridden parameters; formulas see p, d and the defaults."""
        if not self.parameters:
            return {}
        names = {**workload.parameters, "p": p, "d": d}
        return {
            name: number_of(name, value, names)
            for name, value in self.parameters.items()
            if name in workload.parameters
        }

    def machine_values(self, p: int, d: int) -> dict[str, Any]:
        """Return the overridden values of the machine, by key path."""
        fixed = self._fixed
        if len(fixed) == len(self.machine):
            return fixed
        return {path: plain_value(path, value, p, d) for path, value in self.machine.items()}

    @cached_property
    def _fixed(self) -> dict[str, Any]:
        """The overridden values of the machine that are no formulas."""
        values = {path: meant(value) for path, value in self.machine.items()}
        return {path: value for path, value in values.items() if not isinstance(value, Expr)}

    def disks_at(self, machine: Machine, p: int) -> int:
        """Return the default of d: the disks that are set, or else the machine's own."""
        if "storage.disks" not in self.machine:
            return machine.storage.disks
        try:
            disks = plain_value("storage.disks", self.machine["storage.disks"], p, 1)
        except FormulaError:  # said where the machine is made
            return 1
        return disks if isinstance(disks, int) and disks > 0 else 1

    def values_at(self, query: Query, solver: str) -> dict[str, Any]:
        """Return what a row says was set: values at the query, and options of its family."""
        values = self.machine_values(query.p, query.d)
        options = self._family_options(solver) if self.options else {}
        return {**query.parameters, **self._choices_of(query), **values, **options}

    def as_stated(self, query: Query, solver: str) -> dict[str, Any]:
        """Return what was set, as it was given, where there is no value of it at the query."""
        parameters = {k: v for k, v in self.parameters.items() if k in query.workload.parameters}
        choices = self._choices_of(query)
        return {**parameters, **choices, **self.machine, **self._family_options(solver)}

    def _choices_of(self, query: Query) -> dict[str, Any]:
        return {k: v for k, v in self.choices.items() if k in query.workload.choices}

    def _family_options(self, solver: str) -> dict[str, Any]:
        family = solver.partition(".")[0]
        return {
            name: value.name if isinstance(value, Machine) else value
            for name, value in self.options.items()
            if name.partition(".")[0] == family
        }

    def options_of(self, entry: SolverEntry, p: int, d: int) -> Any:
        """Return the solver's options, or None where it takes none."""
        if entry.options is None:
            return None
        if not self.options:
            return _options(entry.options, entry.name)
        load_class(entry.options)  # or say what is wrong with it
        self._refuse_uncertain_options(entry)
        names = self._names_of_options(entry)
        values = {
            field: plain_value(name, self.options[name], p, d) for field, name in names.items()
        }
        return _options(entry.options, entry.name, **values)

    def _refuse_uncertain_options(self, entry: SolverEntry) -> None:
        names = self._names_of_options(entry)
        if not names:
            return
        options = {field: self.options[name] for field, name in names.items()}
        for (field, *_), text, _ in uncertain_numbers(options, load_class(str(entry.options))):
            raise FileError(
                f"{names[str(field)]}={text}: an option chooses a method and is no measured "
                "number; give one value, without an uncertainty"
            )

    def _names_of_options(self, entry: SolverEntry) -> dict[str, str]:
        """Return the setting of each option; the solver's own goes before its family's."""
        if entry.options is None or not self.options:
            return {}
        return {
            field: name
            for prefix in (entry.family, entry.name)
            for field in _fields(entry.options)
            if (name := f"{prefix}.{field}") in self.options
        }


def _unknown(name: str, registry: Catalog, of_workloads: set[str]) -> UnknownNameError:
    """Return the error that nothing has this name, with what may have been meant."""
    names = sorted({*of_workloads, *_option_names(registry), *_machine_names(registry)})
    near = [candidate for candidate in names if candidate.startswith(f"{name.partition('.')[0]}.")]
    listed = ", ".join(near or sorted(of_workloads)) or "none"
    hint = did_you_mean(name, names) or f" {'Known' if near else 'Parameters'}: {listed}."
    return UnknownNameError(f"No parameter, machine value or option is called {name!r}.{hint}")


@lru_cache(maxsize=256, typed=True)  # 1 is not true, nor 1.0 a whole number
def _options(target: str, solver: str, /, **values: Any) -> Any:
    return structure(values, load_class(target), "option", solver)


def _option_names(registry: Catalog, family: str | None = None) -> set[str]:
    return {
        f"{prefix}.{field}"
        for entry in registry.solvers.values()
        if entry.options is not None and family in {None, entry.family}
        for field in _fields(entry.options)
        for prefix in (entry.family, entry.name)
    }


def option_value(registry: Catalog, name: str, value: Any) -> Any:
    """Return the machine that is named where an option takes one, anything else as it is.

    So a solver gets a machine of the registry that asks, whichever that is, and a study knows
    its answers by the machine's numbers, not by its name.

    Raises
    ------
    ParcastError
        If there is no such machine.
    """
    family = name.partition(".")[0]
    wanted = any(
        name in {f"{prefix}.{field}" for prefix in (entry.family, entry.name)}
        for entry in registry.solvers.values()
        if entry.options is not None and entry.family == family
        for field in _machine_fields(entry.options)
    )
    if not wanted or isinstance(value, Machine):
        return value
    try:
        return inputs.machine(registry, value)
    except ParcastError as error:
        raise type(error)(f"{name}: {error}") from None


def _machine_names(registry: Catalog) -> set[str]:
    return {
        f"{name}.{field}"
        for name, entry in registry.parts.items()
        for field in _fields(entry.target)
    }


def _fields(target: str) -> list[str]:
    try:
        return [field.name for field in attrs.fields(load_class(target))]
    except PluginError:  # said where the class is used
        return []


def _machine_fields(target: str) -> list[str]:
    """Return the options of a class that are machines."""
    try:
        fields = attrs.fields(attrs.resolve_types(load_class(target)))
    except PluginError:  # said where the class is used
        return []
    return [field.name for field in fields if Machine in (field.type, *get_args(field.type))]


def split_assignment(text: str) -> tuple[str, str]:
    """Return name and value of ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ParcastError(f"{text!r} is no NAME=VALUE")
    return name.strip(), value.strip()
