"""What every lowering asks of a tree: dependence, uniform control, and what loops carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from parcast.program.source.tree import Assign, For, If, Op, Pool, Statement, Tree
from parcast.quantities.expressions import Expr, names_in

#: A statement's place in the source: line and column, which no two statements share.
Position = tuple[int, int]

#: What a value may change with: ``rank``, ``size``, parameters and loop variables.
Roots = frozenset[str]

_NOTHING: Roots = frozenset()


@attrs.frozen
class Attributes:
    """The attributes of a program, by the place of each statement."""

    #: What each expression of a statement depends on: arguments of an operation by their
    #: name, ``value`` of an assignment, ``test`` of an if, ``start``, ``stop``, ``step`` of
    #: a loop. A variable's own dependences stand for it, those of control included.
    depends: Mapping[Position, Mapping[str, Roots]]
    #: What decides whether, and how often, a statement is reached.
    control: Mapping[Position, Roots]
    #: The variables that a loop carries from one iteration to the next.
    carried: Mapping[Position, frozenset[str]]

    def uniform(self, statement: Statement) -> bool:
        """Tell whether every rank reaches the statement alike."""
        return "rank" not in self.control[place(statement)]


def place(statement: Statement) -> Position:
    """Return where a statement stands."""
    return (statement.line, statement.col)


def attributes_of(tree: Tree) -> Attributes:
    """Return the attributes of a program's tree."""
    result = Attributes({}, {}, {})
    variables = {name: frozenset({name}) for name in ("rank", "size", *tree.parameters)}
    _flow(tree.body, variables, _NOTHING, result)
    return result


def expressions(statement: Statement) -> dict[str, Expr]:
    """Return the expressions of a statement itself, by the names of `Attributes.depends`."""
    match statement:
        case Assign(value=value):
            return {"value": value}
        case If(test=test):
            return {"test": test}
        case For(start=start, stop=stop, step=step):
            return {"start": start, "stop": stop, "step": step}
        case Pool(start=start, stop=stop, step=step, bytes=amount, result=result, master=master):
            attended = {} if master is None else {"result": result, "master": master}
            return {"start": start, "stop": stop, "step": step, "bytes": amount, **attended}
        case Op(arguments=arguments):
            written = (str, bool, type(None))
            return {k: v for k, v in arguments.items() if not isinstance(v, written)}


def _flow(
    body: tuple[Statement, ...], variables: dict[str, Roots], control: Roots, result: Attributes
) -> None:
    """Follow a body, changing ``variables``: what each variable depends on at this point."""
    for statement in body:
        depends = {name: _roots(expr, variables) for name, expr in expressions(statement).items()}
        result.depends[place(statement)] = depends  # type: ignore[index]  # filled here, then read only
        result.control[place(statement)] = control  # type: ignore[index]
        match statement:
            case Assign(variable=variable):
                variables[variable] = depends["value"]
            case If(then=then, otherwise=otherwise):
                test = depends["test"]
                arms = [dict(variables), dict(variables)]
                _flow(then, arms[0], control | test, result)
                _flow(otherwise, arms[1], control | test, result)
                _join(variables, arms, test)
            case For():
                result.carried[place(statement)] = frozenset(_carried(statement))  # type: ignore[index]
                _loop(statement, depends, variables, control, result)
            case Pool(variable=variable, body=inner):
                bounds = depends["start"] | depends["stop"] | depends["step"]
                task = {**variables, variable: bounds | {variable}}
                depends |= {
                    name: _roots(expr, task)
                    for name, expr in expressions(statement).items()
                    if name in {"bytes", "result"}
                }
                _flow(inner, task, control | bounds, result)  # nothing leaves it


def _loop(
    loop: For,
    depends: Mapping[str, Roots],
    variables: dict[str, Roots],
    control: Roots,
    result: Attributes,
) -> None:
    bounds = depends["start"] | depends["stop"] | depends["step"]
    counted = depends["start"] | depends["step"] | {loop.variable}
    before: dict[str, Roots] = {}
    while before != variables:  # what an iteration changes may reach the next one
        before = dict(variables)
        inside = {**variables, loop.variable: counted}
        _flow(loop.body, inside, control | bounds, result)
        _join(variables, [inside, before], bounds)


def _join(variables: dict[str, Roots], ways: list[dict[str, Roots]], control: Roots) -> None:
    """Merge the ways that lead here; what they set differently depends on the choice."""
    for name in {name for way in ways for name in way}:
        roots = [way.get(name, _NOTHING) for way in ways]
        same = all(way.get(name) is variables.get(name) for way in ways)
        variables[name] = variables[name] if same else frozenset().union(*roots, control)


def _roots(expr: Expr, variables: Mapping[str, Roots]) -> Roots:
    return frozenset().union(*(variables.get(name, _NOTHING) for name in names_in(expr)))


def _carried(loop: For) -> Iterator[str]:
    """Yield each variable that an iteration reads before it sets it, and that one sets."""
    yield from _exposed(loop.body, {loop.variable}, set(assigned(loop.body)))


def handed_on(pool: Pool) -> set[str]:
    """Return the variables that a task of a pool reads as another one left them."""
    return set(_exposed(pool.body, {pool.variable}, set(assigned(pool.body))))


def _exposed(body: tuple[Statement, ...], sure: set[str], assigned: set[str]) -> Iterator[str]:
    """Yield what is read while not surely set; add to ``sure`` what the body surely sets."""
    for statement in body:
        for expr in expressions(statement).values():
            yield from (names_in(expr) - sure) & assigned
        match statement:
            case Assign(variable=variable):
                sure.add(variable)
            case If(then=then, otherwise=otherwise):
                arms = [set(sure), set(sure)]
                yield from _exposed(then, arms[0], assigned)
                yield from _exposed(otherwise, arms[1], assigned)
                sure |= arms[0] & arms[1]
            case For(variable=variable, body=inner) | Pool(variable=variable, body=inner):
                yield from _exposed(inner, {*sure, variable}, assigned)


def assigned(body: tuple[Statement, ...]) -> Iterator[str]:
    """Yield the variables that a body sets, those of its loops included."""
    for statement in body:
        match statement:
            case Assign(variable=variable):
                yield variable
            case If(then=then, otherwise=otherwise):
                yield from assigned(then)
                yield from assigned(otherwise)
            case For(variable=variable, body=inner) | Pool(variable=variable, body=inner):
                yield variable
                yield from assigned(inner)
