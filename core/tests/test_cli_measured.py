"""What compare says and returns with measured times."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from parcast import Registry, SolverEntry, hookimpl
from parcast.cli import app as command
from parcast.model.query import Prediction


class Hundred:
    """100 s on one process, shared evenly by more."""

    def supports(self, query):
        return None

    def solve(self, query):
        return Prediction(time=100 / query.p)


@pytest.fixture
def compare(monkeypatch, tmp_path, capsys):
    module = ModuleType("parcast_hundred")
    module.Hundred = Hundred
    module.parcast_solvers = hookimpl(
        lambda: [SolverEntry("hundred", "phases", "parcast_hundred:Hundred", "100 s.")]
    )
    module.parcast_solvers.__name__ = "parcast_solvers"
    monkeypatch.setitem(sys.modules, "parcast_hundred", module)
    monkeypatch.setattr(command, "Registry", lambda: Registry([module]))
    (tmp_path / "w.toml").write_text("[[phase]]\nparallel = 1\n")
    (tmp_path / "m.toml").write_text("[processor]\nrate = 1\n")
    monkeypatch.chdir(tmp_path)

    def run(times: str, *arguments: str) -> tuple[int, str, str]:
        Path("times.csv").write_text(times)
        code = command.main(["compare", "w.toml", "m.toml", *arguments])
        return code, *capsys.readouterr()

    return run


MEASURED = ("--measured", "times.csv")


def test_errors_stand_beside_the_measured_times(compare):
    code, out, said = compare("p,time\n2,40\n4,25\n", *MEASURED)
    assert (code, said) == (0, "")
    heads, first, second = (line.split() for line in out.splitlines()[2:])
    assert heads[3:6] == ["time", "measured", "error"]
    assert first[3:9] == ["50", "s", "40", "s", "+25.0", "%"]
    assert second[7:9] == ["+0.0", "%"]


def test_an_error_above_the_tolerance_exits_with_1_and_names_the_row(compare):
    code, _, said = compare("p,time\n2,40\n4,25\n", *MEASURED, "--tolerance", "10%")
    assert code == 1
    assert said == "parcast: hundred at p=2, d=1 is +25.0 % off the measured time, more than 10 %\n"
    assert compare("p,time\n2,40\n", *MEASURED, "--tolerance", "0.3")[0] == 0


def test_many_errors_are_counted(compare):
    table = "p,time\n" + "".join(f"{p},1\n" for p in range(1, 9))
    _, _, said = compare(table, *MEASURED, "--tolerance", "1%")
    assert len(said.splitlines()) == 6
    assert said.endswith("parcast: and 3 more\n")


def test_times_that_no_row_belongs_to_are_said(compare):
    code, _, said = compare("p,time\n2,50\n3,1\n", *MEASURED, "-p", "2")
    assert code == 0
    assert said == "parcast: 1 measured time belongs to no row: times.csv:3\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--tolerance", "1%"), "give --measured FILE"),
        ((*MEASURED, "--tolerance", "x"), "--tolerance: 'x' is not a number with a unit"),
        ((*MEASURED, "--tolerance", "-1%"), "--tolerance -1%: it must be 0 or more"),
        (("--measured", "none.csv"), "none.csv does not exist"),
        (("--measured", "w.toml"), "w.toml: measured times are read from .csv"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(compare, arguments, sentence):
    code, out, said = compare("p,time\n2,50\n", *arguments)
    assert (code, out) == (2, "")
    assert sentence in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        ("p,time\n1e400,1\n", "times.csv:2: p = '1e400': it must be a whole number from 1"),
        (f"p,time\n2,{'1' * 200_000}\n", "times.csv:2: field larger than field limit"),
        (
            "p,Time\n2,1\n",
            "times.csv: there is no column 'time', only p, Time. Did you mean 'Time'",
        ),
        ("p,time,network.startup\n2,1,1\n", "'network.startup' is neither a parameter of the"),
    ],
)
def test_a_bad_table_is_one_sentence(compare, times, sentence):
    code, out, said = compare(times, *MEASURED)
    assert (code, out) == (2, "")
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_machine_value_that_is_set_joins_its_column(compare):
    table = "p,time,processor.rate\n2,40,3\n2,50,2\n"
    code, out, _ = compare(table, *MEASURED, "--set", "processor.rate=2", "--tolerance", "1%")
    assert code == 0
    assert "+0.0 %" in out


def test_a_tolerance_that_nothing_was_held_to_is_an_error(compare):
    code, _, said = compare("p,time\n3,1\n", *MEASURED, "-p", "2", "--tolerance", "1%")
    assert code == 2
    assert said.splitlines()[-1].startswith("parcast: --tolerance: no measured time belongs to any")
