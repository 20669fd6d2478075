import pickle

from parcast.program import For
from parcast.program.reader import read_source
from parcast.program.source.attributes import place
from parcast.program.source.tree import Op, nested


def operations(body):
    return (statement for statement in nested(body) if isinstance(statement, Op))


def read(*lines: str):
    text = "def program(rank, size, n=4):\n" + "".join(f"    {line}\n" for line in lines)
    return read_source(text).content


def depends(program, name="compute", argument="flops"):
    """What the argument of each such operation depends on, in order."""
    return [
        set(program.attributes.depends[place(op)][argument])
        for op in operations(program.tree.body)
        if op.name == name
    ]


def test_an_expression_depends_on_what_its_variables_do():
    program = read("w = n // size", "h = w + rank", "compute(w)", "compute(h)", "compute(2)")
    assert depends(program) == [{"n", "size"}, {"n", "size", "rank"}, set()]


def test_a_variable_set_anew_forgets():
    assert depends(read("x = rank", "x = n", "compute(x)")) == [{"n"}]


def test_a_variable_set_in_an_arm_depends_on_the_test():
    program = read("x = 1", "if rank == 0:", "    x = 2", "    compute(x)", "compute(x)")
    assert depends(program) == [set(), {"rank"}]


def test_a_loop_variable_stands_for_itself_and_after_the_loop_for_its_bounds():
    program = read("for i in range(n):", "    compute(i)", "compute(i)")
    assert depends(program) == [{"i"}, {"i", "n"}]


def test_what_goes_round_a_loop_reaches_its_start():
    program = read("x = 0", "for i in range(n):", "    compute(x)", "    x = rank", "compute(x)")
    assert depends(program) == [{"rank", "n"}, {"rank", "n"}]


def test_control_is_uniform_unless_a_test_or_a_bound_depends_on_the_rank():
    program = read(
        "half = rank % 2",
        "for i in range(n):",
        "    barrier()",
        "    if half:",
        "        barrier()",
        "for i in range(rank):",
        "    barrier()",
        "barrier()",
    )
    found = [program.attributes.uniform(op) for op in operations(program.tree.body)]
    assert found == [True, False, False, True]


def test_carried_variables_are_those_read_before_they_are_set_again():
    program = read(
        "x = 1",
        "y = 1",
        "for i in range(n):",
        "    x = x * 2",
        "    z = i",
        "    compute(z + y)",
        "    if rank:",
        "        w = 1",
        "    compute(i)",
        "for i in range(n):",
        "    if i > 1:",
        "        v = 1",
        "    else:",
        "        v = 2",
        "    compute(v)",
        "    for j in range(i):",
        "        u = j",
        "    compute(u)",
    )
    loops = [one for one in program.tree.body if isinstance(one, For)]
    assert [set(program.attributes.carried[place(loop)]) for loop in loops] == [{"x"}, {"u"}]


def test_attributes_survive_pickling():
    program = read("for i in range(n):", "    compute(i)")
    before = program.attributes
    again = pickle.loads(pickle.dumps(program))
    assert again.attributes == before
    assert again.tree.body == program.tree.body
