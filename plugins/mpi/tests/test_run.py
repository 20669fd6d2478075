"""Programs under MPI: every operation, the refusals, and ranks that die or never end."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from parcast import Machine, Query, Registry, SolveError, Status
from parcast.errors import HostError
from parcast.program.reader import read_source
from parcast.testing import check_solver
from parcast_mpi import library
from parcast_mpi.jobs import new_job, run_python
from parcast_mpi.running.plan import plan
from parcast_mpi.running.solver import Options, assumptions, measure

EVERYTHING = """
def program(rank, size, seconds=0.002):
    other = (rank + 1) % size
    compute(3e5)
    compute(1e5, bytes=1e5)
    start()
    elapse(seconds)
    if size > 1:
        r = irecv(other, tag=2)
        isend(other, 100.4, tag=2)
        wait(r)
        waitall()
        sendrecv(other, 5000, other)
        if rank == 0:
            send(1, 20)
            recv(ANY, tag=1)
        else:
            recv(0)
            send(0, 1, tag=1)
    barrier()
    bcast(100, root=size - 1)
    reduce(80)
    gather(3)
    scatter(5, root=size - 1)
    allreduce(8, color=rank % 2)
    allreduce(7)
    allgather(0)
    alltoall(11)
    reduce_scatter(16)
    scan(24)
    gatherv(3 * rank)
    scatterv(5 + rank, root=size - 1, color=0)
    allgatherv(7 - 7 * rank)
    alltoallv(11 * rank + 0.4)
    write(1000)
    write(5000, file="shared", collective=True)
    read(3000, file="shared")
    read(2500)
    for task in pool(range(6), bytes=1000.4 * (task % 2)):
        elapse(seconds)
        if task == 3:
            write(100)
    region("end")
"""

#: Either side sends first: an eager library lets them, and no library is eager for 8 MB.
HEAD_TO_HEAD = """
def program(rank, size):
    send((rank + 1) % size, 8e6)
    recv((rank + 1) % size)
"""


def query(source: str, machine: Machine, p: int) -> Query:
    return Query(workload=read_source(source, "some.py"), machine=machine, p=p)


def test_every_operation_runs_and_the_answer_keeps_the_promises(
    mpi: library.Library, registry: Registry, machine: Machine
) -> None:
    asked = [query(EVERYTHING, machine, 2)]
    (found,) = check_solver(registry, "mpi.run", asked, absolute="it is measured")
    assert found.status is Status.OK
    assert found.time is not None
    assert found.parts is not None
    assert found.time >= 0.002  # of the rank that started last; others began before
    assert found.parts.compute > 0
    assert min(found.parts.io, found.parts.communication) > 0
    assert len(found.details["repetitions"]) == 10
    assert found.details["library"] == str(mpi)


def test_tasks_of_a_pool_are_all_done_whoever_takes_them(
    mpi: library.Library, machine: Machine
) -> None:
    source = """
def program(rank, size):
    for task in pool(range(5), bytes=8):
        elapse(0.02)
    if rank == 0:
        elapse(0.05)
    for task in pool(range(3)):
        elapse(0.02)
