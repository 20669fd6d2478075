"""The hooks: what a plugin may add. ``docs/plugins.md`` shows each one in use.

A hook returns records and computes nothing; the code behind a record is imported when it
is first asked for. In place of a hook that only returns records, a tuple of its name lists them.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

import pluggy

from parcast.model.query import Prediction, Query
from parcast.plugins.entries import (
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    PredictorEntry,
    Reader,
    Resource,
    SolverEntry,
    Writer,
)

if TYPE_CHECKING:
    import typer

    from parcast.model.dataset import ErrorRecord

#: The name of the hook project and of the entry-point group.
PROJECT = "parcast"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Specs:
    """Every hook of parcast."""

    @hookspec
    def parcast_kinds(self) -> Iterable[KindEntry]:
        """Add kinds of workloads.

        ::

            yield KindEntry("kernel", "parcast_roofline.kernel:Kernel", "Loops: work and bytes.")
        """
        yield from ()

    @hookspec
    def parcast_parts(self) -> Iterable[PartEntry]:
        """Add parts of machines.

        ::

            yield PartEntry("cache", "parcast_roofline.cache:Cache", "One process's own cache.")
        """
        yield from ()

    @hookspec
    def parcast_solvers(self) -> Iterable[SolverEntry | FamilyEntry]:
        """Add solvers, and the function that picks a family's default.

        ::

            yield SolverEntry("logp", "phases", "parcast_logp:LogP", "LogP: nothing ever waits.")
        """
        yield from ()

    @hookspec
    def parcast_machines(self) -> Iterable[Resource]:
        """Add machines, each a TOML file in the package.

        ::

            yield Resource("round-node", files(__name__) / "round-node.toml")
        """
        yield from ()

    @hookspec
    def parcast_workloads(self) -> Iterable[Resource]:
        """Add workloads, each a file in the package.

        ::

            yield Resource("stream-triad", files(__name__) / "stream-triad.toml")
        """
        yield from ()

    @hookspec
    def parcast_measurements(self) -> Iterable[Resource]:
        """Add measured data, each a folder in the package.

        ::

            yield Resource("triad-runs", files(__name__) / "triad-runs")
        """
        yield from ()

    @hookspec
    def parcast_predictors(self) -> Iterable[PredictorEntry]:
        """Add predictors of measured series, which need neither workload nor machine.

        ::

            yield PredictorEntry("halving", "parcast_roofline.halving:predict", "Perfect speedup.")
        """
        yield from ()

    @hookspec
    def parcast_readers(self) -> Iterable[Reader]:
        """Add readers of files, by suffix.

        ::

            yield Reader(".roof", "parcast_roofline.roof:read", "A kernel, one loop a line.")
        """
        yield from ()

    @hookspec
    def parcast_writers(self) -> Iterable[Writer]:
        """Add writers of results, by suffix.

        ::

            yield Writer(".adoc", "parcast_roofline.asciidoc:write", "An AsciiDoc table.")
        """
        yield from ()

    @hookspec
    def parcast_lowerings(self) -> Iterable[Lowering]:
        """Add ways to turn a workload of one kind into another.

        ::

            yield Lowering("kernel", "phases", "parcast_roofline.lower:phases", "One phase a loop.")
        """
        yield from ()

    @hookspec
    def parcast_kernels(self) -> Iterable[KernelEntry]:
        """Add compiled kernels, for ``parcast warm``.

        ::

            yield KernelEntry("roofline", "parcast_roofline.loops:warm", "Loops summed.")
        """
        yield from ()

    @hookspec
    def parcast_commands(self, app: typer.Typer) -> None:
        """Add commands: ``app.add_typer(…, name="roofline")``. Import nothing heavy here."""

    @hookspec(firstresult=True)
    def parcast_executor(self, spec: str) -> Executor | None:
        """Return the executor that ``spec`` (such as ``"pool:4"``) names, or None."""

    @hookspec(firstresult=True)
    def parcast_usual_error(self, solver: str, distance: float | None) -> ErrorRecord | None:
        """Return how far a solver usually was off, so far beyond what was measured, or None."""

    @hookspec
    def parcast_point_done(self, query: Query, prediction: Prediction) -> None:
        """Hear that a point is done; called in the parent process."""
