"""Extra-P's predictions, in its own environment: JSON lines in, JSON lines out.

    uv venv extrap && uv pip install --python extrap/bin/python "extrap==4.2.*"
    extrap/bin/python extrap_models.py < questions > answers

A question is ``[[p...], [seconds...], [p to predict...], options]``. Extra-P models five sizes or
more; with ``fewer`` it is told to model fewer, and with ``negative`` that exponents may be
negative, as times of strong scaling need.
"""

from __future__ import annotations

import json
import sys
import warnings

from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measure, Measurement
from extrap.modelers.single_parameter.basic import SingleParameterModeler

warnings.simplefilter("ignore")


def predicted(sizes: list, seconds: list, wanted: list, options: list) -> list:
    """Return the model's times."""
    modeler = SingleParameterModeler()
    modeler.use_measure = Measure.MEDIAN
    if "negative" in options:
        modeler.allow_negative_exponents = True
    if "fewer" in options:
        modeler.min_measurement_points = min(5, len(sizes))
    measurements = [
        Measurement(Coordinate(p), None, None, several)
        for p, several in zip(sizes, seconds, strict=True)
    ]
    model = modeler.create_model(measurements)
    return [float(model.hypothesis.function.evaluate(p)) for p in wanted]


for line in sys.stdin:
    try:
        answer = predicted(*json.loads(line))
    except Exception as error:  # noqa: BLE001 -- what it cannot model is no answer
        answer = [None, repr(error)]
    print(json.dumps(answer))
