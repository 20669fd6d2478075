"""Allreduces as messages: which algorithms a library takes, and what their messages cost.

A library takes another algorithm at another size and number of processes, so times at more nodes
are no continuation of those at fewer. Whichever rules of a library explain what was measured say
how many messages and bytes an algorithm has one after another, and these costs are fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from importlib.resources import as_file, files
from itertools import product
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.matching import LIBRARIES
from parcast_machines_from.records import Series

if TYPE_CHECKING:
    from parcast import Registry

Rules = Callable[[int, float], str]  #: from processes and bytes to an algorithm

#: The largest median error, in logarithms, of times that are explained by messages.
CLOSE = 0.12

#: Errors beyond this count less and less: single sizes are off on many systems.
_USUAL_ERROR = 0.1

#: With more processes it takes minutes to count messages.
_MOST_PROCESSES = 1 << 14

#: Where times leave costs open: a message within a node over one between nodes, and a byte through
#: a port over one that is copied and summed. Of fits to two numbers of nodes of five public systems
#: the first are 0.1 to 1, and the second 0.03 to 0.25.
_USUAL_RATIOS = (0.2, 0.2)

_ELEMENT = 8  #: bytes that rules count by; benchmarks sum floats, of half as many


class Counts:
    """How often each cost of a message is paid one after another by the mean process.

    Counted are messages between nodes and within one, bytes through the port of a node, which its
    processes share, and bytes between nodes and within one, each by itself. OSU's benchmarks state
    the mean of all processes.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._counted: dict[tuple[str, int, int], NDArray[np.float64]] = {}

    def of(self, algorithm: str, nodes: int, per_node: int) -> NDArray[np.float64]:
        """Return the counts, those of bytes for each byte of the sum."""
        key = (algorithm, nodes, per_node)
        if key not in self._counted:
            startup, byte = {"startup": 1.0}, {"bandwidth": 1.0}
            port = {**byte, "port_bandwidth": 1.0, "contention": "fair"}
            free: dict[str, Any] = {}
            paid = ((startup, free), (free, startup), (port, free), (byte, free), (free, byte))
            self._counted[key] = np.array([self._paid(key, *where) for where in paid])
        return self._counted[key]

    def _paid(
        self, key: tuple[str, int, int], network: dict[str, Any], level: dict[str, Any]
    ) -> float:
        """Return the seconds of the mean process where nothing else costs any."""
        algorithm, nodes, per_node = key
        free = {"startup": 0.0, "bandwidth": 1e18}
        node = {"name": "node", "size": per_node, **free, **level}
        ways = {"contention": "none", "collectives": f"allreduce {algorithm}", "levels": [node]}
        machine = self._registry.machine(
            {
                "name": "counting",
                "nodes": {"count": nodes, "cores": per_node},
                "network": {**free, **ways, **network},
            }
        )
        amount = 1.0 if "startup" in (network or level) else float(_ELEMENT * nodes * per_node)
        source = files("parcast_machines_from") / "programs" / "allreduce.py"
        with as_file(source) as path:
            rows = self._registry.compare(
                str(path), machine, p=nodes * per_node, solvers="emulator.tc",
                settings={"steps": 1, "n": amount}, elasticities=False,
            ).rows  # fmt: skip
        return float(rows[0].details.get("mean_end", np.nan)) / amount


@attrs.frozen(eq=False)
class Explained:
    """How times of an allreduce are made of messages."""

    library: str  #: or what is like one
    rules: Rules
    counts: Counts
    per_node: int  #: processes
    costs: NDArray[np.float64]  #: seconds of each of the counts
    error: float  #: median of the logarithms' errors, without their signs

    def time(self, nodes: int, size: float) -> float:
        """Return the seconds of a sum of so many bytes."""
        return float(_row(self.counts, self.rules, nodes, self.per_node, size) @ self.costs)

    def steps(self, sizes: Iterable[float], nodes: int, ahead: int) -> dict[float, float]:
        """Return by how much the logarithm of each size's time rises with a doubling of nodes."""
        doublings = math.log2(ahead / nodes)
        return {
            size: math.log(self.time(ahead, size) / self.time(nodes, size)) / doublings
            for size in sizes
        }


