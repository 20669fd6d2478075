"""``perturb.simulated``: calls and messages played on the machine's network, draw after draw.

Noise and what messages share act together: a message that noise makes late meets others on its
links, at its port or on the bus, as ``docs/program.md`` says.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from parcast import Assumption, Parts, Prediction, Query, UnsupportedError
from parcast_perturb.parts import Travel, parts_of
from parcast_perturb.playing.running import Played, played
from parcast_perturb.solvers.question import Question, question_of, refusal
from parcast_traces.trace.columns import END
from parcast_traces.workload import Traced

#: Seconds for an answer, and for a call by the compiled kernels: on one core of a server of 2023.
_ANSWER, _CALL, _CALL_OVER_LINKS = 1e-3, 3e-7, 1e-6


class Simulated:
    """Plays a program on the network of its machine."""

    def cost(self, query: Query) -> float:
        """Return the seconds of playing all calls, as often as noise is drawn."""
        noisy = "noise" in query.machine.parts
        replications = getattr(query.options, "replications", 100) if noisy else 1
        shared = query.machine.network.contention == "fair"
        calls = query.workload.content.trace.count * replications
        return float(_ANSWER + (_CALL_OVER_LINKS if shared else _CALL) * calls)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the trace cannot be played on the machine."""
        return refusal(query, _check)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what playing assumes."""
        yield Assumption("messages are matched, and disks waited for, as without noise")
        if "noise" in query.machine.parts:
            yield Assumption("noise is drawn for each call and gap by itself")

    def solve(self, query: Query) -> Prediction:
        """Return the time of all draws; of one without noise also its parts."""
        question = question_of(query)
        runs = played(
            question.content, question.change, question.recorded,
            question.replications, question.seed,
        )  # fmt: skip
        if question.noisy:
            times = np.array([run.time for run in runs])
            return question.of_times(times)
        run = next(iter(runs))
        prediction = question.of_times(np.array([run.time]))
        if run.calls.by_message:
            return prediction
        return attrs.evolve(prediction, parts=_parts(question, run))


def _parts(question: Question, run: Played) -> Parts:
    trace = question.trace
    travel = Travel(np.zeros(trace.count), np.zeros(trace.count))
    rows = np.flatnonzero(run.calls.sends >= 0)
    travel.flight[rows], travel.arrival[rows] = run.flight, run.arrival
    return parts_of(question.content, run.ends - trace.events.times[:, END], travel)


def _check(query: Query) -> None:
    content: Traced = query.workload.content
    if content.added is None:
        raise UnsupportedError(
            f"{content.trace.where}: a recorded run is moved from machine to machine by what they "
            "differ by, and not played; ask perturb.clocked, perturb.upper or perturb.lower"
        )
    if content.unshared and content.fetching is not None:
        raise UnsupportedError(
            f"tasks of a pool without a master are fetched over what other messages share on "
            f"machine {query.machine.name!r}, which is not played; ask perturb.lower or emulator.tc"
        )
