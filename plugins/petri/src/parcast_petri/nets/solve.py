"""What ``parcast petri solve`` tells about a run of a net."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import attrs

from parcast.quantities import generator
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.deadlock import Ending
from parcast_petri.nets.net import Net, NetError
from parcast_petri.nets.steady_state import (
    LEAST_STEADY,
    MOST_STEADY,
    SteadyState,
    never_ends,
    steady_state,
)
from parcast_petri.nets.token_game import MOST_FIRINGS, MOST_TOKENS, Play, Run

#: A net is played with fractions up to so many firings; longer runs are given again in floats.
MOST_EXACT = 200_000
#: A net that has not ended by then is looked at: it may never end.
SOON = 10_000


@attrs.frozen
class Solution:
    """A run of a net to its completion, and how it ended."""

    net: Net
    run: Run
    ending: Ending
    evaluation: str

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        time = self.run.time
        exact = str(time) if isinstance(time, Fraction | int) else None
        return {
            "net": self.net.name,
            "evaluation": self.evaluation,
            "completion_time": {"exact": exact, "value": float(time)},
            "firings": self.run.firings,
            "fired": {
                transition.name: self.run.fired.get(transition.name, 0)
                for transition in self.net.transitions
            },
            "final_marking": dict(self.run.marking),
            "deadlock": bool(self.ending.blocked),
            "blocked": list(self.ending.blocked),
            "cyclic_wait": [{"transition": t, "waits_for": p} for t, p in self.ending.cycle],
        }

    def report(self) -> str:
        """Return the same for people."""
        time = self.run.time
        exact = f" ({time} exactly)" if isinstance(time, Fraction) and time.denominator > 1 else ""
        marking = ", ".join(f"{place}: {n}" for place, n in self.run.marking.items())
        lines = [
            f"{self.net.name}: {float(time):.10g} s{exact}, {self.run.firings:,} firings",
            f"final marking: {marking or 'empty'}",
        ]
        return "\n".join([*lines, *filter(None, [self.ending.sentence()])])


def solution(
    net: Net,
    *,
    evaluation: Literal["batch", "sequential"] = "batch",
    bound: int = MOST_TOKENS,
    firings: int = MOST_FIRINGS,
    seed: int = 0,
) -> Solution | SteadyState:
    """Play a net until nothing is enabled: with fractions, or with floats where delays are drawn.

    Runs of more than `MOST_EXACT` firings are played with floats too, which the answer says by
    having no exact time. Of a net that never ends it is the long run, see `steady_state`.

    Raises
    ------
    NetError
        If the net has no end within the bound and the firings.
    """
    exact = not net.random
    shape: Any = {"evaluation": evaluation, "bound": bound}
    play = Play(kernel_arrays(net, "exact" if exact else "plain", **shape), generator(seed, 0))
    run = _finished(play, min(SOON, MOST_EXACT), firings)
    if run is None and firings >= LEAST_STEADY and never_ends(net):
        long_run = steady_state(
            kernel_arrays(net, "compiled", **shape), seed, min(firings, MOST_STEADY)
        )
        if long_run is not None:
            return long_run
    if run is None and exact:
        run = _finished(play, MOST_EXACT, firings)
    if run is None:
        net_arrays = kernel_arrays(net, "compiled", **shape)
        run = Play(net_arrays, generator(seed, 0), firings).finish()
    return Solution(net, run, Ending(net, run.marking), evaluation)


def _finished(play: Play, soon: int, firings: int) -> Run | None:
    """Return a run that goes on and ends after so many firings in all; None where it does not."""
    play.most_firings = min(soon, firings)
    try:
        return play.finish()
    except NetError:
        if play.firings < soon or firings <= soon:
            raise
    return None
