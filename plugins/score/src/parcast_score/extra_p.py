"""Extra-P as a predictor: its model of each series, by its own rules, where it is installed.

Extra-P (Calotoiu, Hoefler, Poke, Wolf, SC13) searches a constant and one term c p^i log2(p)^j that
fit a series of one parameter, and asks for five sizes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from statistics import median

from parcast import Prediction, Status
from parcast.model import Measured, Point, Question
from parcast_score.baselines import by_series

#: Sizes of a series that Extra-P asks for.
FEWEST = 5

_ABSENT = "Extra-P is not installed; pip install extrap brings it"


def predict(question: Question) -> list[Prediction]:
    """Predict by Extra-P's model of the calibrating points of each series."""
    if find_spec("extrap") is None:
        absent = Prediction(status=Status.REFUSED, message=_ABSENT)
        return [absent] * len(question.points)
    return by_series(question, _predict)


def _predict(measured: Sequence[Measured], point: Point) -> float | str:
    points = [*(item.point for item in measured), point]
    strong = len({f"{place.work:.9g}" for place in points}) == 1
    if not strong and len({f"{place.work / place.size:.9g}" for place in points}) > 1:
        return "its work changes otherwise than with the size, Extra-P's one parameter"
    seconds: dict[float, list[float]] = {}
    for item in measured:
        seconds.setdefault(item.point.size, []).append(item.seconds)
    if len(seconds) < FEWEST:
        return f"{len(seconds)} sizes of its series calibrate, Extra-P asks for {FEWEST}"
    medians = {size: median(several) for size, several in sorted(seconds.items())}
    (time,) = modeled(medians, [point.size], strong=strong)
    return time if time > 0 and math.isfinite(time) else f"its model has {time:.3g} s there"


def modeled(
    seconds: Mapping[float, float], sizes: Sequence[float], *, strong: bool = False
) -> list[float]:
    """Return what Extra-P's model of seconds by size has at other sizes.

    Exponents may be negative where the work is the same at all sizes (``strong``), as Extra-P has
    it for strong scaling.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports, and of sizes below 1
        from extrap.entities.coordinate import Coordinate
        from extrap.entities.measurement import Measurement
        from extrap.modelers.single_parameter.basic import SingleParameterModeler

        modeler = SingleParameterModeler()
        modeler.allow_negative_exponents = strong
        measurements = [Measurement(Coordinate(p), None, None, [t]) for p, t in seconds.items()]
        model = modeler.create_model(measurements)
        return [float(model.hypothesis.function.evaluate(size)) for size in sizes]
