"""What is wrong with a model is said with line, column and caret."""

from __future__ import annotations

import pytest

from parcast.errors import FileError, UnknownNameError
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.enumeration import bounds_at
from parcast_pamela.language.errors import ModelError, ModelValueError
from parcast_pamela.language.reading import model_of, read_model

WRONG = {
    "L = use(s 3)": "model:1:11: '3' cannot stand here; expected ',' or '['",
    "L = par (i = 1, 3) {": "model:1:21: the end of the model cannot stand here",
    "L = delay(§)": "model:1:11: '§' cannot stand here",
    "L = delay(3 MBs)": "model:1:13: 'MBs' cannot stand here",
    "resource s\nL = use(t, 1)": "model:2:5: no resource is called 't'.",
    "L = delay(tau)": "model:1:11: nothing is called 'tau'.",
    "param tau : time\nL = delay(tua)": "model:2:11: nothing is called 'tua'. Did you mean 'tau'?",
    "L = delay(foo(1))": "no function or let is called 'foo'.",
    "L = delay(gcd(1))": "'gcd' takes 2 arguments, not 1",
    "let f(x) = x\nL = delay(f(1, 2))": "'f' takes 1 argument, not 2",
    "A(i) = delay(i)\nL = A(1, 2)": "'A' takes 1 argument, not 2",
    "resource c[0..3]\nL = use(c, 1)": "'c' takes 1 index, not 0",
    "param t[1..3]\nL = delay(t)": "'t' is an array; give an index",
    "param t\nL = delay(t[1])": "'t' takes 0 indices, not 1",
    "L = A\nA = B\nB = A": "the equations are recursive: A -> B -> A",
    "let f(x) = g(x)\nlet g(x) = f(x)\nL = delay(f(1))": "the lets are recursive: f -> g -> f",
    "L = delay(1)\nL = delay(2)": "'L' is declared twice; remove one",
    "A(i) = delay(i)": "has no root",
    "root B\nL = skip": "the root 'B' is no equation",
    "L(i) = delay(i)": "the root 'L' takes 1 arguments; it must take none",
    "param b : bytes\nL = delay(b)": "delay takes a time; this is bytes",
    "L = delay(3 s + 2 kB)": "time and bytes do not add or compare",
    "param t : time = 3 MB\nL = delay(t)": "t is declared as time, this is bytes",
    "let x = [1, 2]\nL = delay(x)": "a let is one expression; make a list a parameter",
    'import "none.pam"\nL = skip': "there is no file 'none.pam'",
    "L = delay(avg(i = 1, 2, i))": "'avg' cannot take an index; sum, prod, max and min can",
    "L = delay(" + "-" * 500 + "1)": "nested more than 100 levels deep",
    "L = " + "if (1) " * 500 + "skip": "nested more than 100 levels deep",
    "L = delay(1" + "0" * 1000 + ")": "this number is too large",
    "A(i) = delay(i)\nextern A(i, j)\nL = A(1)": "'A' takes 1 arguments here, but 2 where it is",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_a_wrong_model_is_refused(text):
    with pytest.raises(ModelError) as caught:
        model_of(text)
    assert WRONG[text] in str(caught.value)
    if caught.value.position is not None:
        assert caught.value.excerpt.endswith("^")


def test_the_caret_stands_below_the_column():
    with pytest.raises(ModelError) as caught:
        model_of("resource s\n\tL = use(s, tau)")
    line, below = caught.value.excerpt.split("\n")
    assert line[below.index("^") :].startswith("tau")


DOUBLED = "let f0(x) = x\n" + "\n".join(
    f"let f{i}(x) = f{i - 1}(x)*f{i - 1}(x) + 1" for i in range(1, 25)
)

COMPILED = {
    DOUBLED + "\nparam t\nL = delay(f24(t))": "the formula becomes too large",
    "L = delay(bern(1/2))": "bern(p) has no value of its own",
    "L = delay(1/0)": "this divides by zero",
    "extern A(i)\nL = A(1)": "nothing says what A does; give a machine with --machine-model",
    "L = delay(log2(0-1))": "the logarithm takes numbers above 0",
}


@pytest.mark.parametrize("text", COMPILED)
def test_what_only_the_compiler_finds(text):
    with pytest.raises((ModelError, ModelValueError)) as caught:
        compile_model(model_of(text)).values({})
    assert COMPILED[text] in str(caught.value)


NEVER = {  # whatever the parameters are
    "resource s[0..3]\nL = use(s[4], 1)": "model:2:5: an index of s is not in 0..3",
    "resource s[0..3]\nL = use(s[-1], 1)": "an index of s is not in 0..3",
    "param N : int >= 1\nresource s[N]\nL = seq (i = 0, N) use(s[i], 1)": "is not in 0..N - 1",
    "resource s[0..3]\nL = use(s[1/2], 1)": "an index of s is not a whole number",
    "param p : prob\nL = if (bern(1 + 1/2)) delay(p)": "bern takes a number from 0 to 1",
}


@pytest.mark.parametrize("text", NEVER)
def test_what_no_parameter_can_mend_is_refused_without_any(text):
    with pytest.raises(ModelError) as caught:
        compile_model(model_of(text))
    assert NEVER[text] in str(caught.value)


def test_what_is_only_wrong_where_it_is_not_reached_compiles():
    model = model_of("param N : int\nresource s[0..3]\nL = if (N > 9) use(s[N], 1) else skip")
    assert compile_model(model).values({"N": 4}).bound == 0


POINTS = {
    ("param N : int >= 1\nL = delay(N)", ()): "N has no value; give it with --set N=...",
    ("param N : int >= 1\nL = delay(N)", (("N", 0),)): "N=0 must be 1 or more",
    ("param N : int >= 1\nL = delay(N)", (("N", "1/2"),)): "N=0.5 must be a whole number",
    ("param N : int in 1..5\nL = delay(N)", (("N", 6),)): "N=6 must be 5 or less",
    ("param p : prob\nL = delay(p)", (("p", 2),)): "p=2 must be from 0 to 1",
    ("param t : time\nL = delay(t)", (("t", "-1 s"),)): "t=-1 must be 0 or more",
    ("param t\nL = delay(t)", (("t", -1),)): "a time is below 0; it must be 0 or more",
    ("param t\nL = delay(1/t)", (("t", 0),)): "this divides by zero",
    ("param i\nresource c[0..3]\nL = use(c[i], 1)", (("i", 4),)): "an index of c is not in 0..3",
    ("param i\nresource c[0..3]\nL = use(c[i], 1)", (("i", "1/2"),)): "is not a whole number",
    ("param N : int\nassume N mod 2 == 0\nL = delay(1)", (("N", 3),)): "does not hold",
    ("param m : int\nresource c mult m\nL = use(c, 1)", (("m", 0),)): "must be a whole number, 1",
    ("param t[1..3] : time\nL = delay(t[2])", (("t", (1, 2)),)): "t needs 3 values",
    ("param a = b, b = a\nL = delay(a)", ()): "defaults go round in a circle: a -> b -> a",
    ("param t\nL = delay(t)", (("t", "three"),)): "t=three",
    ("param t\nL = delay(t)", (("t", float("nan")),)): "t=nan is no number",
}


@pytest.mark.parametrize(("text", "given"), POINTS)
def test_a_wrong_point_is_refused_by_both(text, given):
    model = model_of(text)
    compiled = compile_model(model)
    with pytest.raises(ModelValueError) as caught:
        compiled.values(dict(given))
    assert POINTS[text, given] in str(caught.value)
    with pytest.raises(ModelValueError):
        bounds_at(model, bind(model, dict(given)))


def test_an_unknown_parameter_is_refused():
    with pytest.raises(UnknownNameError, match=r"no parameter 'M'. Known: N\."):
        bind(model_of("param N = 1\nL = delay(N)"), {"M": 2})


def test_enumerating_too_much_names_the_bound():
    model = model_of("param N : int >= 1\nresource s\nL = seq (i = 1, N) use(s, 1)")
    with pytest.raises(ModelValueError, match=r"pamela\.bound has a formula"):
        bounds_at(model, bind(model, {"N": 10**12}))
    assert compile_model(model).values({"N": 10**12}).bound == 10**12


def test_imports_their_prefix_and_their_order(tmp_path):
    (tmp_path / "one.pam").write_text("param t : time = 1\nresource s\nwork(n) = use(s, n*t)\n")
    (tmp_path / "two.pam").write_text('import "one.pam" as m\nL = m.work(3); use(m.s, m.t)\n')
    assert compile_model(read_model(tmp_path / "two.pam")).values({"m.t": 2}).bound == 8
    (tmp_path / "over.pam").write_text('import "one.pam"\nparam t : time = 5\nL = work(1)\n')
    assert compile_model(read_model(tmp_path / "over.pam")).values({}).bound == 5
    (tmp_path / "round.pam").write_text('import "round.pam"\nL = skip\n')
    with pytest.raises(ModelError, match="goes round in a circle"):
        read_model(tmp_path / "round.pam")


def test_equations_that_double_stay_small():
    lines = ["resource s", "A0 = use(s, 1)"]
    lines += [f"A{i} = {{A{i - 1} ; A{i - 1}}}" for i in range(1, 41)]
    found = compile_model(model_of("\n".join([*lines, "L = {A40 || A40}"])))
    assert found.values({}).bound == 2**41


def test_lets_that_double_are_worked_out_once():
    lines = ["param n", "let f0(x) = x"]
    lines += [f"let f{i}(x) = f{i - 1}(x) + f{i - 1}(x)" for i in range(1, 50)]
    model = model_of("\n".join([*lines, "L = if (f49(n) > 1) delay(f49(n))"]))
    assert compile_model(model).values({"n": 3}).bound == 3 * 2**49
    assert bounds_at(model, bind(model, {"n": 3})).bound == 3 * 2**49


def test_warnings():
    found = model_of("resource s, t\nL = use(s, 1); delay(2) || delay(3)").warnings
    assert [one.split(": ", 1)[1] for one in found] == [
        "';' binds tighter than '||'; write braces to make it plain",
        "resource 't' is never used",
    ]


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty.pam"
    path.write_text("")
    with pytest.raises(FileError, match="is empty"):
        read_model(path)


@pytest.mark.parametrize(
    ("literal", "value"),
    [("3 us", "3/1000000"), ("1 KiB/s", "1024"), ("2 GB/s", "2000000000"), ("8 b", "1"),
     ("1.5e3", "1500"), ("2 ms", "1/500")],
)  # fmt: skip
def test_units_are_exact(literal, value):
    from fractions import Fraction

    model = model_of(f"param t = {literal}\nL = delay(t)")
    assert bounds_at(model, bind(model, {})).bound == Fraction(value)
