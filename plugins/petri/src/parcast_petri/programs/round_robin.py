"""Round robin: processes and background jobs take turns on the cores of a node.

Who wants a core asks for it in order, keeps it for a quantum or until its work is done, and asks
again behind the others. Each turn may take some time of its own besides.
"""

from __future__ import annotations

import math

import attrs

from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.machine.turns import Turns
from parcast_petri.programs.net_builder import NetBuilder
from parcast_petri.programs.nodes import Renewals, build_arrivals

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


def core_place(builder: NetBuilder, node: int, load: Load) -> str:
    """Return the place with a token for each free core of a node."""
    return builder.place(f"cores {node}", load.cores)


def build_turns(
    builder: NetBuilder,
    name: str,
    waiting: dict[str, int],
    completed: dict[str, int],
    cores: str,
    turns: Turns,
    work: Law | float,
) -> int:
    """Build work that is done in turns; return the moment it is done.

    Parameters
    ----------
    builder
        The net so far.
    name
        Of the work.
    waiting, completed
        Places that a token stands in before, and after.
    cores, turns
        The place of free cores, and how long a turn is.
    work
        Seconds of a core.
    """
    running, free_core = {f"runs {name}": 1}, {cores: 1}
    begins = {f"begins {name}": 1} if turns.switch else running
    builder.transition(f"take core {name}", {**waiting, **free_core}, begins, queue=cores)
    if turns.switch:
        builder.transition(f"switch {name}", begins, running, delay=turns.switch)
    moment = builder.transition(
        f"work {name}", running, {**completed, **free_core}, delay=work, memory="age", priority=1
    )
    builder.transition(f"expire {name}", running, {**waiting, **free_core}, delay=turns.quantum)
    return moment


def build_slots(builder: NetBuilder, node: int, load: Load) -> list[Slots]:
    """Build the background jobs of a node, which come at random and take turns."""
    assert load.turns is not None
    cores, slots_by_class = core_place(builder, node, load), []
    classes = zip(load.rates(), load.demands, load.shares, strict=True)
    for number, (rate, law, share) in enumerate(classes):
        name = f"{node} class {number}"
        come = builder.place(f"came {name}")
        arrivals = build_arrivals(builder, name, load.arrivals.scaled(1 / rate), come)
        slots = []
        for index in range(_room(load)):
            job = f"{name} job {index}"
            free, waiting = builder.place(f"no {job}", 1), f"waits {job}"
            builder.transition(f"admit {job}", {come: 1, free: 1}, {waiting: 1})
            moment = build_turns(builder, job, {waiting: 1}, {free: 1}, cores, load.turns, law)
            slots.append(Slot(free, waiting, moment))
        slots_by_class.append(Slots(node, law, share, come, tuple(slots), arrivals))
    return slots_by_class


def _room(load: Load) -> int:
    used = load.utilization
    return min(_MOST, load.cores + math.ceil(math.log(_BEYOND) / math.log(used)))
