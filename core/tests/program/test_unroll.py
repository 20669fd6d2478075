import ast
import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import InvalidPointError
from parcast.program import OPERATIONS
from parcast.program.reader import read_source
from parcast.program.unroll import MOST_STEPS, unroll
from program.calling import call
from program.random_programs import random_source


def unrolled(source, size, **parameters):
    program = read_source(source, "stencil.py").content
    return unroll(program, size, {**program.parameters, **parameters})


def program(*lines):
    return "def program(rank, size, n=4):\n" + "".join(f"    {line}\n" for line in lines)


def values(found, name="flops"):
    """The argument of every rank's operations."""
    return [[op.arguments[name] for op in listed] for listed in found.by_rank()]


def refusal(*lines, size=4):
    with pytest.raises(InvalidPointError) as raised:
        unrolled(program(*lines), size)
    return str(raised.value)


class _Strict(ast.NodeTransformer):
    """Refuse where Python is laxer: infinite assignments, complex and endless powers."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], [])
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Call) and node.value.func.id in OPERATIONS):
            node.value = ast.Call(ast.Name("finite", ast.Load()), [node.value], [])
        return node


STRICT = """
from parcast.expressions import power
def finite(x):
    if not math.isfinite(x):
        raise OverflowError
    return x
"""


def strict(source):
    text = source.replace("x += ", "x = x + ").replace("y += ", "y = y + ")
    tree = ast.fix_missing_locations(_Strict().visit(ast.parse(text)))
    return STRICT + ast.unparse(tree)


def checked(operation, size):
    """The operation as blocks hold it, if its arguments are what it takes."""
    arguments = dict(operation.arguments)
    for argument in OPERATIONS[operation.op]:
        value = arguments.get(argument.name)
        match argument.takes:
            case "rank":
                any_source = operation.op == "recv" and value == -1
                assert isinstance(value, int)
                assert any_source or 0 <= value < size
            case "whole":
                assert isinstance(value, int)
                assert 0 <= value < 2**63
            case "color" if value is not None:
                assert isinstance(value, int)
                assert -(2**63) <= value < 2**63
            case "amount":
                assert math.isfinite(value)
                assert value >= 0
    return attrs.evolve(operation, arguments=arguments)


def equal(operation, wanted):
    if (operation.op, operation.requests) != (wanted.op, wanted.requests):
        return False
    if operation.arguments.keys() != wanted.arguments.keys():
        return False
    takes = {argument.name: argument.takes for argument in OPERATIONS[wanted.op]}
    for name, value in wanted.arguments.items():
        found = operation.arguments[name]
        same = float(found) == float(value) if takes[name] == "amount" else found == value
        if not same or (takes[name] in ("rank", "whole") and type(found) is not int):
            return False
    return True


def compare_with_calling(source, size):
    try:
        called = call(strict(source), size).by_rank()
        wanted = [[checked(op, size) for op in listed] for listed in called]
    except (ArithmeticError, ValueError, TypeError, NameError, AssertionError, Exception):
        with pytest.raises(InvalidPointError, match=r"^stencil.py:\d+: at p=\d+ rank \d+ "):
            unrolled(source, size)
        return False
    found = unrolled(source, size).by_rank()
    for listed, expected in zip(found, wanted, strict=True):
        assert len(listed) == len(expected)
        assert all(map(equal, listed, expected)), (listed, expected)
    return True


@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(1, 7))
def test_every_rank_has_the_operations_that_calling_the_program_gives(rng, size):
    compare_with_calling(random_source(rng), size)
