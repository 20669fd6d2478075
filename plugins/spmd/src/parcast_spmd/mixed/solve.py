"""The solution of an open or mixed network: what is exact station by station, and bounds."""

from __future__ import annotations

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast_spmd.mixed.convolution import Queue, check_size, convolved
from parcast_spmd.mixed.forks import cycle_bounds
from parcast_spmd.mixed.network import Center, MixedNetwork, MixedSolution, NoSteadyStateError
from parcast_spmd.mixed.stations import (
    Floats,
    alone,
    in_turn,
    limited,
    log_factors,
    renewal_share,
    speeds_of,
)
from parcast_spmd.mixed.times import Time


@attrs.define
class _Work:
    """What is known while stations are solved, by station and class."""

    rates: Floats
    times: Floats
    lengths: Floats
    loss: dict[str, float]


def product_form(center: Center, visited: list[Time]) -> bool:
    """Whether Poisson arrivals leave a station as such, whatever their classes."""
    if center.size is not None:
        return False
    if center.type == "delay" or center.order == "shared":
        return True
    means = [time.mean for time in visited]
    same = not means or max(means) <= min(means) * (1 + 1e-9)
    return same and all(time.exponential for time in visited)


def solve_mixed(network: MixedNetwork) -> MixedSolution:
    """Return the steady-state means of a network.

    Chains of closed classes and the open classes that meet them have the product form of Baskett,
    Chandy, Muntz and Palacios (1975). Stations without one that Poisson processes feed are
    M/G/1, or M/M/c/K; those that a source alone feeds are GI/M/1.

    Raises
    ------
    UnsupportedError
        If a station has no steady state, or no exact law that is known here; it is named.
    """
    chain_of = {r: c for c, chain in enumerate(network.chains) for r in chain.members}
    outside = np.array([network.chains[chain_of[r]].rate for r in range(len(network.classes))])
    visits = np.array(network.visits).reshape(len(network.centers), len(network.classes))
    times = np.array([[t.mean if t else 0.0 for t in one.service] for one in network.centers])
    work = _Work(visits * outside, times, np.zeros_like(visits), {})
    closed = [c for c, chain in enumerate(network.chains) if chain.population]
    jobs = sum(network.chains[c].population or 0 for c in closed)
    meets = [
        any(visits[k, r] > 0 for c in closed for r in network.chains[c].members)
        for k in range(len(network.centers))
    ]
    _solve_open(network, work, meets)
    throughput = np.array([chain.rate for chain in network.chains])
    if closed:
        _solve_closed(network, work, meets, closed, jobs, throughput)
    return _assembled(network, work, throughput, chain_of)


def _solve_open(network: MixedNetwork, work: _Work, meets: list[bool]) -> None:
    """Fill in the lengths of stations that only open classes visit."""
    for k, center in enumerate(network.centers):
        rates = work.rates[k]
        visited = [r for r in range(len(rates)) if rates[r] > 0]
        if not visited or (meets[k] and center.type == "queue"):
            if visited or meets[k]:
                _check_shared(network, center, k, visited)
            continue
        loads = rates * work.times[k]
        if center.type == "delay":
            work.lengths[k] = loads
            continue
        work.lengths[k] = _lengths(network, work, k, visited, loads)


def _lengths(
    network: MixedNetwork, work: _Work, k: int, visited: list[int], loads: Floats
) -> Floats:
    center, feed, rates = network.centers[k], network.feeds[k], work.rates[k]
    load = float(loads.sum())
    served = [time for r in visited if (time := center.service[r]) is not None]
    speeds = speeds_of(center, 0 if center.size is None else center.size)
    if not load:
        return loads
    if center.size is None and load >= speeds[-1]:
        raise NoSteadyStateError(
            f"Station {center.name!r} is offered {load:.6g} seconds of work each second and does "
            f"{speeds[-1]:.6g}; it has no steady state: give it more servers or fewer arrivals."
        )
    if feed.obstacle:
        raise UnsupportedError(
            f"Station {center.name!r} is fed by {feed.obstacle}, so its mean response has no exact "
            "form; simulate it."
        )
    if center.size is not None:
        return _limited(network, work, k, served, load)
    if feed.renewal is not None:
        if center.order != "turns" or len(speeds) > 1 or not all(t.exponential for t in served):
            raise UnsupportedError(
                f"Station {center.name!r} is fed by arrivals that are no Poisson process; known is "
                "then one server with exponential times in turn: simulate it."
            )
        return loads / (1 - renewal_share(feed.renewal, served[0].mean, center.name))
    if product_form(center, served):
        return np.asarray(loads * (alone(speeds, load) / load))
    if len(speeds) > 1:
        raise UnsupportedError(
            f"Station {center.name!r} takes jobs of unlike or not exponential times in turn at "
            f"{len(speeds)} servers, which has no exact form; simulate it."
        )
    wait = in_turn([rates[r] for r in visited], served, center.name)
    return np.where(rates > 0, rates * (work.times[k] + wait), 0.0)


def _limited(network: MixedNetwork, work: _Work, k: int, served: list[Time], load: float) -> Floats:
    center = network.centers[k]
    if network.feeds[k].renewal is not None or not product_form(
        attrs.evolve(center, size=None), served
    ):
        raise UnsupportedError(
            f"Station {center.name!r} has limited room, which is exact with Poisson arrivals and "
            "equal shares or one exponential time; simulate it."
        )
    size = center.size or 0
    length, lost = limited(speeds_of(center, size), load, size)
    share = work.rates[k] * work.times[k] / load
    work.rates[k] *= 1 - lost
    work.loss[center.name] = lost
    return np.asarray(share * length)


