from __future__ import annotations

import json
import subprocess
import sys

import pytest

from parcast.cli import main
from parcast_pamela.compilation.compiler import Compiled

MRM = """// The machine repair model.
param P : int >= 1 = 4, N : int >= 1 = 100, tl : time = 3 s, ts : time = 1 s
resource s
L = par (p = 1, P) seq (i = 1, N) { delay(tl) ; use(s, ts) }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mrm.pam"
    path.write_text(MRM)
    return str(path)


def test_compile(file, capsys):
    assert main(["pamela", "compile", file, "--set", "P=12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4] == "lower bound    N*max(P*ts, tl + ts)"
    assert "bottleneck     s" in lines


def test_a_fixed_parameter_is_a_number_of_the_formulas(file, capsys):
    assert main(["pamela", "compile", file, "--fix", "P=12", "--fix", "tl=9", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bound"] == "N*max(12*ts, ts + 9)"
    assert main(["pamela", "compile", file, "--fix", "P=12", "--python"]) == 0
    assert "def model(N, tl, ts):" in capsys.readouterr().out


def test_what_a_fixed_parameter_divides_stays_whole(capsys):
    line = ["pamela", "compile", "adi-j", "--fix", "P=4", "--json"]
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["bound"] == "N^2*tu/4 - N*tu/2"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--fix P=0", "P=0 must be 1 or more"),
        ("--fix P=1/2", "P=0.5 must be a whole number"),
        ("--fix P=2 --set P=3", "P: --fix makes it a number; leave out its --set"),
        ("--fix Q=2", "has no parameter 'Q'. Known: P, N, tl, ts."),
    ],
)
def test_what_cannot_be_fixed_is_said(file, capsys, options, sentence):
    assert main(["pamela", "compile", file, *options.split()]) == 2
    assert sentence in capsys.readouterr().err


def test_compile_json(file, tmp_path, capsys):
    bindings = tmp_path / "b.json"
    bindings.write_text('{"P": 3, "ts": "1/3"}')
    assert main(["pamela", "compile", file, "--bindings", str(bindings), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bound"] == "N*max(P*ts, tl + ts)"
    assert data["theta"] == "log((N*P*ts)/(N*tl + N*ts))"
    assert data["values"]["bound"] == {"exact": "1000/3", "value": 1000 / 3}


def test_a_model_without_all_values_is_compiled_all_the_same(tmp_path, capsys):
    path = tmp_path / "open.pam"
    path.write_text("param N : int >= 1\nresource s\nL = seq (i = 1, N) use(s, 2)")
    assert main(["pamela", "compile", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bound"] == "2*N"
    assert "values" not in data


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--latex", r"T^l = N \, \max"),
        ("--sympy", "bound = N*Max(P*ts, tl + ts)"),
        ("--python", "def model(P, N, tl, ts):"),
        ("--numpy", "t2_ = np.maximum(p2_, t1_)"),
        ("--numba", "@numba.njit"),
        ("--c", "double t2_ = fmax(p2_, t1_);"),
    ],
)
def test_other_languages(file, option, said, capsys):
    assert main(["pamela", "compile", file, option]) == 0
    assert said in capsys.readouterr().out


def test_sympy_reads_what_is_printed(file, capsys):
    sympy = pytest.importorskip("sympy")
    main(["pamela", "compile", file, "--sympy"])
    lines = dict(line.split(" = ") for line in capsys.readouterr().out.splitlines())
    symbols = sympy.symbols("P N tl ts", positive=True)
    names = {str(one): one for one in symbols}
    found = sympy.sympify(lines["bound"], locals=names)
    assert found.subs({"P": 12, "N": 20, "tl": 3, "ts": 1}).subs(
        dict(zip(symbols, (12, 20, 3, 1), strict=True))
    ) == 240  # fmt: skip


def test_sweep(file, tmp_path, capsys):
    table, plot = tmp_path / "s.csv", tmp_path / "s.svg"
    assert main(["pamela", "sweep", file, "--over", "P=1..8*2", "--csv", str(table),
                 "--plot", str(plot), "--simulate"]) == 0  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].replace(" s", "").split()[:6] == ["1", "400", "400", "400", "400", "100"]
    assert lines[3].replace(" s", "").split()[3] == "403"
    assert lines[-2].endswith("  s")
    assert lines[-1] == "regime changes, P = 3: N*tl + N*ts; 4: N*P*ts"
    assert table.read_text().startswith("P,critical_path,contention,bound,upper,simulated,")
    assert "simulated" in plot.read_text()


def test_simulate(file, capsys):
    assert main(["pamela", "simulate", file, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["time"] == 403
    assert (data["bound"], data["upper"]) == (400, 700)


WRONG = {
    ("compile", "{file}", "--set", "Q=3"): "has no parameter 'Q'. Known: P, N, tl, ts.",
    ("compile", "{file}", "--set", "P=0"): "P=0 must be 1 or more",
    ("compile", "{file}", "--set", "P"): "'P' is no NAME=VALUE",
    ("compile", "{file}", "--set", "P=x"): "P=x",
    ("compile", "{file}", "--c", "--latex"): "give one of --c, --latex, not several",
    ("compile", "none.pam"): "none.pam does not exist",
    ("compile", "nothing"): "There is no file 'nothing' and no shipped model of this name.",
    ("compile", "matmull"): "shipped model of this name. Did you mean 'matmul'?",
    ("compile", "matmul", "--machine-model", "das11"): "in the library. Did you mean 'das1'?",
    (
        "compile",
        "{file}",
        "--machine-model",
        "t900",
    ): "there is no file 't900', nor one of this",
    (
        "compile",
        "vector-scale",
    ): "nothing says what op, lmove, gmove, bcast, reduce does;",
    ("compile", "{file}", "--bindings", "b.txt"): "bindings stand in a .json file",
    ("sweep", "{file}", "--over", "P=0..3"): "the range is empty or endless",
    ("sweep", "{file}", "--over", "Q=1..3"): "has no parameter 'Q'",
    (
        "sweep",
        "{file}",
        "--over",
        "P=1..3",
        "--plot",
        "a.txt",
    ): "a plot is written as .svg, .png or .pdf",
    ("simulate", "{file}", "--arbitration", "best"): "must be fifo, lifo or random",
    ("simulate", "{file}", "--set", "N=10**12"): "too many to simulate",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_bad_input_is_one_sentence(arguments, file, capsys):
    given = [one.format(file=file) for one in arguments]
    assert main(["pamela", *given]) == 2
    captured = capsys.readouterr()
    assert WRONG[arguments] in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("command", ["pamela compile {}", "compare {} loggp-cluster"])
def test_the_line_is_shown_with_a_caret(command, tmp_path, capsys):
    path = tmp_path / "bad.pam"
    path.write_text("resource s\nL = use(t, 1)\n")
    assert main(command.format(path).split()) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "L = use(t, 1)"
    assert lines[1] == "    ^"
    assert lines[2].endswith("bad.pam:2:5: no resource is called 't'.")


#: Without a closed form, and some 10^7 steps at its defaults
LONG = """param N : int >= 1 = 1344, P : int >= 1 = 8, ts : time = 1, tz : time = 2
resource cpu[0..P-1], s
L = { par (i = 0, N-1) seq (j = 0, N-1) use(cpu[(i*j*j) mod P], ts) } || use(s, tz)
"""


def test_a_value_that_takes_too_many_steps_is_left_out_with_a_note(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Compiled.values_at, "__defaults__", (20_000,))
    path = tmp_path / "long.pam"
    path.write_text(LONG)
    assert main(["pamela", "compile", str(path)]) == 0
    assert (
        "no values: long: sums without a closed form take more than 20,000 steps here; --set"
        in (capsys.readouterr().out)
    )
    assert main(["pamela", "compile", str(path), "--set", "N=1000"]) == 2
    assert "take more than 20,000 steps here" in capsys.readouterr().err


def test_tolerances_of_many_steps_are_left_out_with_a_note(tmp_path, capsys):
    path = tmp_path / "long.pam"
    path.write_text(LONG)
    assert main(["pamela", "compile", str(path), "--set", "N=20"]) == 0
    found = capsys.readouterr().out
    assert "no sensitivity and no tolerance: a value of the bound takes " in found
    assert "tolerance  " not in found
    assert main(["pamela", "compile", str(path), "--set", "N=5"]) == 0
    assert "tolerance      tz may grow" in capsys.readouterr().out


def test_import_is_light():
    code = (
        "import sys, parcast_pamela.commands; "
        "assert not {'lark', 'numpy', 'numba', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("body", "theta", "word"),
    [
        ("delay(n)", None, "-infinity"),
        ("delay(0*n)", None, "undefined"),
        ("par (i = 1, 2) use(r, n)", pytest.approx(0.6931, rel=1e-3), "finite"),
    ],
)
def test_json_says_whether_theta_is_infinite_or_undefined(tmp_path, capsys, body, theta, word):
    path = tmp_path / "m.pam"
    path.write_text(f"param n : time = 3 s\nresource r\nL = {body}\n")
    assert main(["pamela", "compile", str(path), "--set", "n=3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]
    assert (found["theta"], found["theta_is"]) == (theta, word)
