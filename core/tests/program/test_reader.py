import pytest

from parcast.api import Registry
from parcast.errors import FileError
from parcast.files.tables import read_program
from parcast.program import Assign, For, If, Op
from parcast.program.reader import read_function, read_source
from parcast.quantities.expressions import Call, Name, Num

RING = '''"""Ring matrix multiplication: one block of rows
per process.

Each process keeps its block of columns.

source: a textbook
n: assumed: the order
   of the matrices
"""


def program(rank, size, n=2 * 240):
    block = 8 * n * n / size
    if size > 1:
        send((rank + 1) % size, block)
    for step in range(size - 1):
        recv(tag=1, src=(rank - 1) % size)
'''


def body(*lines: str) -> str:
    return "def program(rank, size, n=4):\n" + "".join(f"    {line}\n" for line in lines)


def test_a_program_is_a_workload_with_parameters_description_and_sources():
    found = read_source(RING, "ring.py", "ring")
    assert (found.name, found.kind, found.parameters) == ("ring", "program", {"n": 480})
    assert found.summary == "Ring matrix multiplication: one block of rows per process."
    assert found.content.tree.description.endswith("Each process keeps its block of columns.")
    assert found.source == "a textbook"
    assert found.sources == {"parameters.n": "assumed: the order of the matrices"}
    assert found.data["program"] == RING


def test_every_node_has_its_line_and_column():
    block, test, loop = read_source(RING).content.tree.body
    assert isinstance(block, Assign)
    assert (block.variable, block.line, block.col) == ("block", 13, 4)
    assert isinstance(test, If)
    (send,) = test.then
    assert (send.name, send.line, send.col, send.site) == ("send", 15, 8, 0)
    destination = send.arguments["dst"]
    assert destination == Call("%", (Call("+", (Name("rank"), Num(1))), Name("size")))
    assert (destination.line, destination.col) == (15, 13)
    assert isinstance(loop, For)
    assert (loop.start, loop.step) == (Num(0), Num(1))
    (recv,) = loop.body
    assert recv.arguments["tag"] == Num(1)
    assert recv.site == 1
    assert [(site.name, site.line) for site in read_source(RING).content.tree.sites] == [
        ("send", 15),
        ("recv", 17),
    ]


def test_operations_get_their_defaults():
    listed = ("barrier()", "bcast(8)", "r = isend(0, 1)", "wait(r)", "write(1)", "compute(2)")
    ops = read_source(body(*listed)).content.tree.body
    assert all(isinstance(op, Op) for op in ops)
    assert ops[0].arguments == {"color": None}
    assert ops[1].arguments == {"bytes": Num(8), "root": Num(0), "color": None}
    assert ops[2].handle == "r"
    assert ops[3].arguments == {"request": "r"}
    assert ops[4].arguments == {"bytes": Num(1), "file": "own", "collective": False}
    offloaded = {"on": "cpu", "precision": "fp64", "kind": "gemm"}
    assert ops[5].arguments == {"flops": Num(2), "bytes": Num(0), **offloaded}


def test_a_changed_variable_reads_itself():
    (changed,) = read_source(body("n += 2")).content.tree.body
    assert changed == Assign("n", Call("+", (Name("n"), Num(2))))


def test_pass_and_docstrings_leave_nothing():
    source = 'def program(rank, size):\n    """Says."""\n    if rank == 0:\n        pass\n'
    found = read_source(source)
    assert found.summary == "Says."
    assert found.content.tree.body == (If(Call("==", (Name("rank"), Num(0))), ()),)


def test_source_is_never_executed(tmp_path):
    trap = tmp_path / "trap.py"
    mark = tmp_path / "ran"
    trap.write_text(f"def program(rank, size, n=open({str(mark)!r}, 'w')):\n    pass\n")
    with pytest.raises(FileError, match="the default of 'n' must be a number"):
        read_program(trap)
    assert not mark.exists()


def test_a_file_is_a_workload_of_the_registry(tmp_path):
    file = tmp_path / "ring.py"
    file.write_text(RING)
    found = Registry([]).workload(str(file))
    assert (found.name, found.kind, found.where) == ("ring", "program", str(file))


def local(rank, size, n=3):
    compute(n * rank)  # noqa: F821


def test_a_function_is_a_workload():
    found = Registry([]).workload(local)
    assert found.name == "local"
    assert found.content.tree.body[0].name == "compute"
    assert read_function(local).parameters == {"n": 3}


def lost(rank, size):
    compute(unknown)  # noqa: F821


def test_a_mistake_in_a_function_is_told_with_the_line_of_its_file():
    line = lost.__code__.co_firstlineno + 1
    with pytest.raises(FileError, match=f"test_reader.py:{line}: nothing is called 'unknown'"):
        read_function(lost)


def test_a_function_is_the_same_workload_wherever_it_stands():
    assert read_function(local).data["program"].startswith("def local")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def program(rank, size, n=1, n=2):\n    pass\n", "p.py:1: this is not Python: duplicate"),
        ("\0", "p.py:1: this is not Python: source code"),
    ],
)
def test_what_python_itself_refuses_is_refused(source, sentence):
    with pytest.raises(FileError) as raised:
        read_source(source, "p.py")
    assert sentence in str(raised.value)


def test_what_is_no_function_with_source_is_an_error():
    with pytest.raises(FileError, match="has no source to read; give a file"):
        read_function(len)


