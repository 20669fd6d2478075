"""The load of one node: classes of background jobs, and what they do to a process in the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np

from parcast.errors import ParcastError, UnsupportedError
from parcast.model import Query
from parcast_petri.machine.background import Background, JobClass
from parcast_petri.machine.laws import Law
from parcast_petri.machine.turns import Turns

#: Of a distribution of numbers of jobs, left out; and how many there may be.
_TAIL, _MOST_JOBS = 1e-13, 200_000
#: Relaxation times of a queue that are enough to forget its number of jobs; scv that are taken as
#: no greater.
_RELAXATIONS, _BURSTY = 6.0, 25.0


@attrs.frozen
class Load:
    """Background jobs on a node of some cores, each core used by them so much."""

    cores: int
    utilization: float  #: of each core
    demands: tuple[Law, ...]  #: by class
    shares: tuple[float, ...]  #: of the utilization, by class; they sum to 1
    arrivals: Law = attrs.field(factory=lambda: Law("exp", (1.0,)))  #: of mean 1
    scheduling: Literal["ps", "priority", "rr"] = "ps"
    turns: Turns | None = None  #: of round robin
    memory: float = 0.0  #: of a job's time, in which it moves bytes as a process does

    def rates(self) -> tuple[float, ...]:
        """Return the arrivals per second of each class."""
        used = self.cores * self.utilization
        return tuple(used * s / law.mean for s, law in zip(self.shares, self.demands, strict=True))

    @property
    def second_moment_rate(self) -> float:
        """The sum over classes of rate times the second moment of the demand."""
        return sum(
            rate * law.mean**2 * (1 + law.scv)
            for rate, law in zip(self.rates(), self.demands, strict=True)
        )

    def factor(self, own: int = 1) -> float:
        """Return by how much each of ``own`` busy processes is slowed down in the mean.

        1/(1 - U) for one process on one core (Anglano, eq. 3), under any law of demands. In
        general, with equal shares, E[min(n + m, c)/(n + m)] inverted over the numbers n of jobs
        beside m processes that never stop. Where the background goes first, they have what it
        leaves. Turns take their switches besides, of the process and of the jobs.
        """
        if self.utilization == 0:
            return max(1.0, own / self.cores)
        if self.turns is not None and self.turns.switch:
            whole, used = self._with_switches()
            return whole * attrs.evolve(self, utilization=used, turns=None).factor(own)
        if self.cores == 1:
            return own / (1 - self.utilization)
        if self.scheduling == "priority":
            left = self.jobs(0)
            free = np.maximum(self.cores - np.arange(len(left)), 0)
            return float(1 / (left @ np.minimum(1.0, free / own)))
        jobs = self.jobs(own)
        total = np.arange(len(jobs)) + own
        return float(1 / (jobs @ (np.minimum(total, self.cores) / total)))

    def memory_factor(self, own: int, saturation: float) -> float:
        """Return by how much a process's memory traffic is slowed down in the mean.

        Over the traffic alone at the bandwidth of the node, of which all that move bytes have equal
        shares: ``own`` processes, and of each job on a core the part ``memory``. Who waits for
        memory leaves the cores to the jobs, as in the net.

        Parameters
        ----------
        own
            Processes that move bytes on the node, this one among them.
        saturation
            How many cores draw all of its bandwidth.
        """
        jobs = self.jobs()
        running = np.minimum(np.arange(len(jobs)), self.cores)
        moving = np.maximum(saturation, own + self.memory * running)
        return float(1 / (jobs @ (1 / moving)))

    def _utilization_with_switches(self) -> float:
        """Return the utilization of each core with the switches of its jobs."""
        return self._with_switches()[1] if self.turns and self.turns.switch else self.utilization

    def _with_switches(self) -> tuple[float, float]:
        """Return what a long demand grows to by switches, and the utilization with them."""
        assert self.turns is not None
        quantum, switch = self.turns.quantum, self.turns.switch
        used = self.utilization
        for rate, law in zip(self.rates(), self.demands, strict=True):
            ends, number = quantum * np.arange(4096, dtype=np.float64), 0.0
            while True:  # the mean number of turns is the sum of P(demand > k quanta)
                longer = law.tail(ends)
                number += float(longer.sum())
                if longer[-1] < 1e-6 or ends[-1] > 1e6 * quantum:
                    break
                ends = ends + 4096 * quantum
            used += rate * switch * number / self.cores
        if used >= 1:
            raise UnsupportedError(
                f"background jobs use {used:.3g} of each core with their switches, and leave a "
                "process no time; give longer quanta"
            )
        return 1 + switch / quantum, used

    def jobs(self, own: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the probabilities of 0, 1, 2, ... background jobs beside ``own`` processes.

        They depend on the laws of demands by their means alone (Kelly, Reversibility and
        Stochastic Networks, 1979, section 3.3).
        """
        used, terms, total = self.cores * self._utilization_with_switches(), [1.0], 1.0
        while terms[-1] > _TAIL * total or len(terms) <= self.cores:
            n = len(terms)
            if n > _MOST_JOBS:
                raise UnsupportedError(
                    f"background jobs use {used / self.cores:.9g} of each core, so near to all of "
                    f"it that more than {_MOST_JOBS:,} of them may be there; give less"
                )
            terms.append(terms[-1] * used * (n + own) / (n * min(n + own, self.cores)))
            total += terms[-1]
        weights = np.array(terms)
        normed: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
        return normed

    @property
    def memoryless(self) -> bool:
        """Whether the number of jobs in the steady state is known: arrivals have no memory."""
        return self.arrivals.law == "exp"

    @property
    def warm_up(self) -> float:
        """Seconds after which the number of jobs has forgotten what it was.

        `_RELAXATIONS` times the relaxation of a queue with such bursts: that of M/M/1 is the mean
        demand over (1 - sqrt(U))^2, and in heavy traffic it grows as the sum of both squared
        coefficients of variation (Abate & Whitt, Transient behavior of regulated Brownian motion,
        Advances in Applied Probability 19, 1987).
        """
        used = self.cores * self.utilization
        lasting = self.second_moment_rate / used
        longest = max(law.mean for law in self.demands)
        bursts = 1 + min(max(1.0, self.arrivals.scv), _BURSTY)
        gap = min(1.0, self.cores * (1 - math.sqrt(self.utilization)) ** 2)
        return _RELAXATIONS * min(lasting, _BURSTY * longest) * bursts / 4 / gap

    def spread(self, demand: float) -> float:
        """Return the standard deviation, for long demands, of the time on one core."""
        left = 1 - self.utilization
        return math.sqrt(demand * self.second_moment_rate / left**3)


