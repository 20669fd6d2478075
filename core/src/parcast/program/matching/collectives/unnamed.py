"""What machines that name no algorithms of collectives pay for that of short messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs
import numpy as np

from parcast.model.machine import Network
from parcast.program.matching.collectives.names import UNNAMED
from parcast.program.unroll.blocks import Block, Unrolled

#: From so many bytes on messages are long where the network's bandwidth is not one number.
_LONG = 2**16

#: What carries less than this many times the bytes of another is as good.
_WORTH_A_NOTE = 1.2


@attrs.frozen
class _Cost:
    """The rounds of an algorithm, and the bytes that a process sends for each byte of the call."""

    rounds: Callable[[int], float]
    carried: Callable[[int], float]


def _doublings(size: int) -> int:
    """Return log2 of the size, rounded up."""
    return (size - 1).bit_length()


_BLOCKS = (
    _Cost(_doublings, lambda p: _doublings(p) * p / 2),
    "pairwise",
    _Cost(lambda p: p - 1, lambda p: p - 1),
)

_HALVES = _Cost(lambda p: 2 * _doublings(p), lambda p: 2 * (p - 1) / p)

#: The default of a collective, and what MPI libraries take for long messages (docs/program.md).
_LONGER: Mapping[str, tuple[_Cost, str, _Cost]] = {
    "alltoall": _BLOCKS,
    "reduce_scatter": _BLOCKS,
    "allreduce": (_Cost(_doublings, _doublings), "rabenseifner", _HALVES),
    "reduce": (_Cost(_doublings, _doublings), "rabenseifner", _HALVES),
    "bcast": (_Cost(_doublings, _doublings), "scatter-allgather", _HALVES),
}


def slower_than_libraries(native: Unrolled, network: Network) -> Iterator[str]:
    """Yield a note on each collective whose default algorithm carries more than libraries' do.

    Parameters
    ----------
    native
        A program with its collectives as calls.
    network
        The machine's, which names no algorithms.
    """
    worst: dict[str, tuple[float, float]] = {}  # how many times the bytes, and of how many
    for block in native.blocks:
        if block.op in _LONGER:
            size, bytes_ = _group(block, native.size), float(np.max(block.arguments["bytes"]))
            times = _times_the_bytes(block.op, size, bytes_, network)
            worst[block.op] = max(worst.get(block.op, (0.0, 0.0)), (times, bytes_))
    for op, (times, bytes_) in worst.items():
        if times >= _WORTH_A_NOTE:
            yield (
                f"{op} of {bytes_:,.0f} bytes goes by {UNNAMED[op]}, since the machine's "
                f"network.collectives names no algorithm: {times:.2g} times the bytes of "
                f"{_LONGER[op][1]}, by which MPI libraries send as many (time too long)"
            )


def _group(block: Block, size: int) -> int:
    """Return the processes of the largest group."""
    color = block.arguments.get("color")
    if isinstance(color, np.ndarray):
        return int(np.unique(color, return_counts=True)[1].max())
    return size if block.ranks is None else len(block.ranks)


def _times_the_bytes(op: str, size: int, bytes_: float, network: Network) -> float:
    """Return how many times the bytes the default carries; 0 where it is the quicker one."""
    default, _, longer = _LONGER[op]
    if size < 3:
        return 0.0
    rounds = longer.rounds(size) - default.rounds(size)
    saved = (default.carried(size) - longer.carried(size)) * bytes_
    if network.bandwidth is None:
        quicker = bytes_ >= _LONG
    else:
        per_round = (network.startup or 0.0) + 2 * network.overhead
        quicker = saved / network.bandwidth > rounds * per_round
    return default.carried(size) / longer.carried(size) if quicker else 0.0