BAD = {
    "while": (body("while n:", "    pass"), "mine.py:2: 'while' is not in the language; write a"),
    "break": (body("for i in range(n):", "    break"), "mine.py:3: 'break' is not in the language"),
    "return": (body("return"), "'return' is not in the language; put the rest"),
    "import": (body("import os"), "'import' is not in the language"),
    "try": (body("try:", "    pass", "finally:", "    pass"), "'try' is not in the language"),
    "with": (body("with n:", "    pass"), "'with' is not in the language; assignments"),
    "nested function": (body("def f():", "    pass"), "a nested function is not in the language"),
    "annotation": (body("x: int = 2"), "a variable's annotation is not in the language"),
    "operation": (body("sned(1, 2)"), "there is no operation 'sned'. Did you mean 'send'?"),
    "function": (body("compute(sqr(4))"), "there is no function 'sqr'. Did you mean 'sqrt'?"),
    "name": (body("compute(m)"), "nothing is called 'm'. Known: n, rank, size."),
    "value": (body("x = recv(0)"), r"recv\(\) gives no value"),
    "nested request": (body("x = 1 + isend(0, 1)"), "stands alone or as 'r = isend"),
    "request read": (body("r = irecv(0)", "compute(r)", "wait(r)"), "'r' is a request"),
    "request and number": (body("r = 1", "r = irecv(0)"), "mine.py:3: 'r' is a number and a"),
    "unknown request": (body("r = irecv(0)", "wait(q)"), "gives a request called 'q'"),
    "odd request": (body("wait(1)"), r"request of wait\(\) must be the variable"),
    "any": (body("irecv(ANY)"), r"ANY stands only for the source of recv\(\)"),
    "list": (body("compute([1])"), "a list is not allowed"),
    "text": (body("compute('1')"), "'1' is a text where a number belongs: seconds"),
    "file": (body("write(1, file='x')"), "file of write.. must be 'own' or 'shared'"),
    "flag": (body("write(1, collective=1)"), "collective of write.. must be True or False"),
    "region": (body("region(n)"), "name of region.. must be a text"),
    "missing": (body("send(1)"), r"send\(dst, bytes, tag\) needs 'bytes'"),
    "twice": (body("send(1, 2, bytes=3)"), "is given 'bytes' twice"),
    "unknown": (body("send(1, byte=3)"), "has no argument 'byte'. Did you mean 'bytes'?"),
    "too many": (body("barrier(1, 2)"), "takes at most 1 plain arguments"),
    "pool": (
        body("pool(n)"),
        r"pool\(\) deals out tasks; write 'for task in pool\(range\(tasks\)\):'",
    ),
    "print": (body("print(n)"), "a program prints nothing; see what it does"),
    "int": (body("compute(int(n))"), r"there is no function 'int'; write floor\(x\)"),
    "module": (body("compute(np.sqrt(n))"), r"'np.sqrt' is not allowed in a formula; write sqrt"),
    "matrix product": (body("compute(n @ 2)"), "'@' is not allowed"),
    "starred": (body("send(*n)"), "takes at most 3 plain arguments"),
    "method": (body("comm.send(1, 2)"), "'comm.send' is no operation; write send"),
    "targets": (body("a, b = 1, 2"), "assigns to one variable"),
    "chain": (body("a = b = 1"), "assigns to one variable"),
    "reserved": (body("max = 3"), "'max' has a meaning of its own"),
    "rank": (body("rank += 1"), "'rank' has a meaning of its own"),
    "uncalled": (body("compute(max)"), "'max' must be called"),
    "alone": (body("sqrt(3)"), r"sqrt\(\) on its own does nothing"),
    "nothing": (body("n + 1"), "on its own does nothing; remove it"),
    "iterable": (body("for i in [1]:", "    pass"), r"a loop goes over range\(...\), or pool"),
    "else": (body("for i in range(2):", "    pass", "else:", "    pass"), "without 'else'"),
    "range": (body("for i in range():", "    pass"), "takes stop, or start"),
    "syntax": (body("compute("), "mine.py:2: this is not Python"),
    "empty": ("x = 1\n", "mine.py:1: a program is one function"),
    "constant": ("n = 3\n" + body("pass"), "mine.py:1: .*; make this a parameter with a default"),
    "dependent": ("def program(rank, size, n=1, m=n): pass\n", "it cannot depend on 'n'"),
    "origin": ('"""Does.\n\nm: assumed: 3\n"""\n' + body("pass"), "is from, which is no parameter"),
    "two": (body("pass") + body("pass"), "mine.py:3: a program is one function"),
    "none": ('"""Only words."""\n', "mine.py: there is no function here"),
    "ranks": ("def program(size, n=1): pass\n", "mine.py:1: a program takes rank and size first"),
    "varargs": ("def program(rank, size, *n): pass\n", "takes rank and size first"),
    "default": ("def program(rank, size, n): pass\n", "parameter 'n' needs a default"),
    "defaulted": ("def program(rank, size=4): pass\n", "rank and size have no default"),
    "p": ("def program(rank, size, p=3): pass\n", "'p' has a meaning of its own"),
    "decorator": ("@cache\ndef program(rank, size): pass\n", "a program has no decorators"),
    "deep": (body("compute(" + "-" * 130 + "1)"), "nested more than 120 levels"),
    "deeper": (body("compute(" + "(" * 300 + "1" + ")" * 300 + ")"), "mine.py"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_outside_the_language_is_one_sentence_with_file_and_line(name):
    source, sentence = BAD[name]
    with pytest.raises(FileError, match=sentence) as caught:
        read_source(source, "mine.py")
    assert str(caught.value).startswith("mine.py:")
    assert "\n" not in str(caught.value)


def test_a_table_is_no_program():
    with pytest.raises(FileError, match=r"of kind .program. is a \.py file, not"):
        Registry([]).workload({"kind": "program", "parameters": {"n": 3}})
