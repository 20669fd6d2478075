"""Round robin: processes and background jobs take turns on the cores of a node.

Who wants a core asks for it in order, keeps it for a quantum or until its work is done, and asks
again behind the others. Each turn may take some time of its own besides.
"""

from __future__ import annotations

import math

import attrs

from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load, Turns
from parcast_petri.programs.net_builder import Sketch
from parcast_petri.programs.nodes import Renewals, draw_arrivals

#: Background jobs are in the turns up to a number that is exceeded with this probability; the
#: others wait before them, so that no work is lost.
_BEYOND, _MOST = 1e-9, 200


@attrs.frozen
class Slot:
    """A place in the turns for one background job at a time."""

    free: str
    waiting: str
    work: int  #: the transition that does the job


@attrs.frozen
class Slots:
    """The places in the turns for the jobs of one class on a node."""

    node: int
    law: Law
    share: float  #: of the jobs' work
    come: str  #: the place before them
    slots: tuple[Slot, ...]
    arrivals: Renewals | None = None  #: of its jobs


def core(sketch: Sketch, node: int, load: Load) -> str:
    """Return the place with a token for each free core of a node."""
    return sketch.place(f"cores {node}", load.cores)


def draw_turns(
    sketch: Sketch,
    name: str,
    waiting: dict[str, int],
    done: dict[str, int],
    cores: str,
    turns: Turns,
    work: Law | float,
) -> int:
    """Draw work that is done in turns; return the moment it is done.

    Parameters
    ----------
    sketch
        The net so far.
    name
        Of the work.
    waiting, done
        Places that a token stands in before, and after.
    cores, turns
        The place of free cores, and how long a turn is.
    work
        Seconds of a core.
    """
    running, taken = {f"runs {name}": 1}, {cores: 1}
    begun = {f"begins {name}": 1} if turns.switch else running
    sketch.transition(f"take core {name}", {**waiting, **taken}, begun, queue=cores)
    if turns.switch:
        sketch.transition(f"switch {name}", begun, running, delay=turns.switch)
    moment = sketch.transition(
        f"work {name}", running, {**done, **taken}, delay=work, memory="age", priority=1
    )
    sketch.transition(f"expire {name}", running, {**waiting, **taken}, delay=turns.quantum)
    return moment


def draw_slots(sketch: Sketch, node: int, load: Load) -> list[Slots]:
    """Draw the background jobs of a node, which come at random and take turns."""
    assert load.turns is not None
    cores, found = core(sketch, node, load), []
    classes = zip(load.rates(), load.demands, load.shares, strict=True)
    for number, (rate, law, share) in enumerate(classes):
        name = f"{node} class {number}"
        come = sketch.place(f"came {name}")
        arrivals = draw_arrivals(sketch, name, load.arrivals.scaled(1 / rate), come)
        slots = []
        for at in range(_room(load)):
            job = f"{name} job {at}"
            free, waiting = sketch.place(f"no {job}", 1), f"waits {job}"
            sketch.transition(f"admit {job}", {come: 1, free: 1}, {waiting: 1})
            moment = draw_turns(sketch, job, {waiting: 1}, {free: 1}, cores, load.turns, law)
            slots.append(Slot(free, waiting, moment))
        found.append(Slots(node, law, share, come, tuple(slots), arrivals))
    return found


def _room(load: Load) -> int:
    used = load.utilization
    return min(_MOST, load.cores + math.ceil(math.log(_BEYOND) / math.log(used)))
