"""Values of parameters: exact numbers, and arrays of them."""

from __future__ import annotations

import attrs

from parcast_pamela.language.functions import ArithmeticRefusedError, Exact


@attrs.frozen
class Array:
    """An array parameter's values; ``lows`` and ``highs`` are its first and last indices."""

    name: str
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    items: tuple[Exact, ...] = attrs.field(repr=False)

    def at(self, indices: tuple[Exact, ...]) -> Exact:
        """Return an element.

        Raises
        ------
        ArithmeticRefusedError
            If an index is not whole or out of range.
        """
        position = 0
        for index, low, high in zip(indices, self.lows, self.highs, strict=True):
            if index.denominator != 1:
                raise ArithmeticRefusedError(f"the index {index} of {self.name} is not whole")
            if not low <= index <= high:
                raise ArithmeticRefusedError(
                    f"the index {index} of {self.name} is not in {low}..{high}"
                )
            position = position * (high - low + 1) + int(index) - low
        return self.items[position]


#: The value of a parameter
Bound = Exact | Array
