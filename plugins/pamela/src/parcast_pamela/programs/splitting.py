"""Where all processes wait for all: a program cut at the collectives that nobody leaves early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs

from parcast.program import For, If, Op, Statement
from parcast.quantities import Call, Expr, Name, Num, names_in

#: Whether an operation is one that nobody leaves before all have come
Joins = Callable[[Op], bool]


@attrs.frozen
class Segment:
    """Statements between two such collectives; the one at their end, None at the program's."""

    body: tuple[Statement, ...]
    end: Op | None


@attrs.frozen
class Repeat:
    """Segments of a loop, each ended by a collective."""

    variable: str
    start: Expr
    stop: Expr
    pieces: tuple[Piece, ...]


Piece = Segment | Repeat


@attrs.frozen
class Cut:
    """A program in pieces, and the conditions under which it may be cut so."""

    pieces: tuple[Piece, ...]
    assumed: tuple[Expr, ...]


def cut(body: Sequence[Statement], joins: Joins, runs: Callable[[For], bool]) -> Cut:
    """Return a program in pieces.

    A loop is cut where a collective stands in its body itself. Where something stands before the
    loop or after its last collective, an iteration is taken from there to the last collective of
    the next iteration. ``runs`` tells whether a loop has an iteration: only then may it be cut so,
    which the model assumes.
    """
    assumed: list[Expr] = []
    pieces = tuple(_pieces(tuple(with_barriers(body)), joins, runs, assumed))
    return Cut(pieces, tuple(assumed))


def with_barriers(body: Sequence[Statement]) -> Iterator[Statement]:
    """Yield a body's statements, each collective access as a barrier, the access, and a barrier."""
    for one in body:
        match one:
            case Op(arguments={"collective": True}):
                barrier = attrs.evolve(one, name="barrier", arguments={"color": None})
                access = attrs.evolve(one, arguments={**one.arguments, "collective": False})
                yield from (barrier, access, barrier)
            case For(body=inner):
                yield attrs.evolve(one, body=tuple(with_barriers(inner)))
            case If(then=then, otherwise=otherwise):
                arms = tuple(with_barriers(then)), tuple(with_barriers(otherwise))
                yield attrs.evolve(one, then=arms[0], otherwise=arms[1])
            case _:
                yield one


def _pieces(
    body: tuple[Statement, ...], joins: Joins, runs: Callable[[For], bool], assumed: list[Expr]
) -> Iterator[Piece]:
    waiting: list[Statement] = []
    for one in body:
        if isinstance(one, Op) and joins(one):
            yield Segment(tuple(waiting), one)
            waiting = []
        elif isinstance(one, For) and _cuttable(one, joins):
            until, after = _around_last(one.body, joins)
            if not waiting and not after:
                inner = tuple(_pieces(until, joins, runs, assumed))
                yield Repeat(one.variable, one.start, one.stop, inner)
            elif runs(one):
                assumed.append(Call(">", (one.stop, one.start)))
                yield from _turned((*waiting,), one, joins, runs, assumed)
                waiting = list(_at(after, one.variable, Call("-", (one.stop, Num(1)))))
            else:
                waiting.append(one)
        else:
            waiting.append(one)
    if waiting:
        yield Segment(tuple(waiting), None)


def _turned(
    before: tuple[Statement, ...],
    loop: For,
    joins: Joins,
    runs: Callable[[For], bool],
    assumed: list[Expr],
) -> Iterator[Piece]:
    """Yield a loop up to its last collective, its iterations from one collective to the next."""
    until, after = _around_last(loop.body, joins)
    entered = _at(until, loop.variable, loop.start)
    yield from _pieces((*before, *entered), joins, runs, assumed)
    later = _at(until, loop.variable, Call("+", (Name(loop.variable), Num(1))))
    again = tuple(_pieces((*after, *later), joins, runs, assumed))
    yield Repeat(loop.variable, loop.start, Call("-", (loop.stop, Num(1))), again)


def _cuttable(loop: For, joins: Joins) -> bool:
    uniform = "rank" not in names_in(loop.start) | names_in(loop.stop)
    return uniform and any(isinstance(one, Op) and joins(one) for one in loop.body)


def _around_last(
    body: tuple[Statement, ...], joins: Joins
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Return what stands up to the last collective of a body, and what stands after it."""
    last = max(i for i, one in enumerate(body) if isinstance(one, Op) and joins(one))
    return body[: last + 1], body[last + 1 :]


def _at(body: tuple[Statement, ...], variable: str, value: Expr) -> tuple[Statement, ...]:
    """Return statements with a value in a loop variable's place."""

    def put(expr: Expr) -> Expr:
        match expr:
            case Name(id=name):
                return value if name == variable else expr
            case Call(args=args):
                return attrs.evolve(expr, args=tuple(map(put, args)))
        return expr

    def at(one: Statement) -> Statement:
        match one:
            case Op(arguments=arguments):
                written = (str, bool, type(None))
                changed = {k: v if isinstance(v, written) else put(v) for k, v in arguments.items()}
                return attrs.evolve(one, arguments=changed)
            case If(test=test, then=then, otherwise=otherwise):
                arms = tuple(map(at, then)), tuple(map(at, otherwise))
                return attrs.evolve(one, test=put(test), then=arms[0], otherwise=arms[1])
            case For(start=start, stop=stop, body=inner):
                return attrs.evolve(
                    one, start=put(start), stop=put(stop), body=tuple(map(at, inner))
                )
        raise TypeError(one)

    return tuple(map(at, body))
