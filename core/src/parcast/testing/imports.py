"""Imports: what of parcast a plugin may use, so that it works with every version of the API."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

import parcast

#: Modules beside the rooms that are API.
_MODULES = ("parcast.errors", "parcast.html", "parcast.cells")


def deep_imports(plugin: ModuleType) -> list[str]:
    """Return a sentence for each import of a plugin that reaches behind the API.

    API is what ``parcast`` and its rooms (packages such as ``parcast.quantities``) list in
    ``__all__``, and the modules `parcast.errors`, `parcast.html` and `parcast.cells`.

    Parameters
    ----------
    plugin
        A module, or a package whose files are all read.

    Returns
    -------
    list of str
        File and line, the import, and what to write instead.
    """
    folders = [Path(folder) for folder in getattr(plugin, "__path__", ())]
    files = [(file, folder.parent) for folder in folders for file in sorted(folder.rglob("*.py"))]
    if not folders and plugin.__file__ is not None:
        files = [(Path(plugin.__file__), Path(plugin.__file__).parent)]
    return [
        f"{file.relative_to(base)}:{line} imports {name}; {_instead(name)}"
        for file, base in files
        for line, name in _imports(ast.parse(file.read_bytes()))
        if not _is_api(name)
    ]


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of all that is imported from parcast, lazily or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "parcast":
                yield node.lineno, name


def _is_api(name: str) -> bool:
    room, _, exported = name.rpartition(".")
    return name in _rooms() or name in _MODULES or room in _MODULES or exported in _names_of(room)


def _names_of(room: str) -> Collection[str]:
    return _rooms().get(room, ())


def _instead(name: str) -> str:
    """Return what to write in place of an import that is no API."""
    room, _, last = name.rpartition(".")
    for home, names in _rooms().items():
        if last in names:
            return f"write 'from {home} import {last}'"
    while room not in _rooms():
        room = room.rpartition(".")[0]
    return f"use what {room} exports: {', '.join(_names_of(room)) or 'nothing'}"


@cache
def _rooms() -> Mapping[str, Collection[str]]:
    """Return what each package of parcast exports, the top first."""
    packages = [parcast.__name__]
    packages += [
        info.name for info in pkgutil.walk_packages(parcast.__path__, "parcast.") if info.ispkg
    ]
    return {name: getattr(importlib.import_module(name), "__all__", ()) for name in packages}
