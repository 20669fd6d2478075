"""The plan of a study: a grid of questions, numbered, of which any part can be made anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import attrs

from parcast.asking import Asked, Line, Placed, whole_numbers
from parcast.machine import Machine
from parcast.settings import Settings
from parcast.workload import Workload

if TYPE_CHECKING:
    from parcast.registry import Registry


@attrs.frozen(kw_only=True, slots=False)
class Plan:
    """Every solver at every p and d of every line; a line fixes everything else.

    Points are numbered from 0, for each solver alike: d varies fastest, then p, seed, settings
    (the last one first), mapping, machine and workload.
    """

    workloads: tuple[Workload, ...]
    machines: tuple[Machine, ...]
    solvers: tuple[str, ...]
    p: tuple[int, ...] | None = None
    d: tuple[int, ...] | None = None
    mappings: tuple[Placed, ...] = ("block",)
    settings: Mapping[str, tuple[Any, ...]] = attrs.field(factory=dict)  #: the values of each
    kinds: Settings = attrs.field(factory=lambda: Settings({}, {}, {}))  #: what each sets
    seeds: tuple[int, ...] = (0,)
    uncertainty: int = 0  #: how often to draw the uncertain numbers of each point

    @cached_property
    def _axes(self) -> tuple[Sequence[Any], ...]:
        """What distinguishes lines of one workload, the slowest first."""
        return (self.machines, self.mappings, *self.settings.values(), self.seeds)

    @cached_property
    def _processes(self) -> tuple[tuple[int, ...], ...]:
        """Return the p that each workload is asked about."""
        return tuple(whole_numbers("p", self.p, one.processes) for one in self.workloads)

    @cached_property
    def _disks(self) -> tuple[int, ...] | None:
        """Return the d that are asked about, None for each machine's own."""
        return None if self.d is None else whole_numbers("d", self.d, None)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Return the number after each workload's last point."""
        lines, disks = prod(map(len, self._axes)), 1 if self._disks is None else len(self._disks)
        return tuple(accumulate(lines * len(own) * disks for own in self._processes))

    @property
    def count(self) -> int:
        """How many points each solver is asked about."""
        return self._ends[-1]

    def __len__(self) -> int:
        return self.count * len(self.solvers)

    def _line(self, workload: Workload, number: int) -> Line:
        chosen = []
        for axis in reversed(self._axes):
            number, index = divmod(number, len(axis))
            chosen.append(axis[index])
        machine, mapping, *values, seed = reversed(chosen)
        return Line(
            workload=workload,
            machine=machine,
            settings=self.kinds.with_values(dict(zip(self.settings, values, strict=True))),
            mapping=mapping,
            seed=seed,
        )

    def lines(self) -> Iterator[Line]:
        """Yield every line."""
        for workload in self.workloads:
            for number in range(prod(map(len, self._axes))):
                yield self._line(workload, number)

    def places(self, start: int, stop: int) -> Iterator[tuple[Line, int, int]]:
        """Yield line, p and d of the points from ``start`` to before ``stop``."""
        first, disks = 0, self._disks or (None,)
        for workload, processes, end in zip(
            self.workloads, self._processes, self._ends, strict=True
        ):
            reached, line = -1, None
            for number in range(max(start, first) - first, min(stop, end) - first):
                place, at_d = divmod(number, len(disks))
                index, at_p = divmod(place, len(processes))
                if line is None or index != reached:
                    reached, line = index, self._line(workload, index)
                p, d = processes[at_p], disks[at_d]
                yield line, p, line.settings.disks_at(line.machine, p) if d is None else d
            first = end

    def asked(self, registry: Registry, solver: str, start: int, stop: int) -> list[Asked]:
        """Return a solver's questions at these points."""
        return [
            one
            for line, p, d in self.places(start, stop)
            for one in line.asked(registry, p, d, [solver])
        ]
