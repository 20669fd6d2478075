"""The plan of a study: a grid of questions, numbered, of which any part can be made anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Placed, Question, Scenario, whole_numbers
from parcast.comparison.settings import Settings
from parcast.model.machine import Machine
from parcast.model.workload import Workload

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


@attrs.frozen(kw_only=True, slots=False)
class Plan:
    """One solver or family at every p and d of every scenario; a scenario fixes everything else.

    Points are numbered from 0: d varies fastest, then p, seed, settings (the last one first),
    mapping, machine and workload. Of a setting that does not concern the solver or the
    workload only the first value counts, so that no question comes twice.
    """

    solver: str
    workloads: tuple[Workload, ...]
    machines: tuple[Machine, ...]
    p: tuple[int, ...] | None = None
    d: tuple[int, ...] | None = None
    mappings: tuple[Placed, ...] = ("block",)
    settings: Mapping[str, tuple[Any, ...]] = attrs.field(factory=dict)  #: the values of each
    kinds: Settings = attrs.field(factory=lambda: Settings({}, {}, {}))  #: what each sets
    seeds: tuple[int, ...] = (0,)
    uncertainty: int = 0  #: how often to draw the uncertain numbers of each point

    @cached_property
    def _axes(self) -> tuple[tuple[Sequence[Any], ...], ...]:
        """What distinguishes the scenarios of each workload, the slowest first."""
        return tuple(
            (self.machines, self.mappings, *self._values(workload), self.seeds)
            for workload in self.workloads
        )

    def _values(self, workload: Workload) -> Iterator[tuple[Any, ...]]:
        for name, values in self.settings.items():
            yield values if self.kinds.concerns(name, workload, self.solver) else values[:1]

    @cached_property
    def _processes(self) -> tuple[tuple[int, ...], ...]:
        """Return the p that each workload is asked about."""
        return tuple(whole_numbers("p", self.p, workload.processes) for workload in self.workloads)

    @cached_property
    def _disks(self) -> tuple[int, ...] | None:
        """Return the d that are asked about, None for each machine's own."""
        return None if self.d is None else whole_numbers("d", self.d, None)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Return the number after each workload's last point."""
        disks = 1 if self._disks is None else len(self._disks)
        pairs = zip(self._axes, self._processes, strict=True)
        return tuple(
            accumulate(prod(map(len, axes)) * len(processes) * disks for axes, processes in pairs)
        )

    def __len__(self) -> int:
        return self._ends[-1]

    def _scenario(self, at: int, number: int) -> Scenario:
        chosen = []
        for axis in reversed(self._axes[at]):
            number, index = divmod(number, len(axis))
            chosen.append(axis[index])
        machine, mapping, *values, seed = reversed(chosen)
        return Scenario(
            workload=self.workloads[at],
            machine=machine,
            settings=self.kinds.with_values(dict(zip(self.settings, values, strict=True))),
            mapping=mapping,
            seed=seed,
        )

    def scenarios(self) -> Iterator[Scenario]:
        """Yield every scenario."""
        for at, axes in enumerate(self._axes):
            for number in range(prod(map(len, axes))):
                yield self._scenario(at, number)

    def places(self, start: int, stop: int) -> Iterator[tuple[Scenario, int, int]]:
        """Yield scenario, p and d of the points from ``start`` to before ``stop``."""
        first, disks = 0, self._disks or (None,)
        for at, (processes, end) in enumerate(zip(self._processes, self._ends, strict=True)):
            reached, scenario = -1, None
            for number in range(max(start, first) - first, min(stop, end) - first):
                pair, at_d = divmod(number, len(disks))
                index, at_p = divmod(pair, len(processes))
                if scenario is None or index != reached:
                    reached, scenario = index, self._scenario(at, index)
                p, d = processes[at_p], disks[at_d]
                yield (
                    scenario,
                    p,
                    scenario.settings.disks_at(scenario.machine, p) if d is None else d,
                )
            first = end

    def questions(self, registry: Catalog, start: int, stop: int) -> list[Question]:
        """Return the questions at these points."""
        return [
            question
            for scenario, p, d in self.places(start, stop)
            for question in scenario.questions(registry, p, d, [self.solver])
        ]
