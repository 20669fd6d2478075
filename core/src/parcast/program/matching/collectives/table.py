"""The messages of each algorithm by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from parcast.program.matching.collectives import composed, halving, posting, shifts, trees
from parcast.program.matching.collectives.groups import Groups, Step


@attrs.frozen(eq=False)
class Call:
    """A collective that groups call; bytes and root are numbers, or columns over the lanes."""

    op: str
    among: Groups
    amount: Any
    root: Any

    def rounds(self, algorithm: str) -> Iterator[Step]:
        """Yield the rounds of an algorithm in which all send equally far."""
        return shifts.rounds(self.op, algorithm, self.among, self.amount)

    def there_and_back(
        self, kind: Callable[[str, Groups, Any, Any], Iterator[Step]]
    ) -> Iterator[Step]:
        """Yield a reduce to position 0 and a bcast from there."""
        yield from kind("reduce", self.among, self.amount, 0)
        yield from kind("bcast", self.among, self.amount, 0)

    def rabenseifner(self) -> Iterator[Step]:
        """Yield an allreduce or a reduce."""
        if self.op == "allreduce":
            return halving.rabenseifner(self.among, self.amount)
        return halving.rabenseifner_reduce(self.among, self.amount, self.root)

    def gathered(self, algorithm: str) -> Iterator[Step]:
        """Yield an allgatherv."""
        if not isinstance(self.amount, np.ndarray):
            return OF_ANY_SIZES[algorithm](self)
        if algorithm == "ring":
            return shifts.gather_ring(self.among, self.amount)
        return shifts.gather_rounds(self.among, self.amount)

    def spread(self, *, doubling: bool) -> Iterator[Step]:
        """Yield a bcast by a scatter and an allgather."""
        return composed.scatter_allgather(self.among, self.amount, self.root, doubling=doubling)


#: Of groups of any sizes, by the name of an algorithm, or by collective and name where a
#: collective has another algorithm of that name.
OF_ANY_SIZES: Mapping[Any, Callable[[Call], Iterator[Step]]] = {
    "binomial": lambda call: trees.binomial(call.op, call.among, call.amount, call.root),
    "tree": lambda call: call.there_and_back(trees.binomial),
    "linear": lambda call: trees.star(call.op, call.among, call.amount, call.root),
    "linear-sync": lambda call: trees.asked_in_turn(call.among, call.amount, call.root),
    "linear-nb": lambda call: trees.star_at_once(call.op, call.among, call.amount, call.root),
    "ring": lambda call: shifts.ring(call.op, call.among, call.amount),
    "dissemination": lambda call: call.rounds("dissemination"),
    "pairwise": lambda call: call.rounds("pairwise"),
    "bruck": lambda call: call.rounds("bruck"),
    ("scan", "linear"): lambda call: trees.ranks_in_turn(call.among, call.amount),
    ("barrier", "linear"): lambda call: call.there_and_back(trees.star),
    ("barrier", "linear-nb"): lambda call: call.there_and_back(trees.star_at_once),
    ("allreduce", "linear"): lambda call: call.there_and_back(trees.star),
    ("allgather", "bruck"): lambda call: shifts.bruck(call.among, call.amount),
    ("allgatherv", "bruck"): lambda call: shifts.bruck(call.among, call.amount),
    ("allgatherv", "ring"): lambda call: call.gathered("ring"),
    ("allgatherv", "dissemination"): lambda call: call.gathered("dissemination"),
}

#: Of groups of one size, that bring the same bytes but for collectives of unlike ones.
OF_ONE_SIZE: Mapping[str, Callable[[Call], Iterator[Step]]] = {
    "linear": lambda call: posting.all_posted(call.among, call.amount),
    "scattered": lambda call: posting.all_posted(call.among, call.amount, posting.THROTTLE),
    "modified-bruck": lambda call: shifts.modified_bruck(call.among, call.amount),
    "pairwise-exchange": lambda call: shifts.pairwise_exchange(call.among, call.amount),
    "neighbor": lambda call: shifts.neighbor(call.among, call.amount),
    "recursive-doubling": lambda call: halving.recursive_doubling(call.op, call.among, call.amount),
    "rabenseifner": Call.rabenseifner,
    "recursive-halving": lambda call: halving.recursive_halving(call.among, call.amount),
    "butterfly": lambda call: halving.butterfly(call.among, call.amount),
    "split-binary": lambda call: trees.split_binary(call.among, call.amount, call.root),
    "scatter-allgather": lambda call: call.spread(doubling=True),
    "scatter-ring-allgather": lambda call: call.spread(doubling=False),
}