def load_of(background: Background | None, node: int, cores: int) -> Load | None:
    """Return the load of a node, or None where it has none."""
    used = background.of(node) if background else 0.0
    if background is None or used == 0:
        return None
    classes: Sequence[tuple[float, str]] = [(c.share, c.demand) for c in background.classes]
    classes = classes or [(1.0, background.demand)]
    total = math.fsum(share for share, _ in classes)
    arrivals = Law.read(background.arrivals, "1")
    scheduling: Any = background.scheduling
    turns = None if scheduling in ("ps", "priority") else Turns.read(scheduling)
    return Load(
        cores=cores,
        utilization=used,
        demands=tuple(Law.read(text) for _, text in classes),
        shares=tuple(share / total for share, _ in classes),
        arrivals=arrivals.scaled(1 / arrivals.mean),
        scheduling="rr" if turns else scheduling,
        turns=turns,
        memory=background.memory,
    )


def loads_of(query: Query, nodes: Sequence[int]) -> dict[int, Load]:
    """Return the loads of those of these nodes that have any."""
    background = query.machine.part("background", Background)
    cores = query.machine.nodes.cores
    loads = {node: load_of(background, node, cores) for node in sorted(set(nodes))}
    return {node: load for node, load in loads.items() if load is not None}


def read_load(
    cores: int, utilization: float | None, laws: Sequence[str], arrivals: str, scheduling: str
) -> Load:
    """Return the load that a command line states.

    Parameters
    ----------
    cores
        Of the node.
    utilization
        Of each core; None: what the classes use together.
    laws
        ``LAW``, or ``LAW@UTILIZATION`` for each of several classes.
    arrivals, scheduling
        As in `Background`.

    Raises
    ------
    ParcastError
        If a law is wrong, or the utilizations are missing, contradict each other or reach 1.
    """
    pairs = [text.rpartition("@") if "@" in text else (text, "", "") for text in laws]
    if len(laws) > 1 and not all(share for _, _, share in pairs):
        raise ParcastError(
            f"{len(laws)} classes of background jobs need each its utilization, such as exp:1@0.3"
        )
    try:
        used = [float(share) for _, _, share in pairs if share]
    except ValueError:
        raise ParcastError(
            f"--background {laws}: write LAW@UTILIZATION, such as exp:1@0.3"
        ) from None
    total = math.fsum(used) if used else utilization
    if total is None:
        raise ParcastError("no --utilization is given; say what background jobs use of each core")
    if used and utilization is not None and abs(utilization - total) > 1e-9:
        raise ParcastError(f"--utilization {utilization:g}, but the classes use {total:g} together")
    if not 0 < total < 1:
        raise ParcastError(
            f"--utilization {total:g} must be above 0 and below 1: a process gets what is left"
        )
    classes = tuple(
        JobClass(share=share, demand=text)
        for (text, _, _), share in zip(pairs, used or [1.0], strict=True)
    )
    background = Background(
        utilization=total, classes=classes, arrivals=arrivals, scheduling=scheduling
    )
    load = load_of(background, 0, cores)
    assert load is not None
    return load
