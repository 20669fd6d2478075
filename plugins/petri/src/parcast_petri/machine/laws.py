"""Laws of random times: the core's, and three that background loads are measured with."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParcastError, UnitError
from parcast.quantities import LAWS, Distribution, parse_quantity, to_base

Array = NDArray[np.float64]

#: What this module adds: parameters, the first of them without unit.
_OWN = {"hyper": ("scv", "mean"), "pareto": ("shape", "mean"), "phase": ("scv", "mean"),
        "stages": ("scv", "mean")}  # fmt: skip


@attrs.frozen
class Law:
    """A law of positive times, in seconds.

    Beside the core's laws: ``hyper:scv,mean`` is hyperexponential with balanced means,
    ``pareto:shape,mean`` Pareto's, and ``phase:scv,mean`` the phase-type law of least order with
    these two moments (Tijms, Stochastic Models, 1994, section A.5).
    """

    law: str
    parameters: tuple[float, ...]

    @classmethod
    def read(cls, text: object, dimension: str = "s") -> Law:
        """Return the law that a text spells.

        Raises
        ------
        ParcastError
            If there is none of that name, or a parameter has no meaning.
        """
        name, _, arguments = str(text).partition(":")
        if name not in _OWN:
            try:
                distribution = Distribution.read(text, dimension)
            except ParcastError as error:
                hint = f" Also: {', '.join(_OWN)}." if "Known" in str(error) else ""
                raise ParcastError(f"{error}{hint}") from None
            return cls(distribution.law, distribution.parameters)
        names, values = _OWN[name], arguments.split(",")
        if len(values) != 2:
            raise ParcastError(f"{text!r} needs the form {name}:{','.join(names)}")
        try:
            first, mean = parse_quantity(values[0]).value, to_base(values[1], dimension)
        except UnitError as error:
            raise ParcastError(f"{text!r}: {error}") from None
        least = {"hyper": 1.0, "pareto": 1.0}.get(name, 1e-3)
        if not (first > least or (name != "pareto" and first == least)) or first > 1e6:
            bound = f"above {least:g}" if name == "pareto" else f"{least:g} .. 1e6"
            raise ParcastError(f"{text!r}: {names[0]} must be {bound}")
        if not mean > 0:
            raise ParcastError(f"{text!r}: mean must be above 0")
        return cls(*_phase(first, mean)) if name == "phase" else cls(name, (first, mean))

    @property
    def mean(self) -> float:
        """The mean."""
        if self.law in LAWS:
            return Distribution(self.law, self.parameters).mean
        return self.parameters[1]

    @property
    def scv(self) -> float:
        """The squared coefficient of variation: variance over the mean squared."""
        first = self.parameters[0]
        match self.law:
            case "hyper" | "stages":
                return first
            case "pareto":
                return 1 / (first * (first - 2)) if first > 2 else math.inf
        distribution = Distribution(self.law, self.parameters)
        return distribution.variance / distribution.mean**2 if distribution.mean else 0.0

    def scaled(self, factor: float) -> Law:
        """Return the law of ``factor`` times the time."""
        if self.law in LAWS:
            distribution = Distribution(self.law, self.parameters).scaled(factor)
            return Law(distribution.law, distribution.parameters)
        return Law(self.law, (self.parameters[0], factor * self.parameters[1]))

    def phases(self) -> tuple[Array, Array] | None:
        """Return initial probabilities and the rates of a phase-type law, or None."""
        match self.law, self.parameters:
            case "exp", (mean,):
                return np.ones(1), np.array([[-1 / mean]])
            case "erlang", (stages, mean):
                return _stages(int(stages), mean / stages, 0.0)
            case "hyper", _:
                shares, means = self.branches()
                return shares, np.diag(-1 / means)
            case "stages", _:
                count, stage, fewer = self.stages()
                return _stages(count, stage, fewer)
        return None

    def branches(self) -> tuple[Array, Array]:
        """Return probabilities and means of a hyperexponential law's branches."""
        scv, mean = self.parameters
        first = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2
        shares = np.array([first, 1 - first])
        return shares, mean / (2 * shares)

    def stages(self) -> tuple[int, float, float]:
        """Return the stages of a mixed Erlang law, the mean of one, and P(one stage fewer)."""
        scv, mean = self.parameters
        count = math.ceil(1 / scv - 1e-12)
        root = math.sqrt(max(0.0, count * (1 + scv) - count**2 * scv))
        fewer = (count * scv - root) / (1 + scv)
        return count, mean / (count - fewer), fewer

    def tail(self, u: Array) -> Array:
        """Return the probability that a time is longer than each of these."""
        from scipy import special

        survival: Array
        match self.law, self.parameters:
            case "const" | "sampled", values:
                ordered = np.sort(values)
                survival = 1 - np.searchsorted(ordered, u, side="right") / len(ordered)
            case "exp", (mean,):
                survival = np.exp(-u / mean)
            case "uniform", (least, most):
                survival = np.clip((most - u) / max(most - least, 1e-300), 0, 1)
            case "erlang" | "gamma", (shape, mean):
                survival = special.gammaincc(shape, u * shape / mean)
            case "lognormal", (mean, std):
                spread = math.sqrt(math.log1p((std / mean) ** 2))
                with np.errstate(divide="ignore"):
                    z = (np.log(u) - math.log(mean) + spread**2 / 2) / spread
                survival = special.ndtr(-z)
            case "weibull", (shape, scale):
                survival = np.exp(-((u / scale) ** shape))
            case "pareto", (shape, mean):
                scale = mean * (shape - 1) / shape
                survival = np.where(u < scale, 1.0, (scale / np.maximum(u, scale)) ** shape)
            case "hyper", _:
                shares, means = self.branches()
                survival = np.exp(-u[:, None] / means) @ shares
            case _:
                count, stage, fewer = self.stages()
                short = special.gammaincc(max(count - 1, 1e-300), u / stage)
                survival = fewer * short + (1 - fewer) * special.gammaincc(count, u / stage)
        return survival

    def residual(self, draw: np.random.Generator, size: int) -> Array:
        """Return what is left of times that are under way at a random moment."""
        return draw.random(size) * self._length_biased(draw, size)

    def _length_biased(self, draw: np.random.Generator, size: int) -> Array:
        """Return times drawn with a probability in proportion to their length."""
        match self.law, self.parameters:
            case "const", (value,):
                return np.full(size, value)
            case "exp", (mean,):
                return draw.gamma(2, mean, size)
            case "erlang" | "gamma", (shape, mean):
                return draw.gamma(shape + 1, mean / shape, size)
            case "uniform", (least, most):
                return np.sqrt(least**2 + (most**2 - least**2) * draw.random(size))
            case "lognormal", (mean, std):
                spread = math.log1p((std / mean) ** 2)
                return draw.lognormal(math.log(mean) + spread / 2, math.sqrt(spread), size)
            case "weibull", (shape, scale):
                grown: Array = scale * draw.gamma(1 + 1 / shape, 1, size) ** (1 / shape)
                return grown
            case "pareto", (shape, mean):
                scale = mean * (shape - 1) / shape
                drawn: Array = scale * (1 - draw.random(size)) ** (-1 / (shape - 1))
                return drawn
            case "hyper", _:
                shares, means = self.branches()
                weights = shares * means
                which = draw.choice(2, size, p=weights / weights.sum())
                return draw.gamma(2, means[which], size)
            case "stages", _:
                count, stage, fewer = self.stages()
                short = fewer * (count - 1)
                shorter = draw.random(size) < short / (short + (1 - fewer) * count)
                return draw.gamma(count + 1.0 - shorter, stage, size)
        values = np.array(self.parameters)
        return draw.choice(values, size, p=values / values.sum())


def _phase(scv: float, mean: float) -> tuple[str, tuple[float, ...]]:
    if scv == 1:
        return "exp", (mean,)
    return ("hyper" if scv > 1 else "stages"), (scv, mean)


def _stages(count: int, stage: float, fewer: float) -> tuple[Array, Array]:
    """Return a mixed Erlang law: all stages, or all but the first with probability ``fewer``."""
    start = np.zeros(count)
    start[0] = 1 - fewer
    if fewer:
        start[1] = fewer
    rates = np.diag(np.full(count, -1 / stage)) + np.diag(np.full(count - 1, 1 / stage), 1)
    return start, rates
