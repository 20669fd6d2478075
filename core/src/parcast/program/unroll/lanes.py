"""Values on many ranks at once, each exactly what Python gives on that rank.

Values are those of `parcast.program.unroll.arithmetic`; one lane alone has Python numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model.answers import Answers, Sources
from parcast.program.unroll.arithmetic import LaneError, apply, fits
from parcast.program.unroll.blocks import Ranks
from parcast.quantities.expressions import Call, Expr, Name, Num, Value


@attrs.frozen(eq=False)
class Lanes:
    """A set of ranks, known by its identity."""

    ranks: Ranks  #: rising
    whole: bool = False  #: all ranks of the program


@attrs.frozen(eq=False)
class Partial:
    """The value of a variable that only some lanes have given one."""

    value: Any
    defined: NDArray[np.bool_]


@attrs.frozen(eq=False)
class Scope:
    """The variables of some lanes: those set here, and through ``outer`` all others."""

    lanes: Lanes
    values: dict[str, Any] = attrs.field(factory=dict)
    outer: Scope | None = None
    index: Ranks | None = None  #: where these lanes stand among those of ``outer``

    def narrowed(self, index: Ranks, lanes: Lanes | None = None) -> Scope:
        """Return a scope of the lanes at ``index``."""
        return Scope(lanes or Lanes(self.lanes.ranks[index]), {}, self, index)

    def origin(self, name: str) -> Any:
        """Return a variable as the scope holds it that has set it, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None

    def find(self, name: str) -> Any:
        """Return a variable on these lanes, which may be `Partial`, or None if none has it."""
        if name in self.values or self.outer is None:
            return self.values.get(name)
        return take(self.outer.find(name), self.index)

    def read(self, name: str, without: str = "reads {!r} before it has a value") -> Any:
        """Return a variable on these lanes, all of which must have it."""
        value = self.find(name)
        if value is None or isinstance(value, Partial):
            lane = 0 if value is None else int(value.defined.argmin())
            raise LaneError(without.format(name), self.lanes.ranks[lane])
        return value

    def merge(self, inner: Scope) -> None:
        """Set on the lanes of ``inner`` what was set there."""
        assert inner.index is not None
        for name, value in inner.values.items():
            count = len(self.lanes.ranks)
            self.values[name] = _merged(self.find(name), inner.index, value, count)


def take(value: Any, index: Ranks | None) -> Any:
    """Return a value, which may be `Partial` or None, on the lanes at ``index`` (None: all)."""
    if index is None:
        return value
    if isinstance(value, Partial):
        defined = value.defined[index]
        values = take(value.value, index)
        return values if defined.all() else Partial(values, defined) if defined.any() else None
    if not isinstance(value, np.ndarray):
        return value
    return value[index] if len(index) > 1 else value.item(index[0])


def blend(count: int, parts: Sequence[tuple[Ranks, Any]]) -> NDArray[Any]:
    """Return the value on ``count`` lanes that is given for the lanes at each index."""
    dtypes = {_dtype(value) for _, value in parts}
    if dtypes == {np.dtype(bool), np.dtype(np.int64)}:
        dtypes = {np.dtype(np.int64)}
    out = np.zeros(count, dtypes.pop() if len(dtypes) == 1 else object)
    for index, value in parts:
        out[index] = value
    return out


def _merged(old: Any, index: Ranks, new: Any, count: int) -> Any:
    """Return ``old`` with ``new`` at ``index``: ``old`` itself, to be shared, if it is the same."""
    if _same(take(old, index), new):
        return old
    was, had = (old.value, old.defined) if isinstance(old, Partial) else (old, old is not None)
    now, has = (new.value, new.defined) if isinstance(new, Partial) else (new, True)
    defined = np.full(count, had)
    defined[index] = False
    remaining = np.flatnonzero(defined)
    defined[index] = has
    value = blend(
        count,
        [(remaining, take(was, remaining)), (index, now)] if len(remaining) else [(index, now)],
    )
    return value if defined.all() else Partial(value, defined)


def _same(a: Any, b: Any) -> bool:
    if a is None or isinstance(a, Partial) or isinstance(b, Partial):
        return False
    dtype = _dtype(a)  # equal numbers in objects may differ in type: 1 and 1.0
    return dtype == _dtype(b) and dtype.kind != "O" and bool(np.all(a == b))


def _dtype(value: Any) -> np.dtype[Any]:
    if isinstance(value, np.ndarray):
        return value.dtype  # type: ignore[no-any-return]
    if not fits(value):
        return np.dtype(object)
    return np.dtype(np.int64 if type(value) is int else type(value))


def truth(value: Any) -> Any:
    """Return the truth of a value: a bool, or an array of them."""
    return value.astype(bool, copy=False) if isinstance(value, np.ndarray) else bool(value)


def finite(value: Any, ranks: Ranks) -> Any:
    """Return the value if every lane's is a finite float or an integer that has one."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        ok = np.isfinite(value)
    elif isinstance(value, np.ndarray):
        ok = np.array([_finite(number) for number in value])
    else:
        ok = np.array([_finite(value)])
    if not ok.all():
        raise LaneError("meets an overflow: a value that no finite float holds", ranks[ok.argmin()])
    return value


def _finite(value: Value) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def evaluate(expr: Expr, scope: Scope) -> Any:
    """Return what Python gives for ``expr`` on every lane of the scope.

    Arms of conditions are evaluated on the lanes that choose them. A value may be infinite.

    Raises
    ------
    LaneError
        If Python raises on a lane, or a variable has no value there.
    """
    match expr:
        case Num(value):
            return value
        case Name(id):
            return scope.read(id)
        case Call("if", (test, then, otherwise)):
            chosen = truth(evaluate(test, scope))
            return _either(
                chosen, scope, lambda s: evaluate(then, s), lambda s: evaluate(otherwise, s)
            )
        case Call("and" | "or" as word, args):
            return _chain(word, args, scope)
        case Call(f, args):
            return apply(f, [evaluate(arg, scope) for arg in args], scope.lanes.ranks)
    raise TypeError(expr)


_Arm = Callable[[Scope], Any]


def _either(test: Any, scope: Scope, then: _Arm, otherwise: _Arm) -> Any:
    if not isinstance(test, np.ndarray):
        return (then if test else otherwise)(scope)
    if test.all() or not test.any():
        return (then if test[0] else otherwise)(scope)
    yes, no = np.flatnonzero(test), np.flatnonzero(~test)
    return blend(len(test), [(yes, then(scope.narrowed(yes))), (no, otherwise(scope.narrowed(no)))])


def _chain(word: str, args: Sequence[Expr], scope: Scope) -> Any:
    if len(args) == 1:
        return evaluate(args[0], scope)
    half = len(args) // 2  # so that no recursion runs out, however long the chain
    value = _chain(word, args[:half], scope)

    def further(inner: Scope) -> Any:
        return _chain(word, args[half:], inner)

    def settled(inner: Scope) -> Any:
        return value if inner is scope else take(value, inner.index)

    arms = (further, settled) if word == "and" else (settled, further)
    return _either(truth(value), scope, *arms)


class Memo:
    """Values made before, a few for each place that makes them, known by what they depend on.

    So what does not change round a loop is made once and shared.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._places: dict[Any, tuple[object, Answers]] = {}

    def get(
        self, where: object, sources: Sources, make: Callable[[], Any], use: object = ""
    ) -> Any:
        """Return what ``make`` gives, or what it gave here for the same sources and use."""
        place = self._places.get((id(where), use))
        if place is None:
            place = self._places[id(where), use] = where, Answers(self._limit)
        return place[1].once(sources, make)
