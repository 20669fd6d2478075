"""Exact solution of networks whose classes share one or two queues, by quadrature.

Plain mean value analysis needs a step for each of prod (N_r + 1) population vectors. When all
that classes share is one queue, (sum n_r)! = int_0^inf e^-u u^(sum n_r) du separates them:

    G = int_0^inf e^-u prod_r g_r(z_r + x_r u) du

where g_r(t) is the normalizing constant of class r alone at its private queues with a delay t
(McKenna and Mitra's integral; exact here, whatever the number of classes). A second shared
queue adds a second such variable v. Under the weight w ~ e^(-u-v) prod_r g_r(t_r), with
t_r = z_r + x_r u + y_r v,

    throughput of r           E[X_r(N_r; t_r)]
    number at a private queue E[Q_rj(N_r; t_r)]
    number at a shared queue  x_r E[u X_r(N_r; t_r)]

where X_r(n; t) and Q_rj(n; t) are the single-class results that exact mean value analysis
gives at every quadrature node at once. All terms are positive, so nothing cancels near
saturation. Because d log g_r / dt = X_r falls with t, log w is concave: it has one peak, its
support is an interval, and so has its marginal in u (Prekopa), which makes nesting safe.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from parcast.errors import SolveError
from parcast_spmd.mva.mva_kernels import Floats, check_points, delay_two_queues, node_sweep
from parcast_spmd.mva.quadrature import converge, panels, support
from parcast_spmd.mva.structure import Component, Group, GroupResult

#: Relative change between two node counts that counts as converged, and as a failure.
TOLERANCE = 1e-13
FAILURE = 1e-10


def solve_integral(component: Component) -> tuple[GroupResult, ...]:
    """Return the exact means of each group of a component with one or two shared queues.

    Parameters
    ----------
    component
        Any populations and demands; classes that are alike are computed once.

    Raises
    ------
    SolveError
        If the quadrature does not settle; the residual is named.
    """
    weight = _Weight(component)
    means = _one_shared(weight) if len(component.shared) == 1 else _two_shared(weight)
    return tuple(weight.results(means))


def symmetric_clusters(
    clusters: int, jobs_per_cluster: int, z: float, x: float, y: float
) -> tuple[float, float, float]:
    """Return the exact solution of the CLU-AIO model of section 4.3.

    Parameters
    ----------
    clusters
        Clusters d, each a class with a disk of its own, at least 1.
    jobs_per_cluster
        Synchronization groups k that share one disk, at least 1.
    z
        Delay per cycle, seconds.
    x, y
        Demand at the shared network queue and at the cluster's own disk, seconds per cycle.

    Returns
    -------
    tuple
        Cycles per second of one cluster, and the seconds per cycle at network and disk.

    Raises
    ------
    SolveError
        If an argument is out of its range or the quadrature does not settle.
    """
    if clusters < 1 or clusters != int(clusters):
        raise SolveError(f"The number of clusters is {clusters}; give a whole number from 1.")
    if clusters == 1 or x == 0:
        alone = delay_two_queues(jobs_per_cluster, z, x, y)
        return float(alone[0]), float(alone[1]), float(alone[2])
    demands = {name: np.array([value]) for name, value in (("z", z), ("x", x), ("y", y))}
    check_points(np.array([jobs_per_cluster]), demands)
    group = Group(
        members=tuple(range(clusters)),
        population=int(jobs_per_cluster),
        delay=float(z),
        shared=(float(x),),
        private=(float(y),) if y > 0 else (),
        stations=(),
    )
    (result,) = solve_integral(Component(shared=(0,), groups=(group,)))
    rate = result.throughput
    return rate, float(result.shared[0]) / rate, float(result.private.sum()) / rate


class _Weight:
    """The integrand of a component: log weights and single-class results at given nodes."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.jobs = component.jobs

    def evaluate(self, nodes: Floats, reference: Floats) -> tuple[Floats, list[Floats]]:
        """Return log w(node) / w(reference) and, per group, throughput above private queues.

        ``nodes`` has shape (nodes, shared queues), ``reference`` (shared queues,).
        """
        points = np.vstack([nodes, reference])
        logs = -(points - reference).sum(axis=1)
        rows = []
        for group in self.component.groups:
            delays = group.delay + points @ np.array(group.shared)
            private = np.array(group.private, dtype=np.float64)
            rate, queues, ratio = node_sweep(group.population, delays, private)
            logs = logs + group.count * ratio
            rows.append(np.vstack([rate, queues])[:, :-1])
        return logs[:-1], rows

    def logs(self, nodes: Floats, reference: Floats) -> Floats:
        """Return log weights for nodes of shape (..., shared queues)."""
        flat = nodes.reshape(-1, nodes.shape[-1])
        return self.evaluate(flat, reference)[0].reshape(nodes.shape[:-1])

    def means(self, nodes: Floats, logs: Floats, rows: list[Floats], scale: Floats) -> Floats:
        """Return all means as one row: per group X, private queues, x_s E[u_s X]."""
        weights = np.exp(logs - logs.max()) * scale
        weights /= weights.sum()
        parts = []
        for group, values in zip(self.component.groups, rows, strict=True):
            parts.append(values @ weights)
            parts.append(np.array(group.shared) * (nodes.T @ (weights * values[0])))
        return np.concatenate(parts)

    def results(self, means: Floats) -> list[GroupResult]:
        """Return the groups' results from the row that `means` gives."""
        results, start = [], 0
        for group in self.component.groups:
            middle = start + 1 + len(group.private)
            end = middle + len(group.shared)
            results.append(
                GroupResult(
                    throughput=float(means[start]),
                    private=means[start + 1 : middle],
                    shared=means[middle:end],
                )
            )
            start = end
        return results


