"""The law of the time that a demand takes on one shared core, by its transform.

In work time the other jobs are a branching process with immigration. With phase-type demands
(alpha, S), s0 = -S 1, arrival rate lambda and (v, w) = expm(x [[S - sI, s0], [-lambda alpha,
lambda]]) 1 the transform of the time beyond the demand x is (1 - rho)/(w - rho beta v) on a
node in its steady state, beta the phases of jobs under way, and 1/w on an idle one.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from parcast_petri.theory.inversion import Array, Complex, inverted, points


@attrs.frozen(eq=False)
class SharedCore:
    """One core that Poisson arrivals of phase-type demands share with one process."""

    rate: float
    start: Array  #: probabilities of the first phase
    phases: Array  #: S

    @property
    def residual(self) -> Array:
        """The phases of a demand under way at a random moment, as they are distributed."""
        left = -np.linalg.solve(self.phases.T, self.start)
        found: Array = np.asarray(left / left.sum(), np.float64)
        return found

    @property
    def utilization(self) -> float:
        """The arrival rate times the mean demand."""
        return float(-self.rate * np.linalg.solve(self.phases.T, self.start).sum())

    def transform(self, demand: float, s: Complex, *, idle: bool) -> Complex:
        """Return the transform of the time beyond the demand at each s."""
        order = len(self.start)
        exits = -self.phases.sum(axis=1)
        matrix: Complex = np.zeros((len(s), order + 1, order + 1), np.complex128)
        matrix[:, :order, :order] = self.phases - s[:, None, None] * np.eye(order)
        matrix[:, :order, order] = exits
        matrix[:, order, :order] = -self.rate * self.start
        matrix[:, order, order] = self.rate
        powers, logs = _exponentials(np.multiply(matrix, demand, dtype=np.complex128))
        ends = powers.sum(axis=2)
        found: Complex = np.exp(-logs).astype(np.complex128)
        if idle:
            found /= ends[:, order]
        else:
            rho = self.utilization
            found *= (1 - rho) / (ends[:, order] - rho * ends[:, :order] @ self.residual)
        return found

    def undisturbed(self, demand: float, *, idle: bool) -> float:
        """Return the probability that no job shares the core."""
        nobody = 1.0 if idle else 1 - self.utilization
        return nobody * math.exp(-self.rate * demand)

    def probability(self, demand: float, times: Array, *, idle: bool = False) -> Array:
        """Return the probabilities that a demand is done by these times."""
        beyond = np.asarray(times, float) - demand
        atom = self.undisturbed(demand, idle=idle)
        found = np.where(beyond < 0, 0.0, atom)
        later = beyond > 0
        found[later] = self._inverted(demand, beyond[later], idle=idle)
        return np.clip(found, 0.0, 1.0)

    def _inverted(self, demand: float, t: Array, *, idle: bool) -> Array:
        """Return P(time beyond the demand <= t), the atom at 0 apart from the inversion."""
        atom = self.undisturbed(demand, idle=idle)
        s = points(t)
        values = (self.transform(demand, s.ravel(), idle=idle).reshape(s.shape) - atom) / s
        return atom + inverted(values, t)

    def quantile(self, demand: float, level: float, *, idle: bool = False) -> float:
        """Return the time by which a demand is done with this probability."""
        from scipy.optimize import brentq

        if level <= self.undisturbed(demand, idle=idle):
            return demand

        def over(time: float) -> float:
            return float(self.probability(demand, np.array([time]), idle=idle)[0]) - level

        last = 2 * demand / (1 - self.utilization)
        while over(last) < 0:
            last *= 2
        return float(brentq(over, demand * (1 + 1e-12), last, rtol=1e-10))


def _exponentials(matrices: Complex) -> tuple[Complex, Array]:
    """Return the exponential of each matrix of a stack, over e to the power of a number of each.

    By scaling and squaring, all at once: SciPy's takes one matrix after another, in 30 to 150
    times the time for the thousands of small ones here, and overflows where a demand meets some
    700 jobs. It is more exact in a single matrix, 1e-13 to 1e-10, which is not seen in the
    probabilities: they are within 1e-7 of those by SciPy's, as the inversion is.
    """
    norm = float(np.abs(matrices).sum(axis=1).max())
    halvings = max(0, math.ceil(math.log2(max(norm, 1e-300))) + 2)
    small = matrices / 2.0**halvings
    found = term = np.broadcast_to(np.eye(matrices.shape[1], dtype=complex), matrices.shape)
    for n in range(1, 14):  # the norm is at most 1/4, so the rest is below 1e-19
        term = term @ small / n
        found = found + term
    logs = np.zeros(len(matrices))
    for _ in range(halvings):
        found = found @ found
        most = np.abs(found).max(axis=(1, 2))
        found = found / most[:, None, None]
        logs = 2 * logs + np.log(most)
    return found, logs


def shared_core(rates: Array, laws: list[tuple[Array, Array]]) -> SharedCore:
    """Return the core that classes of phase-type demands share."""
    orders = [len(start) for start, _ in laws]
    phases = np.zeros((sum(orders), sum(orders)))
    at, starts = 0, []
    for rate, (start, block) in zip(rates, laws, strict=True):
        phases[at : at + len(start), at : at + len(start)] = block
        starts.append(start * rate / rates.sum())
        at += len(start)
    return SharedCore(float(rates.sum()), np.concatenate(starts), phases)
