"""The names of algorithms, and which one a machine names for each collective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from parcast.errors import FileError, did_you_mean, shorten
from parcast.model.messages import IN_NETWORK
from parcast.program.matching.collectives.handling import Handling
from parcast.program.matching.collectives.libraries import LIBRARIES
from parcast.program.unroll.blocks import Ranks

_ROOTED = ("binomial", "linear")
_TREES = ("bmtree", "knomial", "binary", "chain")
_OPEN_ALLTOALL = ("linear", "scattered")

HIERARCHICAL = "hierarchical"

#: The algorithms of every collective; the first is used unless another is named.
ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "barrier": (
        *("dissemination", "recursive-doubling", "tree", "linear", "linear-nb"),
        *(IN_NETWORK, HIERARCHICAL),
    ),
    "bcast": (
        *(*_ROOTED, *_TREES, "split-binary"),
        *("scatter-allgather", "scatter-ring-allgather", IN_NETWORK, HIERARCHICAL),
    ),
    "reduce": (
        *(*_ROOTED, "linear-nb", "binary", "in-order-binary", "chain"),
        *("rabenseifner", IN_NETWORK, HIERARCHICAL),
    ),
    "gather": (*_ROOTED, "linear-sync", "linear-nb", HIERARCHICAL),
    "scatter": (*_ROOTED, "linear-nb", HIERARCHICAL),
    "allreduce": (
        *("dissemination", "ring", "tree", "recursive-doubling", "rabenseifner"),
        *("linear", "reduce-bcast", IN_NETWORK, HIERARCHICAL),
    ),
    "allgather": (
        *("dissemination", "ring", "bruck", "recursive-doubling", "neighbor"),
        *("linear", "gather-bcast", HIERARCHICAL),
    ),
    "alltoall": ("bruck", "pairwise", "modified-bruck", "pairwise-exchange", *_OPEN_ALLTOALL),
    "reduce_scatter": (
        *("bruck", "pairwise", "ring", "recursive-halving", "butterfly"),
        "reduce-scatterv",
    ),
    "scan": ("dissemination", "linear", "recursive-doubling"),
    "gatherv": ("linear", "linear-nb"),
    "scatterv": ("linear", "linear-nb"),
    "allgatherv": (
        *("dissemination", "ring", "bruck", "recursive-doubling", "neighbor"),
        *("linear", "gather-bcast"),
    ),
    "alltoallv": ("pairwise", *_OPEN_ALLTOALL),
}


@attrs.frozen(eq=False)
class Algorithms(Mapping[str, str]):
    """The algorithm of every collective: its name, or that of the library that chooses it.

    ``hierarchical ring`` is the hierarchical one with ``ring`` between the leaders.
    """

    names: Mapping[str, str]
    #: of each rank the instance of each level that it is in, the nearest first
    levels: tuple[Ranks, ...] = ()
    nodes: Ranks | None = None  #: of each rank; None: a node each
    #: how many access a shared file for all processes; None: each for itself
    aggregators: int | None = None
    handling: Handling = Handling()

    def __getitem__(self, op: str) -> str:
        return self.names[op]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def placed(self) -> bool:
        """Whether some of them depend on where processes are."""
        return self.in_network or any(
            name in LIBRARIES or HIERARCHICAL in name for name in self.names.values()
        )

    @property
    def in_network(self) -> bool:
        """Whether switches do some of them."""
        return any(IN_NETWORK in name for name in self.names.values())


def algorithms(text: str | None = None) -> Algorithms:
    """Return the algorithm of every collective, as ``allreduce ring, alltoall pairwise`` says.

    ``mpich``, ``openmpi`` and ``nccl`` stand for the rules of that library, for all collectives
    that the text does not name another algorithm of.

    Raises
    ------
    FileError
        If a collective or its algorithm is not known.
    """
    stated = [part.strip().partition(" ") for part in (text or "").split(",") if part.strip()]
    chosen = {op: names[0] for op, names in ALGORITHMS.items()}
    for word, _, name in stated:
        if word in LIBRARIES and not name:
            chosen = dict.fromkeys(ALGORITHMS, word)
    between = dict(chosen)
    for op, _, name in stated:
        if op not in LIBRARIES or name:
            chosen[op] = _named(op, " ".join(name.split()), between)
    return Algorithms(chosen)


def _named(op: str, name: str, between: Mapping[str, str]) -> str:
    if op not in ALGORITHMS:
        hint = did_you_mean(op, [*ALGORITHMS, *LIBRARIES]) or f" Known: {', '.join(ALGORITHMS)}."
        raise FileError(f"network.collectives: there is no collective {shorten(op)!r}.{hint}")
    hierarchical, _, inner = name.partition(" ")
    if hierarchical == HIERARCHICAL and HIERARCHICAL in ALGORITHMS[op]:
        options = ["linear"] if op in ("gather", "scatter") else [*ALGORITHMS[op][:-1], *LIBRARIES]
        inner = inner or (options[0] if len(options) == 1 else between[op])
        _known(f"{op} {HIERARCHICAL}", inner, options)
        return f"{HIERARCHICAL} {inner}"
    _known(op, name, [*ALGORITHMS[op], *LIBRARIES])
    return name


def _known(op: str, name: str, options: list[str]) -> None:
    if name not in options:
        hint = did_you_mean(name, options) or f" Known: {', '.join(options)}."
        raise FileError(f"network.collectives: {op} has no algorithm {shorten(name)!r}.{hint}")


#: Of machines that name none.
UNNAMED = algorithms()