def _one_shared(weight: _Weight) -> Floats:
    """Integrate over u, two node counts in one sweep."""
    middle = np.array([float(weight.jobs)])
    region = support(lambda u: weight.logs(u[..., None], middle), weight.jobs, rows=1)
    peak = np.array([region.peak[0]])

    def both(count: int) -> tuple[Floats, Floats]:
        coarse, fine = panels(region, count), panels(region, 2 * count)
        nodes = np.concatenate([coarse[0][0], fine[0][0]])[:, None]
        logs, rows = weight.evaluate(nodes, peak)
        cut = coarse[0].shape[1]
        first = [row[:, :cut] for row in rows]
        second = [row[:, cut:] for row in rows]
        return (
            weight.means(nodes[:cut], logs[:cut], first, coarse[1][0]),
            weight.means(nodes[cut:], logs[cut:], second, fine[1][0]),
        )

    return converge(both, start=32, largest=1024, tolerance=TOLERANCE, failure=FAILURE)


@attrs.frozen
class _Nested:
    """A rule over (u, v): nodes (rows * columns, 2) and the scale of each node."""

    nodes: Floats
    scale: Floats


def _two_shared(weight: _Weight) -> Floats:
    """Integrate over v for every u, each v range found for its own u, then over u."""
    middle = np.array([0.5 * weight.jobs, 0.5 * weight.jobs])

    def marginal(u: Floats) -> Floats:
        rule = _inner(weight, u.ravel(), middle, 12)
        logs = weight.evaluate(rule.nodes, middle)[0].reshape(u.size, -1)
        top = logs.max(axis=1)
        inside = np.exp(logs - top[:, None]) * rule.scale.reshape(logs.shape)
        total: Floats = top + np.log(inside.sum(axis=1))
        return total.reshape(u.shape)

    outer = support(marginal, weight.jobs, rows=1)
    peak = np.array([outer.peak[0], 0.0])
    inner = support(_along(weight, outer.peak, middle), weight.jobs, rows=1)
    peak[1] = inner.peak[0]

    def level(count: int) -> Floats:
        u, scale = panels(outer, count)
        rule = _inner(weight, u[0], peak, count)
        logs, rows = weight.evaluate(rule.nodes, peak)
        across = np.repeat(scale[0], rule.scale.size // u.size)
        return weight.means(rule.nodes, logs, rows, rule.scale * across)

    levels: dict[int, Floats] = {}

    def both(count: int) -> tuple[Floats, Floats]:
        coarse = levels.get(count)
        levels[2 * count] = level(2 * count)
        return (level(count) if coarse is None else coarse), levels[2 * count]

    return converge(both, start=16, largest=256, tolerance=TOLERANCE, failure=FAILURE)


def _along(weight: _Weight, u: Floats, reference: Floats) -> Callable[[Floats], Floats]:
    """Return log w(u, v) as a function of v, shape (rows, columns), for fixed u (rows,)."""

    def logs(v: Floats) -> Floats:
        nodes = np.stack(np.broadcast_arrays(u[:, None], v), axis=-1)
        return weight.logs(nodes, reference)

    return logs


def _inner(weight: _Weight, u: Floats, reference: Floats, count: int) -> _Nested:
    """Return a rule in v for every u, flattened."""
    region = support(_along(weight, u, reference), weight.jobs, rows=u.size)
    v, scale = panels(region, count)
    nodes = np.stack(np.broadcast_arrays(u[:, None], v), axis=-1)
    return _Nested(nodes.reshape(-1, 2), scale.ravel())
