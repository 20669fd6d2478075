"""The heads of loops: ranges, and how often a loop runs that only the data end."""

from __future__ import annotations

import ast

from parcast.quantities import Call, Expr, Num
from parcast_pamela_compiler.affine import ONE, ZERO, minus, plus
from parcast_pamela_compiler.processes import Header
from parcast_pamela_compiler.scope import Scope

#: The variable of a loop that counts what only the data tell; no name of Python's
COUNT = "$count"


def counted_loop(node: ast.For | ast.While, scope: Scope) -> Header | None:
    """Return a loop that runs as often as a comment states, None without."""
    count = scope.comment(node, "times")
    if count is None:
        return None
    if not isinstance(count, Num) or not isinstance(count.value, int):
        count = Call("ceil", (count,))
    depth = sum(loop.variable.startswith(COUNT) for loop in scope.loops)
    return Header("seq", f"{COUNT}{depth or ''}", ONE, count)


def range_of(node: ast.For, name: str, scope: Scope) -> Header:
    """Return the head of a loop over ``range(...)`` or, in parallel, ``forall(...)``."""
    call = node.iter
    kinds = {"range": "seq", "forall": "par"}
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.func.id not in kinds
        or call.keywords
        or not 1 <= len(call.args) <= 3
    ):
        scope.source.fail(node, f"a loop goes over {ast.unparse(call)!r}; write 'range(...)', or "
                                "'forall(...)' if its iterations are parallel")  # fmt: skip
    ends = [scope.known(argument) for argument in call.args]
    for bound, argument in zip(ends, call.args, strict=True):
        if bound is None:
            scope.source.fail(
                node,
                f"only the data tell the bound {ast.unparse(argument)!r}; write parameters and "
                "loop variables, or say how often the loop runs: '# pamela: times = ...'",
            )
    first, end, *by = (
        [bound for bound in ends if bound is not None] if len(ends) > 1 else (ZERO, *ends)
    )
    assert first is not None
    assert end is not None
    step = by[0] if by else ONE
    if not isinstance(step, Num) or not isinstance(step.value, int) or step.value == 0:
        scope.source.fail(node, f"the step {ast.unparse(call.args[-1])!r} has no place; write a "
                                "whole number other than 0")  # fmt: skip
    if step.value < 0:
        return _backwards(kinds[call.func.id], name, first, end, -step.value)
    return Header(kinds[call.func.id], name, first, minus(end, ONE), step.value)


def _backwards(kind: str, name: str, first: Expr, end: Expr, by: int) -> Header:
    """Return a loop that counts down, by its indices from the lowest: the sum is the same."""
    if by == 1:
        return Header(kind, name, plus(end, ONE), first)
    steps = Call("//", (minus(minus(first, end), ONE), Num(by)))
    return Header(kind, name, minus(first, Call("*", (Num(by), steps))), first, by)
