"""A program without variables: loops, conditions and operations, every expression in full."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from parcast.errors import FormulaError, UnsupportedError
from parcast.program import Assign, For, If, Op, Statement, Tree
from parcast.program.source import Argument, assigned, attributes_of, place
from parcast.quantities import Call, Expr, Name, Num, Value, evaluate, names_in

#: Functions that the language has no word for
_WITHOUT_WORD = frozenset({"dims"})

#: What stands for a variable whose value at this point is that of some iteration
_LOST = None


@attrs.frozen
class Substituted:
    """A program's statements in terms of ``rank``, ``size``, parameters and loop variables.

    ``derived`` are parameters more: expressions of ``size`` and parameters alone that the language
    cannot say, by the names that stand for them. ``assumed`` are the conditions on these that
    decided which statements are there.
    """

    body: tuple[Statement, ...]
    derived: Mapping[str, Expr]
    assumed: tuple[Expr, ...]


def substitute(tree: Tree, values: Mapping[str, Value]) -> Substituted:
    """Return the statements of a program with its assignments put where they are read.

    Parameters
    ----------
    tree
        The program.
    values
        ``size`` and the parameters, which decide conditions on them alone, and whether a loop
        counts up or down; everything else stays symbolic.

    Raises
    ------
    UnsupportedError
        If a loop carries a variable, or one is read after the loop that sets it.
    """
    substitution = _Substitution(tree, values)
    body, _ = substitution.body(tree.body, {})
    derived = {name: expr for expr, name in substitution.derived.items()}
    return Substituted(tuple(body), derived, tuple(dict.fromkeys(substitution.assumed)))


class _Substitution:
    def __init__(self, tree: Tree, values: Mapping[str, Value]) -> None:
        self.tree, self.values = tree, values
        self.carried = attributes_of(tree).carried
        self.fixed = {"size", *tree.parameters}
        self.taken = {"rank", *self.fixed}
        self.derived: dict[Expr, str] = {}
        self.assumed: list[Expr] = []

    def body(
        self, body: tuple[Statement, ...], variables: dict[str, Expr | None]
    ) -> tuple[list[Statement], dict[str, Expr | None]]:
        """Return statements, and what every variable is after them."""
        statements: list[Statement] = []
        for statement in body:
            match statement:
                case Assign(variable=variable, value=value):
                    variables = {
                        **variables,
                        variable: self.expr(value, variables, variable, statement.line),
                    }
                case Op():
                    statements.append(self._operation(statement, variables))
                case If():
                    choice, variables = self._choice(statement, variables)
                    statements += choice
                case For():
                    statements.append(self._loop(statement, variables))
                    changed = {statement.variable, *assigned(statement.body)}
                    variables = {**variables, **dict.fromkeys(changed, _LOST)}
        return statements, variables

    def _operation(self, op: Op, variables: Mapping[str, Expr | None]) -> Op:
        def argument(value: Argument) -> Argument:
            if value is None or isinstance(value, str | bool):
                return value
            return self.expr(value, variables, op.name, op.line)

        return attrs.evolve(op, arguments={k: argument(v) for k, v in op.arguments.items()})

    def _choice(
        self, branch: If, variables: dict[str, Expr | None]
    ) -> tuple[list[Statement], dict[str, Expr | None]]:
        """Return the condition, or the arm that is taken, and what variables are after it."""
        test = self.expr(branch.test, variables, "test", branch.line)
        if (decided := self._decided(test)) is not None:
            self.assumed.append(test if decided else Call("not", (test,)))
            return self.body(branch.then if decided else branch.otherwise, variables)
        then, after = self.body(branch.then, variables)
        otherwise, after_else = self.body(branch.otherwise, variables)
        merged: dict[str, Expr | None] = {}
        for name in {**after, **after_else}:
            a, b = after.get(name, _LOST), after_else.get(name, _LOST)
            both = None if a is None or b is None else Call("if", (test, a, b))
            merged[name] = a if a == b else both
        choice = attrs.evolve(branch, test=test, then=tuple(then), otherwise=tuple(otherwise))
        return [choice], merged

    def _decided(self, test: Expr) -> bool | None:
        """Return what a condition on ``size`` and parameters alone is, None for any other."""
        if not names_in(test) <= {*self.fixed, *self.derived.values()}:
            return None
        values = {name: evaluate(expr, self.values) for expr, name in self.derived.items()}
        return bool(evaluate(test, {**self.values, **values}))

    def _loop(self, loop: For, variables: dict[str, Expr | None]) -> For:
        """Return the loop with steps of 1, its variable of a name of its own."""
        start, stop, step = (
            self.expr(bound, variables, loop.variable, loop.line)
            for bound in (loop.start, loop.stop, loop.step)
        )
        for name in sorted(self.carried[place(loop)]):
            raise self._refused(
                loop.line,
                f"{name!r} carries a value round the loop; PAMELA has no variables: write it with "
                "the loop's index",
            )
        counter = self._fresh(loop.variable)
        value: Expr = Name(counter)
        if step != Num(1):
            sign, size = self._sized(step, loop)
            value = Call(sign, (start, Call("*", (size, value))))
            span = (start, stop) if sign == "+" else (stop, start)
            start, stop = Num(0), Call("neg", (Call("//", (Call("-", span), size)),))
        body, _ = self.body(loop.body, {**variables, loop.variable: value})
        return attrs.evolve(
            loop, variable=counter, start=start, stop=stop, step=Num(1), body=tuple(body)
        )

    def _sized(self, step: Expr, loop: For) -> tuple[str, Expr]:
        """Return whether a loop counts up or down, and by how much, which is never 0."""
        try:
            up = evaluate(step, self.values) >= 0
        except FormulaError:
            raise self._refused(
                loop.line, "the loop's step differs between processes or iterations; count by 1"
            ) from None
        if isinstance(step, Num):
            return ("+", step) if up else ("-", Num(-step.value))
        # it may be 0 where the loop is not reached
        return ("+" if up else "-"), Call("max", (Num(1), step if up else Call("neg", (step,))))

    def expr(
        self, expr: Expr, variables: Mapping[str, Expr | None], name_hint: str, line: int
    ) -> Expr:
        """Return an expression with the values of variables in their places."""
        match expr:
            case Name(id=name):
                if name in variables:
                    value = variables[name]
                    if value is None:
                        raise self._refused(
                            line,
                            f"{name!r} is what an iteration or one arm of a condition left there; "
                            "PAMELA has no variables: set it where it is read",
                        )
                    return value
                return Name(name)
            case Call(f=f, args=args):
                inner = tuple(self.expr(arg, variables, name_hint, line) for arg in args)
                call = Call(f, inner)
                if f not in _WITHOUT_WORD:
                    return call
                if not names_in(call) <= self.fixed:
                    raise self._refused(
                        line, f"{f}() of a rank or a loop's index has no word in PAMELA"
                    )
                if call not in self.derived:
                    self.derived[call] = self._fresh(name_hint)
                return Name(self.derived[call])
        return Num(expr.value)

    def _fresh(self, name_hint: str) -> str:
        name, count = name_hint, 1
        while name in self.taken:
            count += 1
            name = f"{name_hint}_{count}"
        self.taken.add(name)
        return name

    def _refused(self, line: int, sentence: str) -> UnsupportedError:
        return UnsupportedError(f"{self.tree.where or self.tree.name}:{line}: {sentence}")
