"""Machines that parcast ships, one file each."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from parcast import Resource, hookimpl


@hookimpl
def parcast_machines() -> Iterator[Resource]:
    """Add every file of this package."""
    for path in files(__name__).iterdir():
        if path.name.endswith(".toml"):
            yield Resource(path.name.removesuffix(".toml"), path)
