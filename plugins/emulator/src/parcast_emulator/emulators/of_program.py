"""A program as an emulated application: its processes issue their operations one by one."""

from __future__ import annotations

import attrs

from parcast import Query, Workload


@attrs.frozen(eq=False)
class Processes:
    """What only tightly coupled simulation can follow: the next call depends on the last."""

    program: Workload

    def as_program(self, query: Query) -> Query:
        """Return the same query about the program itself."""
        return attrs.evolve(query, workload=self.program)


def emulated(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``program`` workload as one of kind ``emulator``; nothing changes."""
    del query
    return attrs.evolve(workload, kind="emulator", content=Processes(workload)), ()
