"""A fit's problem: model, measurements and their logarithms, with parameters in sensible units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Registry
from parcast.comparison import Settings
from parcast.errors import ParcastError, SolveError
from parcast_fit.identifiability import INVISIBLE, Rank, take_apart
from parcast_fit.model import Jacobian, Model, make_model
from parcast_fit.observations import Observations
from parcast_fit.parameters import Floats, Parameter

#: A coordinate that is this close to a bound, or to 0, is there.
STUCK = 1e-6


@attrs.frozen(kw_only=True)
class Problem:
    """What is fitted to what."""

    registry: Registry
    solver: str
    settings: Settings
    observations: Observations
    model: Model
    targets: Floats  #: logarithms of what was measured, and of T(1, 1) if anchored; shape (rows,)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The free parameters."""
        return self.model.parameters

    @property
    def speedups(self) -> bool:
        """Whether speedups are fitted."""
        return self.observations.quantity == "speedup"

    def part(self, chosen: NDArray[np.bool_]) -> Problem:
        """Return the problem of some of the observations."""
        observations = self.observations.subset(chosen)
        model = make_model(
            self.registry,
            self.solver,
            observations.queries,
            self.parameters,
            self.settings,
            speedups=self.speedups,
        )
        targets = self.targets[: len(chosen)][chosen]
        if self.model.anchored:
            model = attrs.evolve(model, anchored=True)
            targets = np.append(targets, self.targets[-1])
        return attrs.evolve(self, observations=observations, model=model, targets=targets)

    def rescaled(self, inner: Floats) -> tuple[Problem, Floats]:
        """Return the problem in units that are sensible at ``inner``, and ``inner`` in them."""
        values = self.values(inner).tolist()
        problem = attrs.evolve(self, model=in_sensible_units(self.model, values))
        pairs = zip(problem.parameters, values, strict=True)
        moved = np.array([parameter.inner(value) for parameter, value in pairs])
        return problem, np.clip(moved, *problem.model.bounds)

    def values(self, inner: Floats) -> Floats:
        """Return the parameters' values as an array."""
        return np.array(list(self.model.values(inner).values()))

    def relative(self, inner: Floats) -> Floats:
        """Return relative changes of the parameters per unit of their coordinates."""
        pairs = zip(self.parameters, inner, strict=True)
        return np.array(
            [1.0 if parameter.log or abs(u) < STUCK else 1 / u for parameter, u in pairs]
        )

    def stuck(self, inner: Floats) -> list[int]:
        """Return the parameters at one of their bounds."""
        low, high = self.model.bounds
        return np.flatnonzero(np.minimum(inner - low, high - inner) < STUCK).tolist()

    def measured_rank(self, jacobian: Jacobian) -> Rank:
        """Return the rank of what was measured, without the anchor."""
        rows = slice(self.model.points)
        return take_apart(
            attrs.evolve(jacobian, matrix=jacobian.matrix[rows], error=jacobian.error[rows])
        )


def make_problem(
    registry: Registry,
    solver: str,
    settings: Settings,
    parameters: tuple[Parameter, ...],
    observations: Observations,
) -> Problem:
    """Return the problem, with the scale anchored where speedups leave it open.

    Raises
    ------
    ParcastError
        If a parameter changes no answer, or the solver cannot take a point.
    """
    speedups = observations.quantity == "speedup"
    model = make_model(
        registry, solver, observations.queries, parameters, settings, speedups=speedups
    )
    problem = Problem(
        registry=registry,
        solver=solver,
        settings=settings,
        observations=observations,
        model=in_sensible_units(model, [parameter.start for parameter in parameters]),
        targets=np.log(observations.values),
    )
    jacobian = problem.model.jacobian(problem.model.start, checked=True)
    _refuse_ignored(problem.model, take_apart(jacobian).ignored)
    return _anchor(problem) if speedups else problem


def in_sensible_units(model: Model, values: Sequence[float]) -> Model:
    """Choose the scale of parameters that may be 0, so that a step of 1 matters at ``values``."""
    for _ in range(8):
        pairs = zip(model.parameters, values, strict=True)
        inner = np.array([parameter.inner(value) for parameter, value in pairs])
        if not np.isfinite(model.logs([inner])).all():
            raise SolveError(model.why(inner))
        effects = np.abs(model.jacobian(inner).matrix).max(axis=0)
        scales = [_sensible_scale(*pair) for pair in zip(model.parameters, effects, strict=True)]
        if all(
            parameter.scale == scale
            for parameter, scale in zip(model.parameters, scales, strict=True)
        ):
            break
        pairs = zip(model.parameters, scales, strict=True)
        parameters = tuple(attrs.evolve(parameter, scale=scale) for parameter, scale in pairs)
        model = attrs.evolve(model, parameters=parameters)
    return model


def _sensible_scale(parameter: Parameter, effect: float) -> float:
    """Return a scale with an effect of about 1; larger units where nothing is seen from 0."""
    if parameter.log or 0.1 < effect < 10:
        return parameter.scale
    if effect > INVISIBLE:
        return parameter.scale / float(effect)
    return (
        parameter.scale * 1e3
        if parameter.start == 0 and parameter.scale < 1e18
        else parameter.scale
    )


def _refuse_ignored(model: Model, ignored: tuple[int, ...]) -> None:
    """Refuse parameters whose column of the Jacobian is zero, however far they are moved."""
    start = model.start
    low, high = model.bounds
    for j in ignored:
        moved = [start.copy(), start.copy()]
        for point, step in zip(moved, (-0.7, 0.7), strict=True):
            point[j] = np.clip(point[j] + step, low[j], high[j])
        logs = model.logs([start, *moved])
        if not np.isfinite(logs).all() or np.ptp(logs, axis=0).max() > 1e-12:
            continue
        raise ParcastError(
            f"{model.parameters[j].name} changes no answer of {', '.join(model.solvers)} at the "
            "measured points (its column of the Jacobian is zero); take it out of the free ones"
        )


def _anchor(problem: Problem) -> Problem:
    """Hold T(1, 1) at its start where speedups leave the scale of all times open."""
    model: Any = attrs.evolve(problem.model, anchored=True)
    jacobian = model.jacobian(model.start, checked=True)
    if take_apart(jacobian).rank == problem.measured_rank(jacobian).rank:
        return problem
    serial = model.logs([model.start])[0][-1]
    return attrs.evolve(problem, model=model, targets=np.append(problem.targets, serial))
