import ast
import math
import random

import attrs
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parcast.errors import FormulaError, InvalidPointError
from parcast.program import OPERATIONS
from parcast.program.reader import read_source
from parcast.program.unroll.unrolling import MOST_STEPS, unroll
from parcast.testing import cases

from .calling import AnySource, call
from .random_programs import random_source


def unrolled(source, size, **parameters):
    program = read_source(source, "stencil.py").content.tree
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
        strict = {ast.Pow: "power", ast.LShift: "shifted"}.get(type(node.op))
        if strict:
            return ast.Call(ast.Name(strict, ast.Load()), [node.left, node.right], [])
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Call) and node.value.func.id in OPERATIONS):
            node.value = ast.Call(ast.Name("finite", ast.Load()), [node.value], [])
        return node

    def visit_AugAssign(self, node):
        total = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return self.visit(ast.Assign([node.target], total))


STRICT = """
from parcast.quantities.expressions import OPERATORS, power
shifted = OPERATORS["<<"]
def finite(x):
    if not math.isfinite(x):
        raise OverflowError
    return x
"""


def strict(source):
    tree = ast.fix_missing_locations(_Strict().visit(ast.parse(source)))
    return STRICT + ast.unparse(tree)


def checked(operation, size):
    """The operation as blocks hold it, if its arguments are what it takes."""
    arguments = dict(operation.arguments)
    for argument in OPERATIONS[operation.op]:
        value = arguments.get(argument.name)
        match argument.takes:
            case "rank":
                assert isinstance(value, int)
                assert isinstance(value, AnySource) or 0 <= value < size
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
        if name == "bytes":  # whole where rounding alone keeps them from it
            same = math.isclose(found, value, rel_tol=1e-9)
        if not same or (takes[name] in ("rank", "whole") and type(found) is not int):
            return False
    return True


def compare_with_calling(source, size):
    try:
        called = call(strict(source), size).by_rank()
        wanted = [[checked(op, size) for op in listed] for listed in called]
    except (ArithmeticError, AssertionError, FormulaError, NameError, TypeError, ValueError):
        with pytest.raises(InvalidPointError, match=r"^stencil.py:\d+: at p=\d+ rank \d+ "):
            unrolled(source, size)
        return False
    found = unrolled(source, size).by_rank()
    for listed, expected in zip(found, wanted, strict=True):
        assert len(listed) == len(expected)
        assert all(map(equal, listed, expected)), (listed, expected)
    return True


@settings(max_examples=cases(40))
@given(st.integers(0, 2**32), st.integers(1, 7))
@example(238339, 1)  # a source of -1 that is no ANY
@example(9585, 2)  # y += 2**53 + 1 adds one number
def test_every_rank_has_the_operations_that_calling_the_program_gives(seed, size):
    compare_with_calling(random_source(random.Random(seed)), size)


@pytest.mark.parametrize(
    ("size", "lines", "sentence"),
    [
        (4, ["send(rank + 1, 8)"], "2: at p=4 rank 3 sends to 4, outside 0 .. 3; put it under"),
        (
            1,
            ["send(rank + 1, 8)"],
            "at p=1 rank 0 sends to 1, outside 0 .. 0; put it under 'if siz",
        ),
        (4, ["recv(rank / 2)"], "rank 0 receives from 0.0, where only whole numbers go; make it"),
        (4, ["compute(-rank)"], "rank 1 gives flops -1; an amount cannot be negative"),
        (4, ["send(0, 8, tag=-rank)"], "rank 1 gives tag -1; it starts from 0"),
        (4, ["send(0, 8, tag=2**(60 + rank))"], "rank 3 gives tag 9223372036854775808, which is"),
        (4, ["barrier(color=rank / 2)"], "gives color 0.0, where only whole numbers go"),
        (4, ["", "x = 1 / (rank - 2)"], "stencil.py:3: at p=4 rank 2 meets a division by zero"),
        (4, ["x = 10.0**(150 * rank)"], "at p=4 rank 3 meets an overflow"),
        (4, ["x = 1e200 * 10.0**(50 * rank)"], "rank 3 meets an overflow: a value that no finite"),
        (4, ["x = sqrt(rank - 2)"], "rank 0 cannot compute sqrt(-2): "),
        (4, ["x = rank ^ size / 2"], "rank 0 cannot compute '^': '^' takes whole numbers, and 2.0"),
        (4, ["x = ~(rank / 1)"], "rank 0 cannot compute '~': '~' takes whole numbers, and 0.0"),
        (
            4,
            ["x = 1 << rank - 2"],
            "rank 0 cannot compute '<<': '<<' shifts by 0 or more bits, not",
        ),
        (
            4,
            ["x = 8 >> 2 - rank"],
            "rank 3 cannot compute '>>': '>>' shifts by 0 or more bits, not",
        ),
        (
            4,
            ["x = 1 << rank * 2000"],
            "rank 3 cannot compute '<<': '<<' gives more than 4,096 bits",
        ),
        (4, ["x = (rank - 2)**0.5"], "rank 0 cannot compute '**': -2 to the power 0.5 is not a r"),
        (
            8,
            ["for i in range(2 * rank / 2):", "    start()"],
            "rank 0 has 0.0 in range(), where on",
        ),
        (
            4,
            ["for i in range(0, 4, rank - 2):", "    start()"],
            "rank 2 has a step of 0 in range()",
        ),
        (4, ["if rank > 1:", "    x = 3", "compute(x)"], ":4: at p=4 rank 0 reads 'x' before it"),
        (
            4,
            ["if rank:", "    for i in range(3):", "        pass", "compute(i)"],
            "rank 0 reads 'i'",
        ),
        (
            4,
            ["isend(0, 8)"],
            "stencil.py:2: at p=4 rank 0 never waits for this isend; add a waital",
        ),
        (4, ["r = irecv(0)", "if rank == 0:", "    wait(r)"], "rank 1 never waits for this irecv"),
        (
            4,
            ["r = irecv(0)", "if rank == 2:", "    wait(r)", "wait(r)"],
            "rank 2 waits for 'r', whic",
        ),
        (
            4,
            ["if rank == 1:", "    r = irecv(0)", "wait(r)"],
            "rank 0 waits for 'r', which holds n",
        ),
    ],
)
def test_a_point_without_meaning_is_told_with_line_rank_and_value(size, lines, sentence):
    assert sentence in refusal(*lines, size=size)


