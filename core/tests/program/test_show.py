"""What people see of a program: show, its tally, and rows where it has no meaning."""

import json

import pytest

from parcast import Registry, SolverEntry, hookimpl
from parcast.cli import app as command
from parcast.model.query import Prediction, Query, Status
from parcast.program.reader import read_source
from parcast.program.summary import tally, tally_sites

RING = '''"""A ring of steps.

What it stands for.

n: assumed: anything
"""


def program(rank, size, n=1000):
    for step in range(3):
        compute(5 * n)
        if size > 1:
            sendrecv((rank + 1) % size, 8 * n, (rank - 1) % size)  # the neighbors
    if rank == 0:
        write(n)
    allreduce(8)
'''
LOST = "def program(rank, size):\n    if rank == 0 and size > 2:\n        send(1, 8)\n"


@pytest.fixture
def ring(tmp_path):
    file = tmp_path / "ring.py"
    file.write_text(RING)
    return str(file)


def show(capsys, *arguments: str) -> tuple[int, str, str]:
    code = command.main(["show", *arguments])
    return code, *capsys.readouterr()


def test_show_prints_operations_and_bytes_by_line_and_by_rank(capsys, ring):
    code, out, _ = show(capsys, ring, "-p", "3")
    assert code == 0
    assert "ring (program): A ring of steps." in out
    assert "What it stands for." in out
    assert "assumed: anything" in out
    assert "at p=3: 22 operations on all processes" in out
    rows = [line.split("  ") for line in out.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["11", "compute(5 * n)", "0..2", "3", "15,000 FLOP"] in cells
    exchange = "sendrecv((rank + 1) % size, 8 * n, (rank - 1) % size)"
    assert ["13", exchange, "0..2", "3", "24,000 B"] in cells
    assert ["15", "write(n)", "0", "1", "1,000 B"] in cells
    assert cells[-4][:5] == ["rank", "operations", "FLOP", "messages", "B sent"]
    assert cells[-3] == ["0", "8", "15,000", "3", "24,000", "1", "8", "1,000"]


def test_show_takes_parameters_and_many_ranks(capsys, ring):
    code, out, _ = show(capsys, ring, "-p", "1000", "--set", "n=2*p")
    assert code == 0
    assert "least" in out
    assert "most" in out
    assert "30,000 FLOP" in out


def test_show_prints_an_operation_whole_and_alone(capsys, tmp_path):
    file = tmp_path / "long.py"
    lines = ["send(", "    0,", "    8,", ")  # to the first", "recv(0); region('a # b')"]
    file.write_text("def program(rank, size):\n" + "".join(f"    {one}\n" for one in lines))
    code, out, _ = show(capsys, str(file), "-p", "1")
    assert code == 0
    shown = [line.split("  ")[2].strip() for line in out.splitlines() if line.startswith("   ")]
    assert shown[:3] == ["send(0, 8)", "recv(0)", "region('a # b')"]


def test_show_in_json_has_the_same_numbers(capsys, ring):
    _, out, _ = show(capsys, ring, "-p", "2", "--json")
    found = json.loads(out)["unrolled"]
    assert found["p"] == 2
    assert found["ranks"]["sent"] == [24000.0, 24000.0]
    assert found["sites"][0] == {
        "line": 11,
        "operation": "compute",
        "ranks": 2,
        "times": [3, 3],
        "amount": [15000.0, 15000.0],
    }


def test_show_says_what_is_wrong_in_one_sentence(capsys, ring, tmp_path):
    work = tmp_path / "work.toml"
    work.write_text("[[phase]]\nparallel = 1\n")
    assert show(capsys, str(work), "-p", "2")[0::2] == (
        2,
        "parcast: work is no program; -p and --set show what a program does\n",
    )
    code, _, said = show(capsys, ring, "--set", "n=1")
    assert code == 2
    assert said.startswith("parcast: -p: give how many processes")
    code, _, said = show(capsys, ring, "-p", "0")
    assert code == 2
    assert said.startswith("parcast: -p 0: give how many processes")
    code, _, said = show(capsys, ring, "-p", "2", "--set", "m=1")
    assert code == 2
    assert "No parameter, machine value or option is called 'm'" in said


def test_a_tally_adds_up_ranks_and_sites():
    workload = read_source(RING)
    unrolled = workload.content.at(Query(workload=workload, machine=None, p=4))
    found, sites = tally(unrolled), tally_sites(unrolled)
    assert found.operations.sum() == unrolled.count() == 29
    assert [one.site for one in sites] == [0, 1, 2, 3]
    assert sites[2].ranks.tolist() == [0]
    assert found.shared.tolist() == [8] * 4


class Counting:
    """Answers 1 s for whatever program it is given."""

    def supports(self, query):
        return None

    def solve(self, query):
        return Prediction(time=1.0)


class Plugin:
    @hookimpl
    def parcast_solvers(self):
        yield SolverEntry("one", "program", f"{__name__}:Counting", "One second.")
        yield SolverEntry("two", "program", f"{__name__}:Counting", "One second.")


def test_what_no_process_can_do_is_invalid_before_any_solver(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())
    registry = Registry([Plugin()])
    machine = registry.machine({"name": "any", "processor": {"rate": 1}})
    rows = registry.compare(read_source(LOST, "lost.py", "lost"), machine, p=[2, 3]).rows
    assert [row.status for row in rows] == [Status.OK, Status.OK, Status.INVALID, Status.INVALID]
    assert rows[2].message == rows[3].message
    assert rows[2].message.startswith("lost.py:3: at p=3 rank 0 sends")


def _this():
    from types import ModuleType

    module = ModuleType(__name__)
    module.Counting = Counting
    return module
