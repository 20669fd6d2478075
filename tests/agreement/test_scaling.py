"""Traces of one code at several p: its amounts as formulas, and those give it back elsewhere."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from parcast import Query, Registry, cli
from parcast.comparison.lowering import lower
from parcast.program.unroll import is_collective
from parcast_scaling.mechanisms import MECHANISMS
from parcast_scaling.proposed import with_proposed
from parcast_traces.writers import write_trace

REGISTRY = Registry()
MACHINE = """name = "old"
[processor]
rate = "1 GFLOP/s"
[network]
startup = "10 us"
bandwidth = "1 GB/s"
contention = "none"
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.toml").write_text(MACHINE)

    def call(*arguments):
        return cli.main(["scaling", *arguments]), *capsys.readouterr()

    return call


def query(name, p, **parameters):
    return Query(
        workload=REGISTRY.workload(name),
        machine=REGISTRY.machine("old.toml"),
        p=p,
        parameters=parameters,
    )


def actions(asked):
    """Yield a program as SimGrid would have traced it, collectives as such."""
    for rank, operations in enumerate(asked.workload.content.at(asked).by_rank()):
        yield f"{rank} init"
        for one in operations:
            given = one.arguments
            if one.op == "compute":
                yield f"{rank} compute {given['flops']!r}"
            elif one.op == "isend":
                yield f"{rank} isend {given['dst']} 0 {given['bytes']!r}"
            elif one.op == "irecv":
                yield f"{rank} irecv {given['src']} 0 1e9"
            elif is_collective(one):
                yield f"{rank} {one.op} {given['bytes']!r} 0"
            else:
                yield f"{rank} {one.op}"


def test_a_stencil_gives_its_formulas_and_every_solver_answers_them(run, tmp_path):
    for p in (4, 16, 64, 144):
        lines = "\n".join(actions(query("stencil2d", p, n=96, steps=10)))
        (tmp_path / f"run-{p}.tit").write_text(lines + "\n")
    files = [f"run-{p}.tit" for p in (64, 4, 144, 16)]
    code, out, _ = run(*files, "--on", "old.toml", "--hold-out", "144", "-o", "code.toml")
    assert code == 0
    assert "messages: two coefficients from 3 values of p, taken as they are exact" in out
    written = tomllib.loads((tmp_path / "code.toml").read_text())
    (phase,) = written["phase"]
    assert phase["serial"] == "460800 * p**(-1)"  # 5 n^2 a step
    assert phase["messages"] == "40 - 40 * p**(-1/2) + 1 * log2(p)"  # 2 - 2/sqrt(p) a way and step
    said = written["sources"]["phase[0].serial"]
    assert said.startswith("fitted: run-64.tit, run-4.tit, run-144.tit, run-16.tit, p = 4, 16, 64")
    assert said.endswith("exact; p = 144 left out and predicted exactly")
    rows = REGISTRY.compare(
        "code.toml", "old.toml", p=16, solvers="emulator.tc,petri.mean,perturb,pamela,spmd"
    ).rows
    assert {row.status.value for row in rows} == {"ok"}


def test_a_ring_is_known_from_three_archives_and_predicted_at_four_times_as_many(run, tmp_path):
    for p in (2, 4, 8):
        trace = lower(REGISTRY.lowerings, query("ring-matmul", p, n=64), "trace")[0]
        write_trace(trace.workload.content.trace, tmp_path / f"run-{p}.otf2")
    files = [f"run-{p}.otf2" for p in (2, 4, 8)]
    assert run(*files, "--on", "old.toml", "-p", "32", "-o", "code.toml")[0] == 0
    counted = lower(REGISTRY.lowerings, query("ring-matmul", 32, n=64), "phases")[0]
    (true,) = counted.workload.content.at(counted)
    found = REGISTRY.workload("code.toml")
    (made,) = found.content.at(Query(workload=found, machine=counted.machine, p=32))
    assert made.messages == pytest.approx(true.messages * true.bursts, rel=1e-9)
    assert made.bytes == pytest.approx(true.bytes * true.bursts, rel=1e-9)
    # the first product comes before the first call, and times are in whole ns
    assert made.serial == pytest.approx(true.serial * true.bursts * 31 / 32, rel=0.1)


