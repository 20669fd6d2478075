"""Probability distributions as people write them: ``exp:25us``, ``erlang:4,25us``.

The moments need nothing; numpy is only used through the generator that `sample` is given.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import ParcastError, UnitError, did_you_mean
from parcast.quantities.units import check_dimension, has_spread, is_number_with_unit, parse_number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@attrs.frozen
class Law:
    """A family of distributions: its parameters, moments and sampler."""

    parameters: tuple[str, ...]  #: names; those in `PURE` have no unit
    mean: Callable[..., float]
    variance: Callable[..., float]
    sample: Callable[..., Any]  #: (generator, size, *parameters)
    many: bool = False  #: the one parameter may be given any number of times


#: Parameters that are plain numbers, whatever is distributed.
PURE = frozenset({"shape", "stages"})


def _log_scale(mean: float, std: float) -> tuple[float, float]:
    """Return mu and sigma of the normal law beneath a log-normal one."""
    spread = math.log1p((std / mean) ** 2)
    return math.log(mean) - spread / 2, math.sqrt(spread)


LAWS: Mapping[str, Law] = {
    "const": Law(
        ("value",), lambda value: value, lambda _: 0.0, lambda _, size, value: _full(size, value)
    ),
    "exp": Law(
        ("mean",),
        lambda mean: mean,
        lambda mean: mean**2,
        lambda rng, size, mean: rng.exponential(mean, size),
    ),
    "uniform": Law(
        ("least", "most"),
        lambda least, most: (least + most) / 2,
        lambda least, most: (most - least) ** 2 / 12,
        lambda rng, size, least, most: rng.uniform(least, most, size),
    ),
    "erlang": Law(
        ("stages", "mean"),
        lambda _, mean: mean,
        lambda stages, mean: mean**2 / stages,
        lambda rng, size, stages, mean: rng.gamma(stages, mean / stages, size),
    ),
    "gamma": Law(
        ("shape", "mean"),
        lambda _, mean: mean,
        lambda shape, mean: mean**2 / shape,
        lambda rng, size, shape, mean: rng.gamma(shape, mean / shape, size),
    ),
    "lognormal": Law(
        ("mean", "std"),
        lambda mean, _: mean,
        lambda _, std: std**2,
        lambda rng, size, mean, std: rng.lognormal(*_log_scale(mean, std), size),
    ),
    "weibull": Law(
        ("shape", "scale"),
        lambda shape, scale: scale * math.gamma(1 + 1 / shape),
        lambda shape, scale: (
            scale**2 * (math.gamma(1 + 2 / shape) - math.gamma(1 + 1 / shape) ** 2)
        ),
        lambda rng, size, shape, scale: scale * rng.weibull(shape, size),
    ),
    "sampled": Law(
        ("value",),
        lambda *values: math.fsum(values) / len(values),
        lambda *values: statistics.pvariance(values),
        lambda rng, size, *values: rng.choice(values, size),
        many=True,
    ),
}

#: Shapes in one word, of mean 1, where what is distributed is relative to a mean.
SHAPES: Mapping[str, str] = {
    "constant": "const:1",
    "exponential": "exp:1",
    "uniform": "uniform:0,2",
}


def _full(size: int, value: float) -> Any:
    import numpy as np

    return np.full(size, value)


@attrs.frozen(slots=False)
class Distribution:
    """A distribution of some quantity, in base units.

    Examples
    --------
    >>> Distribution.read("erlang:4,20ms", "s").variance
    0.0001
    """

    law: str
    parameters: tuple[float, ...]

    @classmethod
    def read(cls, text: object, dimension: str) -> Distribution:
        """Return the distribution that ``text`` names; a plain quantity is a constant.

        ``sampled:v1,v2,...`` takes each of the values equally often. Of dimension 1 the words
        of `SHAPES` have a mean of 1.

        Raises
        ------
        ParcastError
            If there is no such law, a parameter is missing, negative or of another dimension.
        """
        whole = SHAPES.get(str(text), str(text)) if dimension == "1" else str(text)
        name, colon, numbers = whole.partition(":")
        if not colon and (is_number_with_unit(whole) or dimension != "1"):
            name, numbers = "const", whole
        if name not in LAWS:
            laws = [*LAWS, *(SHAPES if dimension == "1" else ())]
            hint = did_you_mean(name, laws) or f" Known: {', '.join(laws)}."
            raise ParcastError(f"{text!r}: there is no distribution {name!r}.{hint}")
        names, values = LAWS[name].parameters, numbers.split(",")
        if LAWS[name].many:
            names *= len(values)
        if len(values) != len(names):
            raise ParcastError(f"{text!r} needs the form {name}:{','.join(names)}")
        if any(has_spread(value) for value in values):
            raise ParcastError(f"{text!r}: these numbers carry no uncertainty; give one value each")
        try:
            parameters = tuple(
                _number(value, None if key in PURE else dimension)
                for key, value in zip(names, values, strict=True)
            )
        except UnitError as error:
            raise ParcastError(f"{text!r}: {error}") from None
        _check(name, list(zip(names, parameters, strict=True)), text)
        return cls(name, parameters)

    @cached_property
    def mean(self) -> float:
        """The mean."""
        return LAWS[self.law].mean(*self.parameters)

    @cached_property
    def variance(self) -> float:
        """The variance."""
        return LAWS[self.law].variance(*self.parameters)

    def scaled(self, factor: float) -> Distribution:
        """Return the distribution of ``factor`` times the quantity."""
        law = LAWS[self.law]
        names = law.parameters * (len(self.parameters) if law.many else 1)
        return Distribution(
            self.law,
            tuple(
                value if name in PURE else factor * value
                for name, value in zip(names, self.parameters, strict=True)
            ),
        )

    def sample(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` independent values."""
        drawn: npt.NDArray[np.float64] = LAWS[self.law].sample(generator, size, *self.parameters)
        return drawn


def _number(text: str, dimension: str | None) -> float:
    """Return a parameter in base units; None takes a plain number for what it is."""
    quantity = parse_number(text, dimension or "")
    if dimension is not None:
        check_dimension(quantity.dimension, dimension, text)
    return quantity.value


def _check(law: str, parameters: Sequence[tuple[str, float]], text: object) -> None:
    for key, value in parameters:
        above_zero = key in PURE or (law == "lognormal" and key == "mean")
        if value < 0 or (above_zero and value == 0):
            bound = "above 0" if above_zero else "0 or more"
            raise ParcastError(f"{text!r}: {key} must be {bound}")
    by_name = dict(parameters)
    if law == "uniform" and by_name["least"] > by_name["most"]:
        raise ParcastError(f"{text!r}: the first bound is above the second")
    if "stages" in by_name and by_name["stages"] % 1:
        raise ParcastError(f"{text!r}: stages must be a whole number")
