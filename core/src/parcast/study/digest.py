"""Digests: what an answer depends on, in 16 bytes that are the same wherever they are made."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from hashlib import blake2b
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Scenario
from parcast.plugins.hookspecs import PROJECT
from parcast.study.plan import Plan
from parcast.study.store import SIZE

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: What files say to people.
_TEXTS = frozenset({"summary", "source", "sources"})


def digest_of_scenario(scenario: Scenario) -> bytes:
    """Return the digest of workload and machine, by their content, and of the settings."""
    workload, machine, settings = scenario.workload, scenario.machine, scenario.settings
    return digest(
        (workload.name, workload.kind, workload.parameters, workload.processes),
        (_without_texts(workload.data), workload.content),
        (machine.name, machine.parts, _without_texts(machine.data)),
        (settings.parameters, settings.machine, settings.options, settings.choices),
        (scenario.mapping, scenario.seed),
    )


def _without_texts(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _TEXTS}


def digests_of(plan: Plan, code: bytes) -> bytes:
    """Return the digests of all points, one after the other, for a solver with this code."""
    digests = bytearray()
    scenario, of_scenario = None, b""
    for at, p, d in plan.places(0, len(plan)):
        if at is not scenario:
            scenario, of_scenario = at, digest(code, digest_of_scenario(at), plan.uncertainty)
        digests += blake2b(b"%b%d,%d" % (of_scenario, p, d), digest_size=SIZE).digest()
    return bytes(digests)


def digest_of_code(registry: Catalog, solver: str) -> bytes:
    """Return the digest of all code that a solver's or family's answer may depend on.

    The files themselves are read, so that a changed solver never meets its old answers.
    """
    family = solver.partition(".")[0]
    entries: list[Any] = [*registry.solvers.values(), *registry.families.values()]
    entries = [entry for entry in entries if entry.name.partition(".")[0] == family]
    for records in (registry.kinds, registry.parts, registry.lowerings, registry.readers):
        entries += records.values()
    targets = [entry.target for entry in entries]
    return _digest_of_packages({target.partition(":")[0].partition(".")[0] for target in targets})


def digest_of_installed() -> bytes:
    """Return the digest of parcast and of all plugins that are installed, used or not."""
    points = entry_points(group=PROJECT)
    return _digest_of_packages({point.module.partition(".")[0] for point in points})


def _digest_of_packages(names: AbstractSet[str]) -> bytes:
    versions = (platform.python_version(), *(version(name) for name in ("attrs", "numpy")))
    return digest(versions, [(name, list(_files(name))) for name in sorted({"parcast", *names})])


def _files(module: str) -> Iterable[tuple[str, bytes]]:
    """Yield the files of a package, or of a module that is one file.

    Raises
    ------
    TypeError
        If there are none to be read.
    """
    try:
        spec = find_spec(module)
    except ValueError:  # a script, or made by hand
        spec = None
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise TypeError(f"the code of {module} is in no file")
    if spec.submodule_search_locations:
        for folder in spec.submodule_search_locations:
            yield from _below(Path(folder), "")
    else:
        yield module, Path(str(spec.origin)).read_bytes()


def _below(folder: Path, path: str) -> Iterable[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if item.is_dir() and item.name != "__pycache__":
            yield from _below(item, f"{path}{item.name}/")
        elif item.is_file():
            yield f"{path}{item.name}", item.read_bytes()


def digest(*values: Any) -> bytes:
    """Return the digest of nested values of any type.

    Values with the same digest are the same. Those of the usual types that are the same have the
    same digest, but 1, 1.0 and True are three; others count by their pickle.

    Raises
    ------
    TypeError, AttributeError, pickle.PicklingError
        For a value of which this cannot be said, such as a function.
    """
    hasher = blake2b(digest_size=SIZE)
    for piece in _pieces(values):
        hasher.update(len(piece).to_bytes(8, "little"))
        hasher.update(piece)
    return hasher.digest()


def _pieces(value: Any) -> Iterable[bytes]:
    kind = type(value)
    if value is None or kind in {bool, int, float, str}:
        yield f"{kind.__name__}:{value!r}".encode()
    elif kind is bytes:
        yield value
    elif isinstance(value, Enum | PurePath):
        yield f"{kind.__qualname__}:{value}".encode()
    elif callable(value) and not attrs.has(kind):
        raise TypeError(f"{value!r} is code")
    elif attrs.has(kind):
        yield from _table(
            kind.__qualname__,
            {f.name: getattr(value, f.name) for f in attrs.fields(kind) if f.init},
        )
    elif isinstance(value, Mapping):
        yield from _table("mapping", value)
    elif isinstance(value, list | tuple):
        yield f"list:{len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, AbstractSet):
        yield from _pieces(sorted(digest(item) for item in value))
    elif hasattr(value, "dtype") and hasattr(value, "tobytes"):
        yield f"array:{value.dtype}:{value.shape}".encode()
        yield value.tobytes()
    else:
        yield f"{kind.__module__}.{kind.__qualname__}".encode()
        yield pickle.dumps(value)


def _table(name: str, values: Mapping[Any, Any]) -> Iterable[bytes]:
    yield f"{name}:{len(values)}".encode()
    for key, item in sorted(values.items(), key=lambda pair: repr(pair[0])):
        yield repr(key).encode()
        yield from _pieces(item)
