"""What a data-parallel source may say, what is refused, and the command that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

import parcast_pamela_compiler
from parcast.cli import main
from parcast.errors import FileError
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.enumeration import bounds_at
from parcast_pamela.language.reading import model_of
from parcast_pamela_compiler.generating import generate

MATMUL = Path(parcast_pamela_compiler.__file__).parent / "sources" / "matmul.py"
TIMES = {"tc": 3, "tl0": 2, "tg": 10}

HEAD = """
def program(P, N=64, M=4):
    V = array(N, block)
    J = array(N, replicated)
    A = array((N, N), (block, whole))
    C = array((N, N), (whole, cyclic))
    H = array(M, replicated)
"""
ALL_FOR_ALL = "P*tc + 2*P*tg"  # a number reduced and broadcast, one processor after the other
UNDERSTOOD = {
    "s = sum(V[:] * V[:])": f"{ALL_FOR_ALL} + 2*N*tc/P",
    "for i in forall(N):\n    s = V[i] * 2\n    V[i] = s": "N*tc/P + N*tl0/P",
    "s = 0.0\nfor i in forall(N):\n    s += V[i]": f"{ALL_FOR_ALL} + N*tc/P",
    "for i in forall(N):\n    for m in range(M):\n        H[m] += A[i, m]": (
        "M*P*tc + 2*M*P*tg + M*N*tc/P"
    ),
    "for i in forall(N):\n    V[i] = sum(A[i, :])": "N^2*tc/P + N*tl0/P",
    "for i in forall(N):\n    V[i] = sum(C[i, :])": "N*tc + N*tg + N^2*tc/P",
    "for i in forall(N):\n    J[i] = 2 * J[i]": "N*tc + N*tl0",
    "J[:] = V[:]": "N*tg",
    "V[:] = 1": "N*tl0/P",
    "n = J[0]\nfor i in range(n):  # pamela: times = N/2\n    V[0] += 1": (
        "tc*ceil(N/2) + tl0*ceil(N/2)"
    ),
    "e = 1.0\nwhile e > 0.1:  # pamela: times = M\n    e = J[0]": "M*tc",
    "for i in forall(N):\n    if V[i] > 0:  # pamela: probability = 1/4\n        V[i] = 1": (
        "N*tc/P + N*tl0/(4*P)"
    ),
    "for i in forall(N):\n    if V[i] > 0:  # pamela: taken = 3, reached = 4\n        V[i] += 1\n"
    "    else:\n        V[i] = 1": "N*tl0/P + 7*N*tc/(4*P)",
    "half = N // 2\nfor i in range(half):\n    J[i] = i": "tl0*floor(N/2)",
    "for seq in range(N - 1, -1, -1):\n    V[seq] = 1": "N*tl0",
}


def program(body):
    return HEAD + "".join(f"    {line}\n" for line in body.splitlines())


@pytest.mark.parametrize("body", UNDERSTOOD)
def test_a_construct_takes(body):
    model = model_of(generate(program(body)), machine="das1")
    assert repr(compile_model(model).bound) == UNDERSTOOD[body]


def test_slices_are_loops():
    first = program("V[1:-1] = 0.5 * (V[:-2] + V[2:])\nA[1:, 0] -= C[:-1, 2]")
    loops = "for i in forall(1, N - 1):\n    V[i] = 0.5 * (V[i - 1] + V[i + 1])\n"
    second = program(loops + "for i in forall(1, N):\n    A[i, 0] -= C[i - 1, 2]")
    found, expected = (
        bounds_at(model, bind(model, {"N": 12, "P": 3, **TIMES}))
        for model in (model_of(generate(text), machine="das1") for text in (first, second))
    )
    assert found == expected


def test_an_element_is_fetched_once_and_each_element():
    text = program("for i in forall(1, N):\n    A[i, 0] = A[i - 1, 1] * A[i - 1, 1] + A[i - 1, 2]")
    model = model_of(generate(text), machine="das1")
    given_ = {"N": 12, "P": 3, "tc": 0, "tl0": 0, "tg": 1}
    assert bounds_at(model, bind(model, given_)).bound == 2


REFUSED = {
    "while V[0] > 1:\n    V[0] = 0": "p.py:8: nothing says how often 'while V[0] > 1' runs; write",
    "x = [V[i] for i in range(N)]": "p.py:8: a comprehension is not understood; write a 'for' loop",
    "for i in forall(N):\n    V[i] = g(V[i])": "p.py:9: the call of g() is not understood; write",
    "V[::M] = 0": "p.py:8: the slice's step 'M' has no place; write a number above 0, or a loop",
    "V[::2] = V[::3]": "p.py:8: a slice of step 3 beside one of step 2 has no place; write a loop",
    "for i in forall(N):\n    V[J[i]] = 1": "p.py:9: only the data tell whose element of V is assi",
    "for i in forall(N):\n    V[i] = V[J[i]]": "p.py:9: only the data tell whose V[J[i]] is; write",
    "for i in forall(N):\n    A[i, J[i]] = 1": "p.py:9: only the data tell how far apart",
    "if V[0] > 0:\n    V[0] = 1": "p.py:8: only the data tell whether 'V[0] > 0'; say how often",
    "if V[0]:  # pamela: probabilty = 1\n    V[0] = 1": "p.py:8: a comment cannot state",
    "V[0] = 1  # pamela: times = 3": "p.py:8: nothing here takes 'times'; it belongs to a 'for'",
    "V[0] = 1  # pamela: 3": "p.py:8: after 'pamela:' stand settings such as",
    "V[0] = f(1)  # pamela: operations = z": "p.py:8: the comment names 'z', which is neither",
    "n = J[0]\nfor i in range(n):\n    V[i] = 0": "p.py:9: only the data tell the bound 'n'; write",
    "for i in range(0, N, M):\n    V[i] = 1": "p.py:8: the step 'M' has no place; write a whole",
    "for i in [1, 2]:\n    V[i] = 1": "p.py:8: a loop goes over '[1, 2]'; write 'range(...)', or",
    "m = 0\nfor i in range(N):\n    V[m] = 1\n    m += 1": "p.py:10: only the data tell whose",
    "x = 1 + sum(V[:])": "p.py:8: 'sum(V[:])' must be all that is assigned, with slices in",
    "V[0] = V[1:3]": "p.py:8: the slice 'V[1:3]' stands where one number is wanted; assign it to",
    "V[:] = V": "p.py:8: V is an array; write 'V[:]', or an element",
    "V = V * 2": "p.py:8: 'V' has a meaning here already; write 'V[:]'",
    "A[0] = 1": "p.py:8: A has 2 axes; write 'A[0, :]'",
    "Q[0] = 1": "p.py:8: 'Q' is no array; declare it: 'Q = array(N, block)'",
    "V[0] = y": "p.py:8: nothing is called 'y'",
    "V[0] = 1 if V[1] > 0 else 2": "p.py:8: a conditional expression is not understood; write an",
    "a, b = 1, 2": "p.py:8: 'a, b = (1, 2)' is not understood; write one assignment for each",
    "import numpy": "p.py:8: 'import numpy' is not understood; remove this",
    "return V": "p.py:8: 'return V' is not understood; remove this: the arrays are the results",
    "for N in range(3):\n    V[0] = 1": "p.py:8: 'N' has a meaning here already; name the variable",
    "Z = array((N, N), (block, cyclic))": "p.py:8: Z is spread along several axes; the processors",
    "Z = array(N, blok)": "p.py:8: an axis is block, cyclic, whole, or the array is replicated",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_place_is_told_with_its_line_and_what_to_write(body):
    with pytest.raises(FileError) as caught:
        generate(program(body), "p.py")
    assert str(caught.value).startswith(REFUSED[body])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "def f(N=3):\n    for i in forall(N):\n        pass",
            "1: a data-parallel program takes P",
        ),
        ("def f(P=3):\n    pass", "1: P has no default"),
        ("def f(P, N):\n    pass", "1: parameter 'N' needs a default: 'N=...'"),
        ("def f(P, N='a'):\n    pass", "1: the default of 'N' must be a number"),
        ("def f(P, N=1:\n    pass", "1: this is not Python"),
        ("x = 3\ndef f(P):\n    pass", "1: a data-parallel program is one function"),
    ],
)
def test_what_is_no_program_is_told(text, sentence):
    with pytest.raises(FileError, match=f"^p.py:{sentence}"):
        generate(text, "p.py")


# ---------------------------------------------------------------- the command


def test_the_command_writes_a_model_that_all_commands_take(tmp_path, capsys):
    made = tmp_path / "made.pam"
    assert main(["pamela", "generate", "matmul.py", "-o", str(made)]) == 0
    assert made.read_text() == generate(MATMUL.read_text(), "matmul.py")
    assert main(["pamela", "compile", str(made), "--machine-model", "das1", "--set", "P=8"]) == 0
    assert "lower bound    N^2*P*tg + N^3*tl0/P + 2*N^3*tc/P" in capsys.readouterr().out
    assert main(["predict", str(made), "das1", "-p", "8", "-s", "pamela"]) == 0
    assert "N^2*P*tg + N^3*tl0/P + 2*N^3*tc/P" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("matmul.py das1", "matmul.py is data-parallel, its model for every machine; leave out"),
        ("matmul.py -p 4", "matmul.py is data-parallel, its model for every machine; leave out"),
        ("stencil2d", "stencil2d is a program of messages; give a machine behind it"),
        ("nothing.py", "nothing.py"),
    ],
)
def test_a_wrong_line_is_one_sentence(line, sentence, capsys):
    assert main(["pamela", "generate", *line.split()]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
