"""Where plugins are found, and what their hooks may yield."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

import attrs
import pluggy

from parcast.errors import PluginError
from parcast.plugins.entries import (
    API,
    Entry,
    FamilyEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Reader,
    Resource,
    SolverEntry,
    Writer,
)
from parcast.plugins.hookspecs import PROJECT

E = TypeVar("E")

#: What each collecting hook, ``parcast_<name>``, may yield.
COLLECTING: Mapping[str, tuple[type, ...]] = {
    "solvers": (SolverEntry, FamilyEntry),
    "machines": (Resource,),
    "workloads": (Resource,),
    "kinds": (KindEntry,),
    "parts": (PartEntry,),
    "readers": (Reader,),
    "writers": (Writer,),
    "lowerings": (Lowering,),
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


def installed() -> Iterator[tuple[PluginInfo, Any]]:
    """Yield what distributions register as plugins, not yet loaded."""
    for point in entry_points(group=PROJECT):
        dist = point.dist
        yield (
            PluginInfo(point.name, dist.name if dist else "?", dist.version if dist else ""),
            point,
        )


def given_plugins(plugins: Iterable[Any]) -> Iterator[tuple[PluginInfo, Any]]:
    """Yield the core's own plugin and these."""
    from parcast.plugins import builtin

    for plugin in (builtin, *plugins):
        name = getattr(plugin, "__name__", type(plugin).__name__)
        yield PluginInfo(name.removeprefix("parcast_"), name, ""), plugin


def plugin_name(impl: pluggy.HookImpl) -> str:
    """Return whose hook it is."""
    return impl.plugin_name


def check_entry(entry: Any, kinds: tuple[type, ...]) -> Entry:
    """Return a record that a hook yielded, if it is one of these kinds and speaks this API."""
    if not isinstance(entry, Entry) or not isinstance(entry, kinds) or type(entry.name) is not str:
        raise PluginError(f"{entry!r} is no {kinds[0].__name__}")
    if entry.api != API:
        raise PluginError(
            f"{entry.name!r} speaks plugin API {entry.api}, this parcast speaks {API}"
        )
    return entry


def of_type(entries: Mapping[str, Entry], kind: type[E]) -> dict[str, E]:
    """Return the records of one kind."""
    return {name: entry for name, entry in entries.items() if isinstance(entry, kind)}
