"""Workloads that parcast ships, one file each: ``phases`` here, programs in their own folder."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from parcast import Resource, hookimpl


@hookimpl
def parcast_workloads() -> Iterator[Resource]:
    """Add every file of this package."""
    here = files(__name__)
    for path in (*here.iterdir(), *(here / "programs").iterdir()):
        name, dot, suffix = path.name.rpartition(".")
        if dot + suffix in {".toml", ".py"} and not name.startswith("_"):
            yield Resource(name, path)
