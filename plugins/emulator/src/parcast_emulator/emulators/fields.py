"""Fields that emulators have in common: formulas of numbers, bytes and seconds."""

from __future__ import annotations

from typing import Annotated

from parcast import Formula, Unit

Number = Annotated[Formula, Unit("1", positive=True)]
Bytes = Annotated[Formula, Unit("B", positive=True)]
Time = Annotated[Formula, Unit("s")]

#: How many nodes, from the first, hold the data; 0: all of them.
Servers = Annotated[Formula, Unit("1")]


def constant(value: float, unit: str = "1") -> Formula:
    """Return a formula that is this number: the default of a field."""
    return Formula.read(value, Unit(unit))
