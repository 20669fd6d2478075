"""Least squares on logarithms: the search, and where it ended."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from parcast.errors import SolveError
from parcast_fit.model import Model
from parcast_fit.parameters import Floats

#: Steps after which a search gives up.
MOST_STEPS = 200

#: Residuals smaller than this are rounding: a perfect fit has no better scatter.
SMALLEST = 1e-9


@attrs.frozen(kw_only=True)
class SearchResult:
    """Where a search ended."""

    inner: Floats
    residuals: Floats  #: ln(predicted / measured), shape (rows,)
    converged: bool
    message: str
    steps: int

    @property
    def squares(self) -> float:
        """The sum of squares."""
        return float(self.residuals @ self.residuals)


def search(
    model: Model,
    targets: Floats,
    start: Floats,
    fixed: Mapping[int, float] | None = None,
    *,
    tolerance: float = 1e-10,
    max_steps: int = MOST_STEPS,
) -> SearchResult:
    """Return the least-squares fit by SciPy's trust-region method within the bounds.

    Its steps are by singular values, so that null directions do not harm it.

    Parameters
    ----------
    model
        The points and the free parameters.
    targets
        Logarithms of what was measured, shape (rows,).
    start
        Coordinates to start from, shape (parameters,).
    fixed
        Coordinates that are held, by index.
    tolerance
        Relative change of the sum of squares at which the search ends.
    max_steps
        Steps after which it gives up.

    Raises
    ------
    SolveError
        If the solver has no answer at the start, or next to a step.
    """
    from scipy.optimize import least_squares

    fixed = fixed or {}
    low, high = model.bounds
    base = np.clip(start, low, high)
    for index, value in fixed.items():
        base[index] = value
    free = [j for j in range(len(base)) if j not in fixed]

    def full(u: Floats) -> Floats:
        inner = base.copy()
        inner[free] = u
        return inner

    def residuals(u: Floats) -> Floats:
        differences = model.logs([full(u)])[0] - targets
        return np.where(np.isfinite(differences), differences, np.inf)  # the search then steps back

    first = residuals(base[free])
    if not np.isfinite(first).all():
        raise SolveError(model.why(base))
    if not free:
        return SearchResult(inner=base, residuals=first, converged=True, message="", steps=0)
    optimum = least_squares(
        residuals,
        base[free],
        jac=lambda u: model.jacobian(full(u)).matrix[:, free],
        bounds=(low[free], high[free]),
        x_scale="jac",
        ftol=tolerance,
        xtol=1e-9,
        gtol=1e-13,
        max_nfev=max_steps,
    )
    perfect = bool(np.abs(optimum.fun).max() < SMALLEST)
    converged = optimum.status > 0 or perfect
    return SearchResult(
        inner=full(optimum.x),
        residuals=optimum.fun,
        converged=converged,
        message="" if converged else f"the search did not converge in {max_steps} steps",
        steps=int(optimum.nfev),
    )
