"""The result of a fit, as values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from parcast.model import Machine, Workload
from parcast_fit.calibrated import Calibrated
from parcast_fit.estimates import Estimate


@attrs.frozen(kw_only=True)
class Fitted:
    """One measured point and its fitted value, in seconds or as a speedup.

    ``binding`` is what binds there with the fitted values, in the solver's own words where it has
    some (``binds`` among its details): the regime that the point speaks for.
    """

    place: str
    at: Mapping[str, Any]
    measured: float
    predicted: float
    binding: str | None = None

    @property
    def error(self) -> float:
        """The relative error, positive where the prediction is larger."""
        return self.predicted / self.measured - 1


@attrs.frozen(kw_only=True)
class Errors:
    """Relative errors of several points, in the two ways they are told."""

    rms: float  #: sqrt(sum e^2 / N)
    paper: float  #: (1/N) sqrt(sum e^2), as Cremonesi and Gennaro 2002, section 5.2, print it
    largest: float

    @classmethod
    def of(cls, points: tuple[Fitted, ...]) -> Errors:
        """Return the errors of ``points``."""
        total = math.fsum(point.error**2 for point in points)
        count = len(points)
        return cls(
            rms=math.sqrt(total / count),
            paper=math.sqrt(total) / count,
            largest=max((point.error for point in points), key=abs),
        )


@attrs.frozen(kw_only=True)
class HeldOut:
    """The largest p predicted by a fit to the others, or why there is none."""

    p: int
    points: tuple[Fitted, ...] = ()
    message: str = ""

    @property
    def errors(self) -> Errors | None:
        """Its errors."""
        return Errors.of(self.points) if self.points else None


@attrs.frozen(kw_only=True)
class Direction:
    """A change of parameters that no measured point notices."""

    sentence: str
    changes: Mapping[str, float]  #: relative, the largest 1
    alternative: Mapping[str, float] | None  #: other values that predict the same
    remedy: str


@attrs.frozen(kw_only=True)
class Combination:
    """What is determined of parameters that are not: a sum or product of them."""

    text: str
    value: float
    low: float | None
    high: float | None
    exact: bool  #: not only near the fit


@attrs.frozen(kw_only=True)
class Identifiability:
    """What the data determine."""

    rank: int
    parameters: int
    singular_values: tuple[float, ...]  #: of the Jacobian with columns of length 1
    threshold: float  #: below it a singular value counts as zero
    scale: str  #: how the scale is fixed that speedups do not tell; empty where they need not
    directions: tuple[Direction, ...]
    combinations: tuple[Combination, ...]
    exact_derivatives: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Fit:
    """A solver's parameters fitted to measurements."""

    workload: Workload = attrs.field(repr=False)
    machine: Machine = attrs.field(repr=False)
    solvers: tuple[str, ...]
    quantity: str  #: time or speedup
    where: str  #: the measurements
    status: str  #: ok or not_converged
    message: str
    estimates: tuple[Estimate, ...]
    points: tuple[Fitted, ...] = attrs.field(repr=False)
    scatter: float | None  #: s of ln(predicted / measured)
    repeatability: float | None  #: the same among repeated runs of a point
    interval: str  #: profile or bootstrap
    held_out: HeldOut
    identifiability: Identifiability
    suggestion: Mapping[str, Any] | None  #: which point to measure next
    settings: Mapping[str, Any]  #: what was set besides
    seed: int = 0

    @property
    def errors(self) -> Errors:
        """The errors of all points."""
        return Errors.of(self.points)

    @property
    def used(self) -> dict[str, float]:
        """The parameters that reproduce the fit, in base units."""
        return {estimate.name: estimate.used for estimate in self.estimates}

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; None where there is no number."""
        held_out = self.held_out
        return {
            "schema": 1,
            "workload": self.workload.name,
            "machine": self.machine.name,
            "solvers": list(self.solvers),
            "quantity": self.quantity,
            "measured": self.where,
            "status": self.status,
            "message": self.message,
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "errors": attrs.asdict(self.errors),
            "scatter": self.scatter,
            "repeatability": self.repeatability,
            "interval": self.interval,
            "identifiability": attrs.asdict(self.identifiability),
            "next": self.suggestion,
            "held_out": {
                "p": held_out.p,
                "message": held_out.message,
                "errors": None if held_out.errors is None else attrs.asdict(held_out.errors),
                "points": [_point(point) for point in held_out.points],
            },
            "points": [_point(point) for point in self.points],
            "settings": dict(self.settings),
            "seed": self.seed,
        }

    @property
    def calibrated(self) -> Calibrated:
        """What a file of the calibrated machine or workload holds."""
        count, solvers, table = len(self.points), ", ".join(self.solvers), Path(self.where).name
        return Calibrated(
            workload=self.workload,
            machine=self.machine,
            estimates=self.estimates,
            settings=self.settings,
            source=f"fitted: {count} {self.quantity}s in {table} with {solvers}",
        )

    def write(self, path: str | Path) -> list[Path]:
        """Write the calibrated machine or workload, or both; see `Calibrated.write`."""
        return self.calibrated.write(path)


def _point(point: Fitted) -> dict[str, Any]:
    return {**attrs.asdict(point), "at": dict(point.at), "error": point.error}
