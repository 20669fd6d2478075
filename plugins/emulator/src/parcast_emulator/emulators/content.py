"""The kind ``emulator``: one application, described by a table of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import attrs
import numpy as np

from parcast import Formula, InvalidPointError, Query
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.accesses import Accesses
from parcast_emulator.emulators.checkpoint import Checkpoint
from parcast_emulator.emulators.chunked_array import ChunkedArray
from parcast_emulator.emulators.dlio import Dlio
from parcast_emulator.emulators.object_store import ObjectStore
from parcast_emulator.emulators.orbits import FitInterval
from parcast_emulator.emulators.pathfinder import Pathfinder
from parcast_emulator.emulators.shuffle import Shuffle
from parcast_emulator.emulators.tiled_pyramid import TiledPyramid
from parcast_emulator.emulators.titan import Titan
from parcast_emulator.emulators.virtual_microscope import VirtualMicroscope
from parcast_emulator.workflow import WorkFlow


class Emulator(Protocol):
    """What every emulator offers; numbers that vary are given as ``values``.

    It may have ``notes`` on what it leaves out, ``remarks`` for its rows, ``fit_interval``, where
    it is fitted, ``fewest_operations``, where it has all blocks in one epoch, and ``writes``, where
    its accesses are writes, or ``writing``, which tells it of a query: None where some are.
    """

    workflow: WorkFlow

    def check(self, values: Mapping[str, float], p: int) -> None:
        """Raise `InvalidPointError` where the application has no meaning."""

    def epochs(
        self, values: Mapping[str, float], cluster: Cluster, random: np.random.Generator
    ) -> Iterator[Blocks]:
        """Return the blocks, an epoch after another."""

    def closed_form(self, values: Mapping[str, float], p: int) -> float | None:
        """Return the mean time of the hottest processor, where a formula gives it."""


@attrs.frozen(kw_only=True)
class Emulated:
    """The content of an ``emulator`` workload: exactly one of the applications."""

    titan: Titan | None = None
    pathfinder: Pathfinder | None = None
    virtual_microscope: VirtualMicroscope | None = None
    dlio: Dlio | None = None
    checkpoint: Checkpoint | None = None
    chunked_array: ChunkedArray | None = None
    tiled_pyramid: TiledPyramid | None = None
    shuffle: Shuffle | None = None
    object_store: ObjectStore | None = None
    accesses: Accesses | None = None

    @property
    def emulator(self) -> Emulator:
        """The application that is described."""
        stated: list[Any] = [value for value in self._tables().values() if value is not None]
        if len(stated) != 1:
            names = ", ".join(f"[{name}]" for name in self._tables())
            raise InvalidPointError(
                f"an emulator describes one application and this one {len(stated)}; state one "
                f"of {names}"
            )
        emulator: Emulator = stated[0]
        return emulator

    def _tables(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}

    def check(self, query: Query) -> None:
        """Check that the application has a meaning at the query's point.

        Raises
        ------
        InvalidPointError
            If it has none.
        """
        self.emulator.check(numbers(self.emulator, query), query.p)

    def epochs(self, query: Query, cluster: Cluster) -> Iterator[Blocks]:
        """Return the blocks at the query's point, an epoch after another."""
        from parcast.quantities import generator

        return self.emulator.epochs(
            numbers(self.emulator, query), cluster, generator(query.seed, 0)
        )

    def work(self, query: Query) -> dict[str, float]:
        """Return the bytes of all blocks, where the application says how many there are."""
        values = numbers(self.emulator, query)
        if not {"blocks", "size"} <= values.keys():
            return {}
        return {"bytes": values["blocks"] * values["size"]}

    def fewest_operations(self, query: Query) -> int:
        """Return how many operations there are at least; 0 where only the blocks themselves say."""
        ask = getattr(self.emulator, "fewest_operations", None)
        return int(ask(numbers(self.emulator, query))) if ask else 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the emulator leaves out, in sentences."""
        return getattr(self.emulator, "notes", ())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What rows say of the application, in sentences."""
        return getattr(self.emulator, "remarks", ())

    def writing(self, query: Query) -> bool | None:
        """Tell whether its accesses are writes, in a mirror; None where some are."""
        ask = getattr(self.emulator, "writing", None)
        return ask(query) if ask else getattr(self.emulator, "writes", False)

    def fit_interval(self, query: Query) -> FitInterval | None:
        """Return what a fit leaves open, where the emulator has one."""
        ask = getattr(self.emulator, "fit_interval", None)
        fit: FitInterval | None = ask and ask(numbers(self.emulator, query), query.p)
        return fit

    def closed_form(self, query: Query) -> float | None:
        """Return the mean time of the hottest processor, where a formula gives it; seconds."""
        return self.emulator.closed_form(numbers(self.emulator, query), query.p)


def numbers(emulator: Any, query: Query) -> dict[str, float]:
    """Return the value of every formula of an emulator at the query's point."""
    names = [field.name for field in attrs.fields(type(emulator))]
    return {
        name: query.number(emulator, name)
        for name in names
        if isinstance(getattr(emulator, name), Formula)
    }