@attrs.frozen(eq=False)
class _Fit:
    """Counts of each measured time, whose costs are fitted by logarithms, so that all are above 0.

    Four costs are: what a message between nodes takes longer than one within, each message, a byte
    through a port, and a byte of any message, which is copied and summed.
    """

    counts: NDArray[np.float64]
    times: NDArray[np.float64]

    @cached_property
    def _columns(self) -> NDArray[np.float64]:
        between, within, port, far, near = self.counts.T
        return np.array([between, between + within, port, far + near]).T

    @cached_property
    def _scales(self) -> NDArray[np.float64]:
        """What each cost were if it alone made up a usual time; not a number if none is paid."""
        alone = np.full_like(self._columns, np.nan)
        np.divide(self.times[:, None], self._columns, out=alone, where=self._columns > 0)
        return np.asarray(np.nanmedian(alone, axis=0))

    def _errors(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(
            np.log(self._columns @ self._costs(logarithms)) - np.log(self.times), dtype=float
        )

    def _costs(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(logarithms) * self._scales

    def _penalties(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the errors, and how far ratios of costs are from usual ones."""
        beyond, message, port, copied = self._costs(logarithms)
        ratios = np.array([message / (beyond + message), port / copied]) / _USUAL_RATIOS
        return np.append(self._errors(logarithms), _USUAL_ERROR * np.log(ratios))

    def best(self) -> tuple[float, NDArray[np.float64], float]:
        """Return the penalty of the best fit, what each count costs, and the median error."""
        from scipy.optimize import least_squares

        fits = [
            least_squares(
                self._penalties, start, loss="cauchy", f_scale=_USUAL_ERROR, bounds=(-12.0, 6.0)
            )
            for start in product((-4.0, 0.0), repeat=len(self._scales))
        ]
        fit = min(fits, key=lambda item: item.cost)
        beyond, message, port, copied = self._costs(fit.x)
        error = float(np.median(np.abs(self._errors(fit.x))))
        return float(fit.cost), np.array([beyond + message, message, port, copied, copied]), error


def explained(counts: Counts, series: Sequence[Series]) -> Explained | None:
    """Return what allreduces on several numbers of nodes are made of; None if not of messages.

    Parameters
    ----------
    counts
        Of messages, kept from one call to the next.
    series
        Allreduces on the same system, each with its nodes and processes.
    """
    ratios = {(item.processes or 0) / (item.nodes or 1) for item in series}
    per_node = int(next(iter(ratios), 0))
    most = max(item.processes or 0 for item in series)
    if ratios != {per_node} or per_node < 2 or {item.nodes for item in series} == {1}:
        return None
    if most > _MOST_PROCESSES:
        return None
    values = [(item.nodes or 0, value) for item in series for value in item.values]
    times = np.array([value.value for _, value in values])
    fits = []
    for library, rules in _rules(value.size for _, value in values):
        rows = [_row(counts, rules, nodes, per_node, value.size) for nodes, value in values]
        cost, costs, error = _Fit(np.array(rows), times).best()
        fits.append((cost, Explained(library, rules, counts, per_node, costs, error)))
    _, best = min(fits, key=lambda pair: pair[0])
    return best if best.error <= CLOSE else None


def _rules(sizes: Iterable[float]) -> Iterator[tuple[str, Rules]]:
    """Yield the rules that are tried: those of Open MPI, and one change at any measured size."""
    yield "Open MPI", partial(LIBRARIES["openmpi"].algorithm, "allreduce")
    for least in sorted(set(sizes)):
        yield f"one change at {least:.0f} B", partial(_one_change, least)


def _one_change(least: float, _processes: int, size: float) -> str:
    return "rabenseifner" if size >= least else "recursive-doubling"


def _row(
    counts: Counts, rules: Rules, nodes: int, per_node: int, size: float
) -> NDArray[np.float64]:
    """Return the counts of a sum, those of bytes times its bytes."""
    processes = nodes * per_node
    whole = _ELEMENT << (processes.bit_length() - 1)  # rules ask for an element for each process
    algorithm = rules(processes, float(whole) if size < whole <= 2 * size else size)
    return counts.of(algorithm, nodes, per_node) * [1.0, 1.0, size, size, size]
