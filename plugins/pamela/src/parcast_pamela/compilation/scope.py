"""Where an expression stands: enclosing loops, and conditions that hold there."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from parcast_pamela.algebra.polynomials import Polynomial, Symbol


@attrs.frozen
class Scope:
    """What formals and indices stand for, within which loops, if which bracket is 1."""

    local: Mapping[str, Polynomial]
    loops: tuple[Symbol, ...] = ()
    condition: Polynomial | None = None

    def within(self, local: Mapping[str, Polynomial]) -> Scope:
        """Return the scope of a let's or an equation's own body."""
        return attrs.evolve(self, local=local)

    def looped(self, name: str, index: Symbol, value: Polynomial) -> Scope:
        """Return the scope of a loop's body."""
        return attrs.evolve(self, local={**self.local, name: value}, loops=(*self.loops, index))

    def if_(self, condition: Polynomial) -> Scope:
        """Return the scope of what is only reached where a bracket is not 0."""
        both = condition if self.condition is None else self.condition * condition
        return attrs.evolve(self, condition=both)