"""
    unrolled = query(source, machine, 2).workload.content.at(query(source, machine, 2))
    found = measure(plan(unrolled), 2, Options(repetitions=3, warmup=1))
    for spent in found.parts:
        computed = 2 * spent.compute  # by both ranks together
        assert computed >= 8 * 0.02 + 0.05
    assert all(one > 0.1 for one in found.times)


def test_a_deadlock_ends_at_the_limit_and_names_the_lines(
    mpi: library.Library, registry: Registry, machine: Machine
) -> None:
    workload = read_source(HEAD_TO_HEAD, "some.py")
    results = registry.compare(
        workload, machine, p=2, solvers="mpi.run", settings={"mpi.run.limit": "1 s"}
    )
    (row,) = results.rows
    assert row.status is Status.FAILED, row
    for rank in (0, 1):
        assert f"rank {rank} stands in send at some.py:3 when the limit of 1 s" in row.message


def test_a_rank_that_dies_is_reported(
    mpi: library.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, signal\nfrom mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with new_job() as job, pytest.raises(SolveError, match="died") as raised:
        run_python(mpi, job, 2, "dying", limit=60)
    assert "\n" not in str(raised.value)


def test_what_a_rank_meets_is_said(mpi: library.Library, machine: Machine) -> None:
    asked = query("def program(rank, size):\n    write(1)\n", machine, 1)
    made = plan(asked.workload.content.at(asked))
    made.steps[0][0] = ["truncate", 0, [0, 0, None]]
    with pytest.raises(SolveError, match="rank 0 failed: ValueError: no real run knows truncate"):
        measure(made, 1, Options())


def test_a_directory_that_takes_no_files_is_said(
    mpi: library.Library, registry: Registry, machine: Machine
) -> None:
    asked = query("def program(rank, size):\n    write(1)\n", machine, 1)
    with pytest.raises(SolveError, match="no files can be written in /proc: No such file"):
        registry.solver("mpi.run").solve(asked.with_options(Options(directory="/proc")))


@pytest.mark.parametrize("ended", ["late", "terminated"])
def test_no_process_is_left_of_a_job(
    mpi: library.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    (tmp_path / "endless.py").write_text(
        "import os, sys, time\nfrom mpi4py import MPI\n"
        "open(sys.argv[1] + f'/{os.getpid()}.pid', 'w').close()\ntime.sleep(600)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("parcast_mpi.jobs.GRACE", 600.0)
    with new_job() as job:

        def pids() -> list[int]:
            return [int(path.stem) for path in job.folder.glob("*.pid")]

        def watch() -> None:
            if len(pids()) < 2:  # a busy host starts them in its own time
                return
            if ended == "terminated":
                os.kill(os.getpid(), signal.SIGTERM)
            else:  # the time that is left is over at once
                monkeypatch.setattr("parcast_mpi.jobs._POLL", 0.0)

        with pytest.raises((SolveError, SystemExit), match=r"did not end within 1 s|143"):
            run_python(mpi, job, 2, "endless", 1, watch)
        started = pids()
    assert len(started) == 2
    assert not any(map(_alive, started))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


REFUSED = {
    "was not measured on this host": ({"host": None}, {}),
    "was measured on another host (a dream)": (
        {"host": {"id": "0", "processor": "a dream"}},
        {},
    ),
    "3 processes on 2 cores": ({}, {"p": 3}),
    "d=2: a real run has the file system of its host; use -d 1": ({}, {"d": 2}),
    "there is no folder /nowhere": ({}, {"settings": {"mpi.run.directory": "/nowhere"}}),
    "operations are more than mpi.run.most_operations=": (
        {},
        {"settings": {"mpi.run.most_operations": 1}, "p": 2},
    ),
    "GB of this host; choose a smaller problem": ({}, {"settings": {"n": "1e15"}, "p": 2}),
}


def test_a_program_for_accelerators_is_refused(
    mpi: library.Library, registry: Registry, here: dict[str, Any]
) -> None:
    source = "def program(rank, size):\n    compute(1, on='gpu')\n"
    results = registry.compare(read_source(source, "some.py"), here, solvers="mpi.run", p=1)
    assert results.rows[0].status is Status.REFUSED
    assert "this program on accelerators, too" in results.rows[0].message


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_run_here_is_refused(
    mpi: library.Library, registry: Registry, here: dict[str, Any], reason: str
) -> None:
    changed, asked = REFUSED[reason]
    data = {key: value for key, value in {**here, **changed}.items() if value is not None}
    source = """
def program(rank, size, n=8):
    if size > 1:
        sendrecv((rank + 1) % size, n, (rank - 1) % size)
"""
    results = registry.compare(
        read_source(source, "some.py"), data, solvers="mpi.run", **{"p": 1, **asked}
    )
    assert results.rows[0].status is Status.REFUSED
    assert reason in results.rows[0].message


def test_without_mpi_one_sentence_names_the_extra(
    registry: Registry, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda _name: None)
    library.find.cache_clear()
    asked = query("def program(rank, size):\n    elapse(0)\n", machine, 1)
    with pytest.raises(HostError) as caught:
        registry.solver("mpi.run").supports(asked)
    library.find.cache_clear()
    assert str(caught.value) == (
        "a real run needs mpi4py, which is not installed: pip install 'parcast-mpi[mpich]', or "
        "install the system's MPI and mpi4py"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HYDRA build details:\n    Version:  5.0.2\n    Release Date: x\n", ("MPICH", "5.0.2")),
        ("mpiexec (Open MPI) 5.0.11\n\nReport bugs\n", ("Open MPI", "5.0.11")),
        ("mpirun (Open MPI) 4.1.4\n", ("Open MPI", "4.1.4")),
        ("Intel(R) MPI Library\n", ("MPI", "")),
    ],
)
def test_libraries_are_told_apart(text: str, expected: tuple[str, str]) -> None:
    assert library.read_version(text) == expected


def test_it_says_that_the_host_has_no_switches_that_add_up():
    workload = read_source("def program(rank, size):\n    barrier()\n", "s.py", "s")
    for text, named in ((None, False), ("allreduce in-network", True)):
        table = {"name": "host", "network": {} if text is None else {"collectives": text}}
        query = Query(workload=workload, machine=Registry().machine(table), p=2)
        words = [str(assumption) for assumption in assumptions(query)]
        assert any("switches, which this host has not" in word for word in words) == named
