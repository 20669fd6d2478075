"""The content of a ``program`` workload: a tree, or a recorded run."""

from __future__ import annotations

from functools import cached_property

import attrs

from parcast.errors import InvalidPointError
from parcast.model.query import Query
from parcast.program.matching.prepare import matched
from parcast.program.source.attributes import Attributes, attributes
from parcast.program.source.tree import Tree
from parcast.program.unroll.blocks import Unrolled
from parcast.program.unroll.unroll import unroll


@attrs.frozen(eq=False)
class Program:
    """What every process does, at any number of processes or at one.

    A program read from source has its ``tree``. A recorded one has only ``recorded``, its
    operations at its own number of processes.
    """

    tree: Tree | None
    recorded: Unrolled | None = attrs.field(default=None, repr=False)

    @cached_property
    def attributes(self) -> Attributes:
        """What expressions of the tree depend on, where control is uniform, what loops carry."""
        assert self.tree is not None, "a recorded program has no tree"
        return attributes(self.tree)

    def at(self, query: Query) -> Unrolled:
        """Return the operations of all processes at the query's p and parameters.

        Raises
        ------
        InvalidPointError
            If the program has no meaning there; the line and the rank are named.
        """
        if self.tree is not None:
            names = {name: query.values[name] for name in self.tree.parameters}
            return unroll(self.tree, query.p, names)
        if self.recorded is None:
            raise InvalidPointError(f"{query.workload.name}: the program has no operations")
        if query.p != self.recorded.size:
            raise InvalidPointError(
                f"{self.recorded.where or query.workload.name}: recorded with "
                f"{self.recorded.size} processes, so it cannot be asked at p={query.p}; "
                f"give -p {self.recorded.size}"
            )
        return self.recorded

    def check(self, query: Query) -> None:
        """Check that every message at the query's point is matched and nobody waits for ever.

        Raises
        ------
        InvalidPointError
            If the program has no meaning there; ranks and lines are named.
        """
        matched(query, pools=True)
