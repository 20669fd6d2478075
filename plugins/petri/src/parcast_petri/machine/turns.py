"""Round robin, the way of sharing a core that some machines state for their background jobs."""

from __future__ import annotations

import math

import attrs

from parcast.errors import ParcastError, UnitError
from parcast.quantities import to_base


@attrs.frozen
class Turns:
    """Round robin: seconds of a turn, and what each takes besides to begin."""

    quantum: float
    switch: float = 0.0

    @classmethod
    def read(cls, text: str) -> Turns:
        """Return what ``rr:quantum[,switch]`` spells.

        Raises
        ------
        ParcastError
            If it spells nothing.
        """
        word, _, durations = text.partition(":")
        values = durations.split(",")
        if word != "rr" or len(values) > 2:
            raise ParcastError(
                f"scheduling = {text!r} must be ps, priority or rr:QUANTUM[,SWITCH], such as "
                "rr:10ms,5us"
            )
        try:
            turns = cls(*(to_base(value, "s") for value in values))
        except UnitError as error:
            raise ParcastError(f"scheduling = {text!r}: {error}") from None
        if not (0 < turns.quantum < math.inf and 0 <= turns.switch < math.inf):
            raise ParcastError(
                f"scheduling = {text!r}: the quantum must be above 0, and the switch 0 or more"
            )
        return turns