@settings(max_examples=cases(50))
@given(
    st.sampled_from(["^", "&", "|", "<<", ">>"]),
    st.lists(st.integers(-(2**70), 2**70) | st.integers(-9, 9), min_size=2, max_size=6),
    st.integers(0, 80) | st.integers(-3, 70),
)
def test_operators_on_bits_give_what_python_gives_on_every_rank(sign, numbers, other):
    """In 64 bits, where numpy computes, as beyond."""
    listed = " + ".join(f"({x}) * (rank == {r})" for r, x in enumerate(numbers))
    lines = [f"x = {listed}", f"x = x {sign} ({other})", "y = ~x", "barrier(color=x % 2**61)"]
    try:
        found = unrolled(program(*lines, "barrier(color=y % 2**61)"), len(numbers))
    except InvalidPointError:
        assert other < 0
        assert sign in {"<<", ">>"}
        return
    expected = [eval(f"({x}) {sign} ({other})") for x in numbers]
    assert values(found, "color") == [[x % 2**61, ~x % 2**61] for x in expected]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            ["for i in range(10**9):", "    compute(1)"],
            "the loop has 4,000,000,000 operations in 1",
        ),
        (["for i in range(10**9 + rank):", "    start()"], "more than 4,000,000,000 operations"),
        (
            ["for i in range(10**4):", "    for j in range(10**4):", "        compute(i)"],
            "stencil.py:2: at p=4 the loop has 400,000,000 operations in 100,000,000 blocks",
        ),
        (
            ["for i in range(10**12):", "    x = i"],
            "program to 1,000,000,000,000 iterations, more than",
        ),
        (
            ["for i in range(10**9):", "    if i % 2:", "        start()"],
            "1,000,000,000 iterations",
        ),
    ],
)
def test_what_would_not_fit_in_memory_is_refused_with_its_count(lines, sentence):
    assert sentence in refusal(*lines)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("recv(HUGE)", "from a number of 16,001 bits, which is"),
        ("for i in range(HUGE): start()", "more than 4,000,000"),
        ("for i in range(HUGE): x = i", "to more than 1,000,000"),
        ("x = isqrt(-(HUGE))", "cannot compute 'isqrt': isqrt"),
    ],
)
def test_numbers_too_long_to_print_are_told_otherwise(line, sentence):
    huge = " * ".join(["2**2000"] * 8)
    assert sentence in refusal(line.replace("HUGE", huge))


