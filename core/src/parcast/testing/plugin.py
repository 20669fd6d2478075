"""What a plugin's hooks and records promise."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import attrs

from parcast.api import Registry
from parcast.plugins.entries import (
    FamilyEntry,
    KindEntry,
    PartEntry,
    Reader,
    Solver,
    SolverEntry,
    load,
)
from parcast.testing.imports import deep_imports
from parcast.testing.promises import expect, is_sentence, promised
from parcast.testing.shipped import check_dataset

#: Libraries too slow to import before a solver that needs them is asked.
HEAVY = frozenset(
    {"matplotlib", "networkx", "numba", "numpy", "pandas", "pyarrow", "scipy", "xarray"}
)

_RECORDS = ("solvers", "families", "kinds", "parts", "machines", "workloads", "measurements",
            "predictors", "readers", "writers", "lowerings", "kernels")  # fmt: skip

_IMPORT = """import importlib, sys, typer, parcast
plugin = importlib.import_module(sys.argv[1])
registry = parcast.Registry([plugin])
registry.add_commands(typer.Typer())
assert not registry.problems, registry.problems
print(*sys.modules)"""


def check_plugin(plugin: Any) -> Registry:
    """Check a plugin alone with the core; return the registry of the two for further checks.

    The hooks are spelled right, and marked or tuples; the records have lower-case names (solvers
    in the plugin's own family), a summary, and code that loads; they pickle. Commands are the same
    however often they are asked for. A module and its hooks import none of `HEAVY`, and of parcast
    no file of it imports what is no API (`deep_imports`).
    """
    with promised(f"plugin {plugin!r} must load"):  # in strict mode it raises
        registry, core = Registry([plugin]), Registry([])
    expect(not registry.problems, " ".join(registry.problems))
    names = {info.name for info in registry.plugins} - {info.name for info in core.plugins}
    expect(names, f"plugin {plugin!r} must not be in PARCAST_DISABLE_PLUGINS when it is checked")
    (word,) = names
    who = f"plugin {word!r}"
    hooks = {n: f for n, f in inspect.getmembers(plugin, _is_hook) if n.startswith("parcast_")}
    expect(hooks, f"{who} must have a hook or a tuple of records, such as parcast_solvers")
    for name, hook in hooks.items():
        marked = isinstance(hook, tuple) or hasattr(hook, "parcast_impl")
        expect(marked, f"{who}: {name} must be marked with @hookimpl")
    for kind in _RECORDS:
        for name in getattr(registry, kind).keys() - getattr(core, kind).keys():
            entry = getattr(registry, kind)[name]
            sentence_start = f"{who}, {type(entry).__name__} {name!r}"
            _check_entry(entry, word.lower(), sentence_start, measured=kind == "measurements")
            if kind == "measurements":
                check_dataset(registry, name)
    if isinstance(plugin, ModuleType):
        deep = deep_imports(plugin)
        expect(not deep, f"{who}: {'; '.join(deep)}")
        _check_start(plugin.__name__, who)
    with promised(f"{who} must add its commands"):
        first, second = _commands(registry), _commands(registry)
    again = sorted((Counter(second) - Counter(first)).keys())
    expect(not again, f"{who}: asked twice for its commands it adds {again} twice; use a new app")
    return registry


def _commands(registry: Registry) -> list[str]:
    """Return the commands that plugins add to a new app, groups before the names in them."""
    import typer

    app = typer.Typer()
    registry.add_commands(app)
    return [*_named(app, "")]


def _named(app: Any, prefix: str) -> Iterator[str]:
    for command in app.registered_commands:
        yield f"{prefix}{command.name or command.callback.__name__}"
    for group in app.registered_groups:
        yield from _named(group.typer_instance, f"{prefix}{group.name} ")


def _check_entry(entry: Any, word: str, who: str, *, measured: bool) -> None:
    well_named = all(re.fullmatch(r"\.?[a-z][\w.-]*", part) for part in entry.name.split(" -> "))
    expect(well_named and entry.name.islower(), f"{who}: the name must be in lower case, a-z first")
    if getattr(entry, "suffix", None) is not None:
        folder = isinstance(entry, Reader) and entry.mark and not entry.suffix
        dotted = folder or entry.suffix.startswith(".")
        expect(bool(dotted), f"{who}: the suffix must start with a dot")
    with promised(f"{who} must pickle whole"):
        expect(pickle.loads(pickle.dumps(entry)) == entry, f"{who} must pickle whole")  # noqa: S301
    if hasattr(entry, "path"):
        is_there = entry.path.is_dir() if measured else entry.path.is_file()
        kind = "a folder" if measured else "a file"
        expect(is_there, f"{who}: {entry.path} must be {kind}")
        return
    expect(is_sentence(entry.summary), f"{who}: summary {entry.summary!r} must be a sentence")
    with promised(f"{who} must load"):
        target = load(entry.target)
        shown = load(entry.shown) if isinstance(entry, Reader) and entry.shown else target
        options = load(entry.options) if getattr(entry, "options", None) else None
    if isinstance(entry, KindEntry | PartEntry):
        expect(attrs.has(target), f"{who}: {entry.target} must be an attrs class")
    expect(callable(target) and callable(shown), f"{who}: {entry.target} must be callable")
    if isinstance(entry, SolverEntry | FamilyEntry):
        in_family = entry.name.partition(".")[0] == word
        expect(in_family, f"{who}: the name must be {word!r} or start with '{word}.'")
    if isinstance(entry, SolverEntry):
        expect(isinstance(target(), Solver), f"{who}: {entry.target} must have supports and solve")
        is_attrs = options is None or attrs.has(options)
        expect(is_attrs, f"{who}: {entry.options} must be an attrs class")


def _is_hook(value: object) -> bool:
    """Return whether a plugin's value may be a hook, or records listed in place of one."""
    return callable(value) or isinstance(value, tuple)


def _check_start(module: str, who: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _IMPORT, module]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    expect(not ran.returncode, f"{who}: must import in a fresh interpreter: {ran.stderr[-500:]}")
    heavy = ", ".join(sorted(HEAVY.intersection(ran.stdout.split())))
    expect(not heavy, f"{who} imports {heavy} at start-up; import it where a solver needs it")
