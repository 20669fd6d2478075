"""Constant bursts: everything is deterministic, and one queue has an exact makespan."""

from __future__ import annotations

import attrs


@attrs.frozen
class Rounds:
    """Jobs that start together and go some rounds through a delay and one queue."""

    time: float  #: until the last job ends
    queuing: float  #: mean over jobs of the time at the queue, service included


def rounds(
    jobs: int, delay: float, service: float, count: float, *, shared: bool = False
) -> Rounds:
    """Return the exact makespan of ``jobs`` going ``count`` rounds.

    Where the queue is ``shared``, all who are there are served at once, each at its part of the
    pace: they come together and leave together, in every round. Else first come is first served.
    In the first round all arrive together and the last leaves at ``delay + jobs * service``.
    From then on they are staggered, so that a round takes ``max(delay + service,
    jobs * service)``: the order of the jobs never changes, and a job that comes back finds
    either nobody or all the others before it.
    """
    if shared:
        return Rounds(count * (delay + jobs * service), count * jobs * service)
    if count < 1:
        single = rounds(jobs, delay, service, 1)
        return Rounds(count * single.time, count * single.queuing)
    period = max(delay + service, jobs * service)
    return Rounds(
        delay + jobs * service + (count - 1) * period,
        service * (jobs + 1) / 2 + (count - 1) * (period - delay),
    )
