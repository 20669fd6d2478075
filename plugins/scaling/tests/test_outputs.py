"""What codes print: the run that an output is of, and what is said where it states too little."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.cli import app as command
from parcast.errors import FileError
from parcast_scaling.outputs import read_output
from parcast_scaling.reading import read_times

LAMMPS = "Loop time of {seconds} on {p} procs for 100 steps with {atoms} atoms\n"

#: Of each code what it prints, and p, the seconds and the work of the run.
OUTPUTS = {
    "lammps": (
        """Loop time of 9.5 on 4 procs for 100 steps with 2000 atoms
           Loop time of 71.25 on 4 procs for 100 steps with 2000 atoms""",
        (4, 71.25, 200_000),
    ),
    "gromacs": (
        """:-) GROMACS - gmx mdrun, 2019.3 (-:
           Using 16 MPI processes
           Using 2 OpenMP threads per MPI process
           Performance:        0.553       43.405""",
        (32, 86400 / 0.553, 1),
    ),
    "openfoam": (
        """nProcs : 1
           ExecutionTime = 3.1 s  ClockTime = 4 s
           nProcs : 64
           ExecutionTime = 1.5 s  ClockTime = 2 s
           ExecutionTime = 917.19 s  ClockTime = 918 s""",
        (64, 917.19, 1),
    ),
    "espresso": (
        """Parallel version (MPI & OpenMP), running on     144 processor cores
           PWSCF        : 17m29.19s CPU    19m 8.96s WALL""",
        (144, 19 * 60 + 8.96, 1),
    ),
    "espresso of hours": (
        """Parallel version (MPI), running on     8 processors
           PWSCF        :     2h55m CPU        2h56m WALL""",
        (8, 2 * 3600 + 56 * 60, 1),
    ),
    "vasp": (
        """running on  176 total cores
           General timing and accounting informations for this job:
           Total CPU time used (sec):      468.232
           Elapsed time (sec):      469.156""",
        (176, 469.156, 1),
    ),
    "cp2k": (
        """GLOBAL| Total number of message passing processes      96
           GLOBAL| Number of threads for this process       2
\n CP2K                         1  1.0    0.109    0.118  101.401  101.502""",
        (192, 101.502, 1),
    ),
    "namd": (
        """Info: Benchmark time: 64 CPUs 0.0213 s/step 0.246 days/ns 300 MB memory
           Info: Benchmark time: 64 CPUs 0.0211 s/step 0.244 days/ns 300 MB memory
           WallClock: 90.1  CPUTime: 89.5  Memory: 300 MB""",
        (64, 0.0211, 1),
    ),
    "wrf": (
        """Ntasks in X            6 , ntasks in Y            8
           Timing for main: time 2001-10-25_00:01:12 on domain   1:    2.5 elapsed seconds
           Timing for main: time 2001-10-25_00:01:12 on domain   2:    9.0 elapsed seconds
           Timing for main: time 2001-10-25_00:02:24 on domain   1:    0.75 elapsed seconds""",
        (48, 3.25, 1),
    ),
    "npb": (
        """LU Benchmark Completed.
           Time in seconds =                    12.34
           Total processes =                       64""",
        (64, 12.34, 1),
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_last_time_and_all_that_ran_are_read(name):
    text, (p, seconds, work) = OUTPUTS[name]
    run = read_output(text, "x.out").run
    assert (run.p, run.n) == (p, work)
    assert run.seconds == pytest.approx(seconds)


def test_a_text_of_no_known_code_is_no_output():
    assert read_output("Wall clock  397.17\n", "x.out") is None


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("ExecutionTime = 3.1 s\n", "OpenFOAM that does not say how many processes it ran on"),
        ("GLOBAL| Total number of message passing processes 8\n", "CP2K that does not say a time"),
        ("nProcs : 8\nExecutionTime = 0.00 s\n", "prints a time of 0"),
        ("Loop time of . on 8 procs for 10 steps with 9 atoms", "LAMMPS that does not say a time"),
        ("Loop time of 1.2.3 on 8 procs for 10 steps with 9 atoms", "does not say a time"),
        ("Loop time of 1.2 on 0 procs for 10 steps with 9 atoms", "p = 0 must be above 0"),
        ("Loop time of 1.2 on 8 procs for 10 steps with 0 atoms", "n = 0 must be above 0"),
        (f"Loop time of 1.2 on {'9' * 400} procs for 1 steps with 9 atoms", "how many processes"),
    ],
)
def test_an_output_that_states_too_little_is_refused(text, missing):
    with pytest.raises(FileError, match=missing):
        read_output(text, "x.out")


@given(st.sampled_from(sorted(OUTPUTS)), st.data())
def test_whatever_numbers_an_output_has_it_is_a_run_or_refused(name, data):
    numbers = st.sampled_from(["0", ".", "1.2.3", "", "9" * 400, "1e9", "-1", "7"])
    text = re.sub(
        r"\d[\d.]*", lambda match: data.draw(st.just(match[0]) | numbers), OUTPUTS[name][0]
    )
    try:
        output = read_output(text, "x.out")
    except FileError:
        return
    if output is not None:
        run = output.run
        assert all(0 < value < math.inf for value in (run.p, run.seconds, run.n))


def test_outputs_of_a_growing_problem_have_its_work(tmp_path):
    times = []
    for p in (4, 8, 16):
        (tmp_path / f"log-{p}.lammps").write_text(LAMMPS.format(seconds=7, p=p, atoms=1000 * p))
        times.append(read_times(str(tmp_path / f"log-{p}.lammps")))
    assert [each.runs[0].n for each in times] == [400_000, 800_000, 1_600_000]
    assert all(each.varies and each.profiles for each in times)


def test_the_command_reads_outputs_of_several_sizes(registry, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    sizes = {4: 71.4, 8: 41.6, 16: 26.4}
    for p, seconds in sizes.items():
        (tmp_path / f"out-{p}.log").write_text(LAMMPS.format(seconds=seconds, p=p, atoms=5000))
    code = command.main(["scaling", *(f"out-{p}.log" for p in sizes), "--to", "32"])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "3 runs at p = 4, 8, 16" in out
    assert "LAMMPS prints as Loop time" in out


def test_outputs_of_two_codes_are_refused(registry, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text(LAMMPS.format(seconds=71.4, p=4, atoms=5000))
    (tmp_path / "b.log").write_text(OUTPUTS["vasp"][0])
    assert command.main(["scaling", "a.log", "b.log"]) == 2
    err = capsys.readouterr().err
    assert "a.log is an output of LAMMPS, and b.log is an output of VASP; give runs of one" in err
