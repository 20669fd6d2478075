"""Jobs of phase-type demands on one core: their residual times and busy periods."""

from __future__ import annotations

import math

import attrs
import numpy as np

from parcast_petri.theory.inversion import Array, Complex

#: Newton's steps at the most, and one that is the last: the next would be its square.
_STEPS, _EXACT = 60, 1e-9
#: The norm of a step of Taylor's series, and its terms: the next is below 1e-15.
_STEP, _TAYLOR = 2.0, 22


@attrs.frozen(eq=False)
class Jobs:
    """Poisson arrivals of phase-type demands (alpha, S)."""

    rate: float  #: of arrivals, lambda
    start: Array  #: alpha, probabilities of the first phase
    phases: Array  #: S, nothing below its diagonal, and above it the next phase alone

    @property
    def means(self) -> Array:
        """The mean time that is left in each phase."""
        means: Array = np.asarray(-np.linalg.solve(self.phases, np.ones(len(self.start))))
        return means

    @property
    def utilization(self) -> float:
        """The arrival rate times the mean demand."""
        return float(self.rate * self.start @ self.means)

    @property
    def residual(self) -> Array:
        """The phases of a demand under way at a random moment, as they are distributed."""
        left = -np.linalg.solve(self.phases.T, self.start)
        distribution: Array = np.asarray(left / left.sum(), np.float64)
        return distribution

    @property
    def second_moment(self) -> float:
        """The second moment of a demand."""
        return float(-2 * self.start @ np.linalg.solve(self.phases, self.means))

    @property
    def exits(self) -> Array:
        """The rates of ending from each phase."""
        return np.asarray(-self.phases.sum(axis=1), np.float64)

    def lasting(self, seconds: float) -> float:
        """Return the probability that more than these seconds are left of a demand under way."""
        alone = np.zeros((1, len(self.start)), complex)
        ends = self.propagated(seconds, alone, np.ones_like(alone))
        return float(self.residual @ ends[0].real)

    def propagated(self, seconds: float, renewed: Complex, values: Complex) -> Complex:
        """Return exp(seconds (S + s0 renewed)) applied to values, a row for each of ``renewed``.

        In short steps by Taylor's series, each a product with a bidiagonal matrix and one of rank
        1; or by the exponential itself where there are so many steps that it takes less.
        """
        rates, exits, order = -np.diag(self.phases), self.exits, len(self.start)
        above = np.diag(self.phases, 1)
        norm = seconds * float((rates + exits * np.abs(renewed).sum(axis=1).max(initial=0)).max())
        norm += seconds * float(above.max(initial=0.0))
        steps = max(1, math.ceil(norm / _STEP))
        if order > 1 and steps * _TAYLOR < (14 + math.log2(1 + norm)) * order**2 / 12:
            for _ in range(steps):
                term = values
                for n in range(1, _TAYLOR + 1):
                    again = (renewed * term).sum(axis=1)
                    after = exits * again[:, None] - rates * term
                    after[:, :-1] += above * term[:, 1:]
                    term = after * (seconds / steps / n)
                    values = values + term
            return values
        matrices = seconds * (self.phases + exits[:, None] * renewed[:, None, :])
        return np.asarray((exponentials(matrices) @ values[:, :, None])[:, :, 0])

    def resolvents(self, theta: Complex) -> tuple[Complex, Complex]:
        """Return alpha (theta - S)^-1 and (theta - S)^-1 s0, a row for each theta."""
        order, rates, exits = len(self.start), -np.diag(self.phases), self.exits
        before = np.empty((len(theta), order), complex)
        after = np.empty_like(before)
        for i in range(order):
            fed = before[:, i - 1] * self.phases[i - 1, i] if i else 0.0
            before[:, i] = (self.start[i] + fed) / (theta + rates[i])
        for i in reversed(range(order)):
            fed = after[:, i + 1] * self.phases[i, i + 1] if i < order - 1 else 0.0
            after[:, i] = (exits[i] + fed) / (theta + rates[i])
        return before, after

    def busy(self, s: Complex) -> Complex:
        """Return the root of theta = s + lambda (1 - B(theta)) right of the imaginary axis.

        With B the transform of a demand, theta - s is lambda times 1 less that of a busy period
        (Takacs). By Newton's method from the right: lambda |B'| is at most the utilization there.

        Raises
        ------
        FloatingPointError
            If it does not converge, which no stable load is known to do.
        """
        theta: Complex = s + self.rate
        left = np.arange(len(s))
        for _ in range(_STEPS):
            at = theta[left]
            before, after = self.resolvents(at)
            over = at - s[left] - self.rate * (1 - before @ self.exits)
            step = over / (1 - self.rate * (before * after).sum(axis=1))
            # a step of the equation itself stays on the right
            step = np.where((at - step).real > 0, step, over)
            theta[left] = at - step
            left = left[np.abs(step) > _EXACT * (np.abs(at) + self.rate)]
            if not len(left):
                return theta
        raise FloatingPointError("the busy period's transform has not converged")


def exponentials(matrices: Complex) -> Complex:
    """Return the exponential of each matrix of a stack; none has an eigenvalue right of 0.

    By scaling and squaring, all at once: SciPy's takes one matrix after another, in 30 to 150
    times the time for the thousands of small ones here.
    """
    if matrices.shape[1] == 1:
        return np.asarray(np.exp(matrices), np.complex128)
    norm = float(np.abs(matrices).sum(axis=1).max(initial=0.0))
    halvings = max(0, math.ceil(math.log2(max(norm, 1e-300))) + 2)
    small = matrices / 2.0**halvings
    exponential = term = np.broadcast_to(np.eye(matrices.shape[1], dtype=complex), matrices.shape)
    for n in range(1, 14):  # the norm is at most 1/4, so the rest is below 1e-19
        term = term @ small / n
        exponential = exponential + term
    for _ in range(halvings):
        exponential = exponential @ exponential
    return np.asarray(exponential, np.complex128)
