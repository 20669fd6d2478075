"""Formulas as equations (1) to (5) give them, every sum and maximum left as it stands."""

from __future__ import annotations

from parcast_pamela.compilation.compiler import Compiled, compile_model
from parcast_pamela.language.model import Model


def compile_plainly(model: Model, transfers: str = "") -> Compiled:
    """Return a model's formulas without closed forms for sums, maxima and demands.

    Their values are those of `compile_model`; evaluating them takes as long as going through
    every loop. Table 3 of the paper calls that time ST_1.
    """
    return compile_model(model, simplify=False, transfers=transfers)
