"""The catalogue: finds plugins, survives bad ones, and looks records up by name."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from inspect import getattr_static
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pluggy

from parcast.errors import FileError, PluginError, UnknownNameError, did_you_mean
from parcast.plugins.entries import (
    API,
    Entry,
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    PredictorEntry,
    Reader,
    Resource,
    Solver,
    SolverEntry,
    Writer,
    load,
)
from parcast.plugins.hookspecs import PROJECT, Specs

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import typer

    from parcast.model.dataset import ErrorRecord
    from parcast.model.query import Prediction, Query

E = TypeVar("E")

#: What every hook's name begins with.
_HOOK = "parcast_"

#: What ``@hookimpl`` marks a function with.
_MARK = f"{PROJECT}_impl"

#: What each collecting hook, ``parcast_<name>``, may yield, or a tuple of that name hold.
COLLECTING: Mapping[str, tuple[type, ...]] = {
    "solvers": (SolverEntry, FamilyEntry),
    "machines": (Resource,),
    "workloads": (Resource,),
    "measurements": (Resource,),
    "predictors": (PredictorEntry,),
    "kinds": (KindEntry,),
    "parts": (PartEntry,),
    "readers": (Reader,),
    "writers": (Writer,),
    "lowerings": (Lowering,),
    "kernels": (KernelEntry,),
}


@attrs.frozen
class PluginInfo:
    """A plugin that was found; ``problem`` says why it, or a record of it, is not used."""

    name: str
    distribution: str
    version: str
    problem: str = ""

    @property
    def package(self) -> str:
        """Distribution and version: ``parcast-logp 0.1.0``."""
        return f"{self.distribution} {self.version}".strip()


class _Manager(pluggy.PluginManager):
    """One that looks at a module's own names as they are, which is sooner done."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """Return how a name is marked as a hook; None where it is not."""
        if isinstance(plugin, ModuleType) and not hasattr(vars(plugin).get(name), _MARK):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class Catalog:
    """What plugins register, by name; `parcast.Registry` is one that also answers questions.

    Parameters
    ----------
    plugins
        Plugin objects or modules to use instead of the installed ones.
    """

    def __init__(self, plugins: Iterable[Any] | None = None) -> None:
        plugins = None if plugins is None else tuple(plugins)
        self.sources: tuple[Any, ...] | None = plugins  #: what another like this is made of
        self._manager = _Manager(PROJECT)
        self._manager.add_hookspecs(Specs)
        self._infos: dict[str, PluginInfo] = {}
        self._conflicts: dict[tuple[str, str], str] = {}
        self._reporting = threading.RLock()
        self._strict = os.environ.get("PARCAST_STRICT_PLUGINS", "") not in {"", "0"}
        self._register(_installed() if plugins is None else _passed(plugins))
        entries = self._collect()
        solvers = entries["solvers"]
        self.solvers: Mapping[str, SolverEntry] = _of_type(solvers, SolverEntry)
        self.families: Mapping[str, FamilyEntry] = _of_type(solvers, FamilyEntry)
        self.machines: Mapping[str, Resource] = _of_type(entries["machines"], Resource)
        self.workloads: Mapping[str, Resource] = _of_type(entries["workloads"], Resource)
        self.measurements: Mapping[str, Resource] = _of_type(entries["measurements"], Resource)
        self.predictors: Mapping[str, PredictorEntry] = _of_type(
            entries["predictors"], PredictorEntry
        )
        self.kinds: Mapping[str, KindEntry] = _of_type(entries["kinds"], KindEntry)
        self.parts: Mapping[str, PartEntry] = _of_type(entries["parts"], PartEntry)
        self.readers: Mapping[str, Reader] = _of_type(entries["readers"], Reader)
        self.writers: Mapping[str, Writer] = _of_type(entries["writers"], Writer)
        self.lowerings: Mapping[str, Lowering] = _of_type(entries["lowerings"], Lowering)
        self.kernels: Mapping[str, KernelEntry] = _of_type(entries["kernels"], KernelEntry)

    @property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """Every plugin found, by name, with what is wrong with it."""
        return tuple(info for _, info in sorted(self._infos.items()))

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for each bad plugin and each name claimed twice."""
        bad = [f"Plugin {i.name!r} ({i.package}): {i.problem}" for i in self.plugins if i.problem]
        return (*bad, *self._conflicts.values())

    def add_commands(self, app: typer.Typer) -> None:
        """Let every plugin add its commands; one that fails is reported."""
        self._call("parcast_commands", app=app)

    @property
    def has_listeners(self) -> bool:
        """Whether any plugin wants to hear of points that are done."""
        return bool(self._manager.hook.parcast_point_done.get_hookimpls())

    def point_done(self, query: Query, prediction: Prediction) -> None:
        """Tell every plugin that a point is done; one that fails is reported."""
        self._call("parcast_point_done", query=query, prediction=prediction)

    @property
    def has_records(self) -> bool:
        """Whether any plugin knows how far solvers usually were off."""
        return bool(self._manager.hook.parcast_usual_error.get_hookimpls())

    def usual_error(self, solver: str, distance: float | None) -> ErrorRecord | None:
        """Return how far a solver usually was off: the first plugin that knows it answers.

        Parameters
        ----------
        solver
            The solver or family, as it was asked for.
        distance
            The size over the largest one that was measured and calibrated by; None where nothing
            of the workload was.
        """
        known: ErrorRecord | None = self._manager.hook.parcast_usual_error(
            solver=solver, distance=distance
        )
        return known

    def executor(self, spec: str) -> Executor:
        """Return the executor that ``spec`` names: the first plugin that knows it answers.

        Raises
        ------
        UnknownNameError
            If none does.
        """
        executor: Executor | None = self._manager.hook.parcast_executor(spec=spec)
        if executor is None:
            raise UnknownNameError(f"No plugin knows an executor {spec!r}; install one that does")
        return executor

    def _call(self, hook: str, **arguments: Any) -> None:
        impls = getattr(self._manager.hook, hook).get_hookimpls()
        for impl in sorted(impls, key=lambda impl: str(impl.plugin_name)):
            try:
                impl.function(*(arguments[name] for name in impl.argnames))
            except (Exception, SystemExit) as error:  # noqa: BLE001  (a plugin may fail in any way)
                self._report(impl.plugin_name, f"{hook} failed: {error}", error)

    def _register(self, plugins: Iterable[tuple[PluginInfo, Any]]) -> None:
        disabled = os.environ.get("PARCAST_DISABLE_PLUGINS", "").replace(" ", "").split(",")
        for info, source in sorted(plugins, key=lambda pair: (pair[0].name, pair[0].distribution)):
            if info.name in disabled:
                continue
            if info.name in self._infos:
                first = self._infos[info.name].package
                sentence = f"Two plugins are both called {info.name!r}: one from {first}, "
                self._conflict("plugins", info.name, f"{sentence}one from {info.package}.")
                continue
            self._infos[info.name] = info
            try:
                # Not by its class: with importlib_metadata installed it may be that package's.
                plugin = source.load() if self.sources is None else source
                self._manager.register(plugin, name=info.name)
            except (Exception, SystemExit) as error:  # noqa: BLE001  (a plugin may fail in any way)
                self._report(info.name, f"{type(error).__name__}: {error}", error)
        self._refuse_misspelt()

    def _refuse_misspelt(self) -> None:
        for name, plugin in self._manager.list_name_plugin():
            attributes = [attribute for attribute in dir(plugin) if attribute.startswith(_HOOK)]
            lists = [hook for hook in attributes if _listed(plugin, hook)]
            hooks = [caller.name for caller in self._manager.get_hookcallers(plugin) or ()]
            unknown = [hook for hook in (*hooks, *lists) if not hasattr(Specs, hook)]
            plain = [hook for hook in attributes if hasattr(Specs, hook) and hook not in lists]
            plain = [hook for hook in plain if not self._manager.parse_hookimpl_opts(plugin, hook)]
            if unknown:
                hint = did_you_mean(unknown[0], dir(Specs))
                self._report(name, f"there is no hook {unknown[0]!r}.{hint}")
            elif plain:
                self._report(name, f"{plain[0]} is neither a tuple nor marked with @hookimpl")

    def _report(self, name: str, problem: str, cause: BaseException | None = None) -> None:
        """Drop a plugin and remember why, or raise in strict mode."""
        problem = " ".join(problem.split())  # one sentence on one line
        if self._strict:
            raise PluginError(f"Plugin {name!r}: {problem}") from cause
        with self._reporting:
            self._infos[name] = attrs.evolve(self._infos[name], problem=problem)
            if self._manager.has_plugin(name):
                self._manager.unregister(name=name)

    def _conflict(self, group: str, name: str, sentence: str) -> None:
        if self._strict:
            raise PluginError(sentence)
        self._conflicts[group, name] = sentence

    def _collect(self) -> dict[str, dict[str, Entry]]:
        """Call the hooks plugin by plugin; drop failing plugins and names claimed twice."""
        records: dict[str, dict[str, Entry]] = {group: {} for group in COLLECTING}
        owners: dict[tuple[str, str], PluginInfo] = {}
        for plugin in sorted(name for name, _ in self._manager.list_name_plugin()):
            for group, entry in self._records(plugin):
                info, key = self._infos[plugin], (group, entry.name)
                first = owners.setdefault(key, info)
                if entry.name in records[group] or key in self._conflicts:
                    self._conflict(group, entry.name, (
                        f"Two {group} are both called {entry.name!r}: one from {first.package}, "
                        f"one from {info.package}; leave one out with PARCAST_DISABLE_PLUGINS."
                    ))  # fmt: skip
                    records[group].pop(entry.name, None)
                else:
                    records[group][entry.name] = entry
        return {group: dict(sorted(entries.items())) for group, entries in records.items()}

    def _records(self, plugin: str) -> list[tuple[str, Entry]]:
        """Return all that one plugin registers: nothing if any of its hooks fails."""
        records = []
        for group, kinds in COLLECTING.items():
            try:
                entries = self._entries(plugin, _HOOK + group)
                records += [(group, _check_entry(entry, kinds)) for entry in entries]
            except (Exception, SystemExit) as error:  # noqa: BLE001  (a plugin may fail in any way)
                self._report(plugin, f"{_HOOK}{group} failed: {error}", error)
                return []
        return records

    def _entries(self, plugin: str, hook: str) -> Iterator[Any]:
        """Yield what one plugin has under a hook's name: the records listed, or what it returns."""
        yield from _listed(self._manager.get_plugin(plugin), hook)
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin_name == plugin:
                yield from impl.function()

    def lookup(self, group: str, name: str, entries: Mapping[str, E]) -> E:
        """Return ``entries[name]``, or say what else the name may have meant."""
        if name in entries:
            return entries[name]
        if (group, name) in self._conflicts:
            raise PluginError(self._conflicts[group, name])
        hint = did_you_mean(name, entries)
        names = ", ".join(entries) or "none"
        left_out = os.environ.get("PARCAST_DISABLE_PLUGINS")
        exclusion = f" PARCAST_DISABLE_PLUGINS leaves out {left_out}." if left_out else ""
        raise UnknownNameError(
            f"No {group[:-1]} is called {name!r}.{hint} Installed: {names}.{exclusion}"
        )

    def entry(self, name: str) -> SolverEntry:
        """Return the record of the solver called ``name``."""
        return self.lookup("solvers", name, self.solvers)

    def solver(self, name: str) -> Solver:
        """Return the solver called ``name``."""
        return load(self.entry(name).target)()  # type: ignore[no-any-return]

    def writer(self, path: str | Path) -> Writer:
        """Return the writer for the longest known suffix: of ``.extrap.jsonl``, then ``.jsonl``."""
        suffixes = [suffix.lower() for suffix in Path(path).suffixes]
        for start in range(len(suffixes)):
            if writer := self.writers.get("".join(suffixes[start:])):
                return writer
        last = "".join(suffixes[-1:])
        hint = did_you_mean(last, self.writers)
        formats = ", ".join(self.writers)
        raise FileError(f"{path}: no writer for {last!r} files.{hint} Known: {formats}.")