def test_traces_beside_times_propose_their_amounts_as_terms(run, tmp_path):
    for p in (4, 16, 64):
        lines = "\n".join(actions(query("stencil2d", p, n=96, steps=10)))
        (tmp_path / f"run-{p}.tit").write_text(lines + "\n")
    seconds = {p: 4 / p + 0.02 * (40 - 40 / p**0.5) for p in (4, 16, 64)}  # by its messages
    rows = "".join(f"{p},{time}\n" for p, time in seconds.items())
    (tmp_path / "t.csv").write_text("p,time\n" + rows)
    files = ["t.csv", *(f"run-{p}.tit" for p in seconds)]
    code, out, _ = run(*files, "--on", "old.toml", "-p", "256", "--json")
    assert code == 0
    (band,) = json.loads(out)["bands"]
    assert band["low90"] < 4 / 256 + 0.02 * 37.5 < band["high90"]
    terms = with_proposed(REGISTRY, files[1:], "old.toml", [4, 256])
    proposed = {term.name: term.values for term in terms if term not in MECHANISMS}
    assert set(proposed) == {"flops", "messages", "bytes", "messages of allreduce"}
    p, n = np.array([8.0, 256]), np.ones(2)
    assert proposed["messages"](p, n) == pytest.approx(40 - 40 / p**0.5, rel=1e-6)
    assert proposed["messages of allreduce"](p, n) == pytest.approx(np.log2(p), rel=1e-6)
    assert "t.csv and u.csv are two tables" in refusal(run, tmp_path, "t.csv", "u.csv")
    assert "name it by --on" in refusal(run, tmp_path, *files)


def refusal(run, tmp_path, *arguments):
    (tmp_path / "u.csv").write_text((tmp_path / "t.csv").read_text())
    code, out, told = run(*arguments)
    assert (code, out, told.count("\n")) == (2, "", 1)
    return told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run-2.tit"], "name the machine that the traces ran on with --on"),
        (["run-2.tit", "t.csv", "--on", "old.toml"], "t.csv is a table of amounts; give it alone"),
        (["t.csv", "--on", "old.toml"], "leave out --on"),
        (["stencil2d", "--on", "old.toml"], "stencil2d is no recorded run"),
        (["stencil2d"], "stencil2d has neither measured times nor a recorded run; give a table"),
        (["run-2.tit", "run-2.tit", "--on", "old.toml"], "has 2 processes, as a run before it"),
        (["run-2.tit", "--on", "old.toml", "--hold-out", "8"], "--hold-out 8: there is no run"),
        (["gone.tit", "--on", "old.toml"], "gone.tit"),
    ],
)
def test_what_is_no_set_of_runs_is_one_sentence(run, tmp_path, arguments, said):
    (tmp_path / "run-2.tit").write_text("0 init\n1 init\n0 compute 100\n1 compute 100\n")
    (tmp_path / "t.csv").write_text("p,flops\n2,4\n")
    code, _, told = run(*arguments)
    assert code == 2
    assert said in told
    assert told.count("\n") == 1


def test_processes_that_are_not_alike_are_refused(run, tmp_path):
    (tmp_path / "run-2.tit").write_text("0 init\n1 init\n0 compute 100\n1 compute 900\n")
    code, _, told = run("run-2.tit", "--on", "old.toml")
    assert code == 1
    assert "'run-2' is not SPMD at p=2: rank 0 computes" in told


def test_too_few_runs_claim_no_formula_and_write_nothing(run, tmp_path):
    (tmp_path / "run-2.tit").write_text("0 init\n1 init\n0 compute 100\n1 compute 100\n")
    code, _, told = run("run-2.tit", "--on", "old.toml", "-o", "code.toml")
    assert code == 1
    assert "1 values of p are too few" in told
    assert not (tmp_path / "code.toml").exists()