def _check_shared(network: MixedNetwork, center: Center, k: int, visited: list[int]) -> None:
    """Refuse a queue of closed classes that has no product form."""
    times = [
        time
        for r, time in enumerate(center.service)
        if time is not None and (network.visits[k][r] > 0)
    ]
    if not product_form(center, times):
        raise UnsupportedError(
            f"Station {center.name!r} serves closed classes in turn with unlike or not exponential "
            "times, or with limited room, which has no product form (processor sharing has)."
        )
    feed = network.feeds[k]
    if visited and (feed.obstacle or feed.renewal):
        raise UnsupportedError(
            f"Station {center.name!r} serves closed classes and is fed by "
            f"{feed.obstacle or 'arrivals that are no Poisson process'}; that has no product form."
        )


def _solve_closed(
    network: MixedNetwork, work: _Work, meets: list[bool], closed: list[int], jobs: int,
    throughput: Floats,
) -> None:  # fmt: skip
    """Fill in the throughputs of closed chains, and the lengths of what they visit."""
    visits = np.array(network.visits)
    members = [list(network.chains[c].members) for c in closed]
    demand = visits * work.times
    by_chain = np.array([demand[:, rows].sum(axis=1) for rows in members]).T
    is_queue = np.array([center.type == "queue" for center in network.centers])
    shared = [k for k in range(len(meets)) if meets[k] and is_queue[k] and by_chain[k].any()]
    populations = [network.chains[c].population or 0 for c in closed]
    check_size(populations, len(shared))
    open_loads = (work.rates * work.times).sum(axis=1)
    queues = []
    for k in shared:
        load = float(open_loads[k])
        speeds = speeds_of(network.centers[k], 0 if load else jobs)
        if load >= speeds[-1]:
            raise NoSteadyStateError(
                f"Open classes offer station {network.centers[k].name!r} {load:.6g} seconds of "
                f"work each second and it does {speeds[-1]:.6g}; it has no steady state."
            )
        spare = float(speeds[min(len(speeds), max(jobs, 1)) - 1]) - load
        queues.append(
            Queue(log_factors(speeds, load, jobs), by_chain[k], max(spare, 1e-9 * speeds[-1]))
        )
    think = by_chain[~is_queue].sum(axis=0)
    means = convolved(queues, think, populations)
    for i, (c, rows) in enumerate(zip(closed, members, strict=True)):
        throughput[c] = means.throughput[i]
        work.rates[:, rows] = visits[:, rows] * throughput[c]
        for k in np.flatnonzero(~is_queue).tolist():
            work.lengths[k, rows] = demand[k, rows] * throughput[c]
        for place, k in enumerate(shared):
            if by_chain[k, i]:
                work.lengths[k, rows] = demand[k, rows] / by_chain[k, i] * means.jobs[place, i]
    for place, (k, queue) in enumerate(zip(shared, queues, strict=True)):
        load = float(open_loads[k])
        if load:  # E[m | n] = load (n + 1) f(n + 1) / f(n)
            n = np.arange(jobs + 1)
            given = load * (n + 1) * np.exp(np.diff(queue.logs))
            total = means.totals[place]
            length = float(total @ given[: len(total)])
            opened = [r for r in range(visits.shape[1]) if not _is_closed(network, r)]
            part = work.rates[k, opened] * work.times[k, opened] / load
            work.lengths[k, opened] = part * length


def _is_closed(network: MixedNetwork, r: int) -> bool:
    return any(r in chain.members and chain.population is not None for chain in network.chains)


def _assembled(
    network: MixedNetwork, work: _Work, throughput: Floats, chain_of: dict[int, int]
) -> MixedSolution:
    names, classes = [center.name for center in network.centers], range(len(network.classes))
    per_chain = np.array([throughput[chain_of[r]] for r in classes])
    with np.errstate(divide="ignore", invalid="ignore"):
        of_visit = np.where(work.rates > 0, work.lengths / work.rates, 0.0)
        of_job = np.where(per_chain > 0, work.lengths / per_chain, 0.0)
    bounds = [cycle_bounds(network, c, of_job, of_visit) for c in range(len(network.chains))]
    cycles = [bounds[chain_of[r]] for r in classes]
    notes = [
        f"Jobs of {', '.join(repr(network.classes[r]) for r in chain.members)} turn into one "
        "another: cycle times are of all of them."
        for chain in network.chains
        if len(chain.members) > 1
    ]
    if network.splits:
        notes.append("Queue lengths are of tasks; those that wait for others are left out.")
    notes += [
        f"{name!r} loses {lost:.6g} of its arrivals; cycle times are of all jobs, lost ones too."
        for name, lost in work.loss.items()
    ]
    busy = work.rates * work.times

    def rows(table: Floats) -> dict[str, tuple[float, ...]]:
        return {name: tuple(row) for name, row in zip(names, table.tolist(), strict=True)}

    return MixedSolution(
        method="convolution" if any(chain.population for chain in network.chains) else "open",
        throughput=tuple((per_chain * network.shares).tolist()),
        visit_rate=rows(work.rates),
        visit_response=rows(of_visit),
        response=rows(of_job),
        queue_length=rows(work.lengths),
        utilization={
            center.name: tuple((row / (max(center.speeds) if center.speeds else center.servers))
                               .tolist())
            for center, row in zip(network.centers, busy, strict=True)
            if center.type == "queue"
        },
        cycle_time=tuple(low if low == high else None for low, high in cycles),
        cycle_time_lower=tuple(low for low, _ in cycles),
        cycle_time_upper=tuple(high for _, high in cycles),
        loss=work.loss,
        notes=tuple(notes),
    )  # fmt: skip