def _installed() -> tuple[tuple[PluginInfo, Any], ...]:
    """Return what distributions register as plugins, not yet loaded."""
    places = tuple((place, _changed(place)) for place in sys.path)
    return _registered(entry_points, places)


def _changed(place: str) -> int:
    """Return when something was last put into a folder, or taken out."""
    try:
        return os.stat(place or ".").st_mtime_ns  # noqa: PTH116  (of each folder, by each registry)
    except OSError:
        return 0


@lru_cache(maxsize=4)
def _registered(
    find: Callable[..., Iterable[Any]], _places: tuple[tuple[str, int], ...]
) -> tuple[tuple[PluginInfo, Any], ...]:
    """Return what is registered in these folders: to read it takes most of a registry's time."""
    registered = []
    for point in find(group=PROJECT):
        about = point.dist.metadata if point.dist else {"Name": "?", "Version": ""}  # read once
        registered.append((PluginInfo(point.name, about["Name"], about["Version"]), point))
    return tuple(registered)


def _passed(plugins: Iterable[Any]) -> Iterator[tuple[PluginInfo, Any]]:
    """Yield the core's own plugin and these."""
    from parcast.plugins import builtin

    for plugin in (builtin, *plugins):
        name = getattr(plugin, "__name__", type(plugin).__name__)
        yield PluginInfo(name.removeprefix("parcast_"), name, ""), plugin


def _listed(plugin: Any, hook: str) -> tuple[Any, ...]:
    """Return the records that a plugin lists in place of a hook that returns them."""
    if isinstance(plugin, ModuleType):
        entries = vars(plugin).get(hook, ())
    else:
        entries = getattr_static(plugin, hook, ())
    return entries if isinstance(entries, tuple) else ()


def _check_entry(entry: Any, kinds: tuple[type, ...]) -> Entry:
    """Return a record that a hook yielded, if it is one of these kinds and speaks this API."""
    if not isinstance(entry, Entry) or not isinstance(entry, kinds) or type(entry.name) is not str:
        raise PluginError(f"{entry!r} is no {kinds[0].__name__}")
    if entry.api != API:
        raise PluginError(
            f"{entry.name!r} speaks plugin API {entry.api}, this parcast speaks {API}"
        )
    return entry


def _of_type(entries: Mapping[str, Entry], kind: type[E]) -> dict[str, E]:
    """Return the records of one kind."""
    return {name: entry for name, entry in entries.items() if isinstance(entry, kind)}
