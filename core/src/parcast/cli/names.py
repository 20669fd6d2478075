"""Names that the shell completes: of workloads, machines and solvers, also after commas."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

from parcast.api import Registry

Complete = Callable[[typer.Context, str], list[str]]


def _completing(names_of: Callable[[Registry], Iterable[str]]) -> Complete:
    """Return what completes the last of some names that commas separate."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        registry = context.find_object(Registry) or Registry()
        before, comma, last = incomplete.rpartition(",")
        return [
            f"{before}{comma}{name}" for name in sorted(names_of(registry)) if name.startswith(last)
        ]

    return complete


def _solvers(registry: Registry) -> set[str]:
    return {*registry.solvers, *registry.families, *(e.family for e in registry.solvers.values())}


workloads = _completing(lambda registry: registry.workloads)
machines = _completing(lambda registry: registry.machines)
solvers = _completing(_solvers)
anything = _completing(
    lambda registry: {*registry.workloads, *registry.machines, *_solvers(registry)}
)
