"""``spmd.line``: asynchronous phases, their networks solved by LINE where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parcast import Query, UnsupportedError
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.phase_answer import Answer, answer
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station
from parcast_spmd.mva.line import missing, solve_line
from parcast_spmd.options import Options
from parcast_spmd.solvers.aio import assumptions
from parcast_spmd.solvers.phases import STEADY, PhaseModel, PhaseSolver


class Line(PhaseSolver):
    """Takes what ``spmd.bus`` and ``spmd.clu`` take, processes alike."""

    def missing(self) -> str | None:
        """Return None, or what is to be installed first."""
        return missing()

    def supports(self, query: Query) -> str | None:
        """Return None, or what is missing or cannot be expressed."""
        return missing() or super().supports(query)


def line() -> Line:
    """Return the solver of asynchronous phases by LINE."""
    model = PhaseModel(assumptions, _solve, _notes)
    return Line({"bus": model, "clu": model}, Options)


def _solve(phases: Sequence[Demands]) -> list[Answer]:
    return [_answer(phase) for phase in phases]


def _answer(phase: Demands) -> Answer:
    if phase.uneven is not None:
        raise UnsupportedError("spmd.line takes processes that are alike; these differ")
    network = network_of(phase)
    solution = solve_line(network)
    times = {name: row[0] for name, row in solution.response.items()}
    return answer(phase, "line", queuing=times["network"], io=times["disk 0"])


def network_of(phase: Demands) -> ClosedNetwork:
    """Return the network of a phase (the paper's figures 7 and 8), groups of a disk a class."""
    clusters = range(1 if phase.model == "bus" else phase.disks)
    n = phase.bursts
    return ClosedNetwork(
        stations=(
            Station(name="computing", type="delay", demand=[n * phase.delay for _ in clusters]),
            Station(name="network", type="queue", demand=[n * phase.shared for _ in clusters]),
            *(
                Station(
                    name=f"disk {disk}",
                    type="queue",
                    demand=[phase.io if disk == of else 0.0 for of in clusters],
                )
                for disk in clusters
            ),
        ),
        classes=tuple(JobClass(name=f"of {of}", population=phase.sharing) for of in clusters),
    )


def _notes(phase: Demands, result: Answer) -> Iterator[str]:  # noqa: ARG001  (as models have it)
    if phase.groups > 1:
        yield STEADY