def test_loops_that_are_short_but_many_are_refused_too(monkeypatch):
    monkeypatch.setattr("parcast.program.unroll.unrolling.MOST_STEPS", MOST_STEPS // 1000)
    sentence = refusal(
        "for i in range(3000):", "    for j in range(i % 7):", *["        compute(1)"] * 3
    )
    assert (
        "the program has more than 16,004 operations in 4,000 blocks, more than the 4,000"
        in sentence
    )


def test_arguments_that_would_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr("parcast.program.unroll.unrolling.MOST_BYTES", 10**6)
    sentence = refusal("for i in range(3000):", "    compute(rank * i)", size=1000)
    assert "operations, whose arguments take over 1,000,000 bytes" in sentence


STENCIL = """
def program(rank, size, steps=100):
    w = dims(size, 2, 0)
    x = rank % w
    for step in range(steps):
        if x > 0:
            left = rank - 1
            isend(left, 8 * size / w)
            r = irecv(left)
        if x < w - 1:
            isend(rank + 1, 8)
            irecv(rank + 1)
        waitall()
        compute(n * rank if rank % 3 else 5)
        allreduce(8)
""".replace("steps=100", "steps=100, n=3")


def test_the_steps_of_a_loop_share_their_blocks_and_columns():
    found = unrolled(STENCIL, 24)
    assert len(found.blocks) == 700
    assert len(set(map(id, found.blocks))) <= 2 * 7  # the first step, and all others
    assert found.count() == 100 * (24 * 3 + 4 * 20)


def test_blocks_of_all_ranks_hold_no_ranks_and_alike_arguments_one_number():
    found = unrolled(program("compute(n)", "if rank < n:", "    compute(rank)"), 4)
    assert [block.ranks for block in found.blocks] == [None, None]
    assert found.blocks[0].arguments["flops"] == 4
    assert found.blocks[1].arguments["flops"].dtype == np.int64


def test_a_mixed_column_and_one_beyond_64_bits_are_floats():
    found = unrolled(program("compute(1 if rank else 2.5)", "compute(3**(20 * rank))"), 4)
    assert [block.arguments["flops"].dtype for block in found.blocks] == [np.float64] * 2
    assert values(found)[3] == [1.0, float(3**60)]


def test_what_is_set_under_a_mask_does_not_leak_to_other_ranks():
    source = program(
        "i = 100",
        "x = rank",
        "if rank > 1:",
        "    for i in range(rank):",
        "        x = x + 0.5",
        "compute(i)",
        "compute(x)",
    )
    assert values(unrolled(source, 4)) == [[100, 0], [100, 1], [1, 3.0], [2, 4.5]]


def test_a_loop_variable_keeps_its_last_value_and_its_old_one_where_the_loop_ran_never():
    source = program("i = 9", "for i in range(rank):", "    pass", "compute(i)")
    assert values(unrolled(source, 4)) == [[9], [0], [1], [2]]


def test_setting_the_loop_variable_in_the_body_does_not_change_the_iterations():
    source = program("for i in range(3):", "    i = i + 10", "    compute(i)")
    assert values(unrolled(source, 2)) == [[10, 11, 12]] * 2


def test_bounds_start_and_step_may_depend_on_the_rank():
    source = program("for i in range(rank, 10, 2 + rank):", "    compute(i)")
    expected = [list(range(rank, 10, 2 + rank)) for rank in range(5)]
    assert values(unrolled(source, 5)) == expected


def test_a_handle_set_differently_by_rank_waits_for_each_ranks_own_request():
    source = program(
        "if rank % 2:",
        "    r = isend(rank - 1, 8)",
        "else:",
        "    r = irecv((rank + 1) % size)",
        "s = isend(0, 1)",
        "wait(r)",
        "waitall()",
    )
    found = unrolled(source, 4)
    assert [[op.requests for op in listed] for listed in found.by_rank()] == [
        [(), (), (0,), (1,)]
    ] * 4
    assert compare_with_calling(source, 4)


def test_a_request_waited_for_by_some_ranks_stays_open_on_the_others():
    source = program("r = irecv(0)", "isend(0, 8)", "if rank < 2:", "    wait(r)", "waitall()")
    assert compare_with_calling(source, 4)


def test_a_rank_may_open_very_many_requests():
    source = program(
        "if rank == 0:",
        "    for i in range(20000):",
        "        isend(1 + i % 7, i)",
        "    waitall()",
    )
    last = unrolled(source, 8).rank(0)[-1]
    assert last.requests == tuple(range(20000))


def test_a_recv_of_any_source_is_told_by_its_number():
    assert values(unrolled(program("recv(ANY)"), 2), "src") == [[-1], [-1]]


def test_parameters_are_those_of_the_query():
    assert values(unrolled(program("compute(n)"), 2, n=7)) == [[7], [7]]


def test_more_processes_than_fit_in_memory_are_refused():
    with pytest.raises(InvalidPointError, match=r"^stencil.py: p=1,000,000,000 is more processes"):
        unrolled("def program(rank, size):\n    compute(1)\n", 10**9)


@pytest.mark.parametrize("factor", ["4 - 3.9", "0.1 * 3", "(rank + 4) - 3.9"])
def test_rounding_does_not_decide_how_many_bytes_a_message_has(factor):
    source = f"def program(rank, size):\n    sendrecv(rank, ({factor}) * 1000, rank)\n"
    (made,) = unrolled(source, 1).by_rank()[0]
    assert made.arguments["bytes"] in (100, 300)


def test_bytes_that_are_no_whole_number_stay_so():
    source = "def program(rank, size):\n    sendrecv(rank, (rank + 1) / 3, rank)\n"
    lists = unrolled(source, 2).by_rank()
    assert [made.arguments["bytes"] for (made,) in lists] == [1 / 3, 2 / 3]
