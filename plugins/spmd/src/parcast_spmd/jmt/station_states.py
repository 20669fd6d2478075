"""Stations of JSIM models that are followed as states: their service, order and room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number
from parcast_spmd.jmt.nodes import Ranked, check_names, room_of, servers_of, service_of
from parcast_spmd.jmt.service import by_class, last
from parcast_spmd.mixed.times import Phases, Time
from parcast_spmd.states.model import Order, Service, Share

_SHARES: Mapping[str, Share] = {
    "EPSStrategy": "equal", "DPSStrategy": "by job", "GPSStrategy": "by class",
}  # fmt: skip
_ORDERS: Mapping[str, Order] = {
    "TailStrategy": "tail", "HeadStrategy": "head", "RandStrategy": "random",
    "SEPTStrategy": "tail", "LEPTStrategy": "tail",
}  # fmt: skip


def station_service(
    sections: Mapping[str, Element], jobs: Sequence[Ranked], position: str
) -> Service:
    """Return how a station serves its classes.

    Raises
    ------
    FileError
        If its states are not followed; ``position`` starts the sentence.
    """
    queue = sections["Queue"]
    (kind,) = (name for name in ("Delay", "Server", "PSServer") if name in sections)
    section = sections[kind]
    check_names(queue, position)
    check_names(section, position)
    _check_extras(queue, section, position)
    times = service_of(section, jobs, position)
    size = room_of(queue, position)
    inside = sum(job.population for job in jobs)
    if size is not None and inside <= size and all(job.closed for job in jobs):
        size = None
    served = [r for r, time in enumerate(times) if time is not None]
    order, ranks = _order(queue, jobs, times, served, position)
    share, weights = _share(section, jobs, served, position)
    servers = 1 if kind == "Delay" else servers_of(section, position)
    if share != "equal" and servers > 1:
        raise FileError(f"{position}: weights of classes at {servers} servers are not followed.")
    return Service(
        kind="delay" if kind == "Delay" else "turns" if kind == "Server" else "shared",
        servers=servers,
        times=tuple(
            _phases(time, f"{position}: service of {job.name!r}")
            for time, job in zip(times, jobs, strict=True)
        ),
        means=tuple(0.0 if time is None else time.mean for time in times),
        order=order,
        ranks=ranks,
        share=share,
        weights=weights,
        size=size,
        full=() if size is None else tuple(_full(queue, jobs, served, size, position)),
    )


def _phases(time: Time | None, position: str) -> Phases | Literal[0] | None:
    if time is None:
        return None
    if not time.mean:
        return 0
    if time.phases is None:
        raise FileError(f"{position} is no sequence of exponential phases.")
    return time.phases


def _full(
    queue: Element, jobs: Sequence[Ranked], served: Sequence[int], size: int, position: str
) -> Iterator[Literal["lost", "blocks"]]:
    drops = queue.find("parameter[@name='dropStrategies']")
    rules = {} if drops is None else by_class(drops)
    for r, job in enumerate(jobs):
        rule = "drop"
        if job.name in rules:
            rule = rules[job.name].findtext("value", "").strip()
        if r in served and rule not in {"drop", "BAS blocking"}:
            raise FileError(
                f"{position} has room for {size} jobs and the rule {rule!r}; known are 'drop' "
                "and 'BAS blocking'."
            )
        yield "lost" if rule == "drop" else "blocks"


def _order(
    queue: Element,
    jobs: Sequence[Ranked],
    times: Sequence[Time | None],
    served: Sequence[int],
    position: str,
) -> tuple[Order, tuple[float, ...]]:
    parameter = queue.find("parameter[@name='QueuePutStrategy']")
    entries = {} if parameter is None else by_class(parameter)
    kinds = {
        last(entries[jobs[r].name].get("classPath")) for r in served if jobs[r].name in entries
    } or {"TailStrategy"}
    if len(kinds) > 1 or (kind := kinds.pop()).removesuffix("Priority") not in _ORDERS:
        raise FileError(
            f"{position}: QueuePutStrategy is {', '.join(sorted(kinds)) or kind}; known are "
            f"{', '.join(_ORDERS)}, one for all classes."
        )
    plain = kind.removesuffix("Priority")
    sign = {"SEPTStrategy": 1.0, "LEPTStrategy": -1.0}.get(plain, 0.0)
    if sign and kind != plain:
        raise FileError(f"{position}: {kind} is not followed; leave the priorities out.")
    ranks = [
        sign * (0.0 if time is None else time.mean) - job.priority * (kind != plain)
        for time, job in zip(times, jobs, strict=True)
    ]
    return _ORDERS[plain], tuple(ranks)


def _share(
    section: Element, jobs: Sequence[Ranked], served: Sequence[int], position: str
) -> tuple[Share, tuple[float, ...]]:
    parameter = section.find("parameter[@name='PSStrategy']")
    entries = {} if parameter is None else by_class(parameter)
    names = [jobs[r].name for r in served]
    kinds = {last(entries[name].get("classPath")) for name in names if name in entries}
    kinds = kinds or {"EPSStrategy"}
    if len(kinds) > 1 or (kind := kinds.pop()) not in _SHARES:
        raise FileError(
            f"{position}: PSStrategy is {', '.join(sorted(kinds)) or kind}; known are "
            f"{', '.join(_SHARES)}, one for all classes."
        )
    stated = section.find("parameter[@name='serviceWeights']")
    weights = {} if stated is None else by_class(stated)
    result = tuple(
        number(weights[job.name].findtext("value"), f"{position}: weight of {job.name!r}")
        if job.name in weights
        else 1.0
        for job in jobs
    )
    if _SHARES[kind] != "equal" and not all(result[r] for r in served):
        raise FileError(f"{position}: a weight is 0; give weights above 0.")
    return _SHARES[kind], result


def _check_extras(queue: Element, section: Element, position: str) -> None:
    """Refuse what a station says besides."""
    for parameter in (*queue, *section):
        values = {(value.text or "").strip() for value in parameter.iter("value")}
        wrong = {
            "numberOfVisits": values - {"1"},
            "classParallelism": values - {"1"},
            "Impatience": values - {"null"},
            "retrialDistributions": set(by_class(parameter)),
            "serverCompatibilities": values & {"false"},
            "maxRunning": values - {"-1"},
        }
        name = parameter.get("name", "")
        if wrong.get(name):
            raise FileError(f"{position}: its {name} is not followed; leave it out.")
