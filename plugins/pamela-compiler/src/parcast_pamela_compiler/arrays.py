"""Arrays that are spread over processors: who owns an element, and how far apart stores lie."""

from __future__ import annotations

import attrs

from parcast.quantities import Call, Expr, Name, Num
from parcast_pamela_compiler.affine import ONE, ZERO, constant, minus, plus, slope, times
from parcast_pamela_compiler.processes import Header

P = Name("P")


@attrs.frozen
class Array:
    """An array by rows; ``kinds`` says of each axis ``block``, ``cyclic`` or ``whole``.

    At most one axis is spread; without any, each processor has the array as a whole.
    """

    name: str
    extents: tuple[Expr, ...]
    kinds: tuple[str, ...]

    @property
    def axis(self) -> int | None:
        """The axis that is spread."""
        spread = [i for i, kind in enumerate(self.kinds) if kind != "whole"]
        return spread[0] if spread else None

    @property
    def function(self) -> str:
        """What the model calls the function from an index of that axis to its owner."""
        return f"owner_{self.name}"

    @property
    def block(self) -> Expr:
        """How many indices of that axis a processor has, if they are in blocks."""
        assert self.axis is not None
        return Call("/", (self.extents[self.axis], P))


@attrs.frozen
class Owner:
    """The processor of an index of an array's axis; without an array, of this number."""

    array: Array | None
    index: Expr

    @property
    def expr(self) -> Expr:
        """The processor's number."""
        return Call(self.array.function, (self.index,)) if self.array else self.index


@attrs.frozen
class Reference:
    """An element of an array; a subscript that only the data tell is None."""

    array: Array
    subscripts: tuple[Expr | None, ...]

    @property
    def owner(self) -> Owner | None:
        """Whose the element is, None if it is everybody's or only the data tell."""
        axis = self.array.axis
        index = None if axis is None else self.subscripts[axis]
        return None if index is None else Owner(self.array, index)

    def stride(self, header: Header | None) -> Expr | None:
        """Return how many elements after the last one this lies, in a loop; None if unknown.

        Arrays lie by rows, and an element where it would if there were one processor, so that
        the next one of a cyclic axis is P further (van Gemund 2003, section 4.4).
        """
        if header is None:
            return ONE
        total: Expr = ZERO
        for axis, subscript in enumerate(self.subscripts):
            growth = None if subscript is None else slope(subscript, header.variable)
            if growth is None:
                return None
            step = times(Num(header.by), growth)
            if self.array.kinds[axis] == "cyclic" and constant(step) != 0:
                step = _cyclic_step(step)
            for extent in self.array.extents[axis + 1 :]:
                step = times(extent, step)
            total = plus(total, step)
        return _distance(total)


def _cyclic_step(step: Expr) -> Expr:
    number = constant(step)
    if number is not None and abs(number) == 1:
        return times(P, step)
    return Call("/", (times(P, step), Call("gcd", (P, step))))


def _distance(step: Expr) -> Expr:
    """Return the size of a step, at least 1: a store is never free."""
    number = constant(step)
    if number is not None:
        return Num(max(1, abs(number)))
    if isinstance(step, Call) and step.f == "neg":
        step = step.args[0]
    if isinstance(step, Call) and step.f in {"+", "-"}:
        return Call("max", (ONE, Call("abs", (step,))))
    return step


def owners_differ(left: Owner, right: Owner) -> Expr | bool:
    """Return the condition that two owners differ."""
    if left.expr == right.expr:
        return False
    if not _same_layout(left, right):
        return Call("!=", (left.expr, right.expr))
    distance = constant(minus(left.index, right.index))
    if distance is None or left.array is None:
        return Call("!=", (left.expr, right.expr))
    if distance == 0:
        return False
    size = Num(abs(distance))
    if left.array.kinds[left.array.axis or 0] == "cyclic":
        if size == ONE:
            return Call(">", (P, ONE))
        return Call("!=", (Call("%", (size, P)), ZERO))
    block = left.array.block
    if size == ONE:
        later = left.index if distance > 0 else right.index
        return Call("==", (Call("%", (later, block)), ZERO))
    within = Call("%", (right.index, block))
    if distance < 0:
        return Call("<", (within, size))
    return Call(">=", (within, Call("-", (block, size))))


def _same_layout(left: Owner, right: Owner) -> bool:
    """Return whether two arrays are spread alike along these axes."""
    if left.array is None or right.array is None:
        return False
    axes = left.array.axis or 0, right.array.axis or 0
    return (left.array.kinds[axes[0]], left.array.extents[axes[0]]) == (
        right.array.kinds[axes[1]],
        right.array.extents[axes[1]],
    ) or (left.array.kinds[axes[0]] == right.array.kinds[axes[1]] == "cyclic")
