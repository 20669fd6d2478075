"""Many files are said in few words, and placed by patterns, folders, or what a machine keeps."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.cli import main
from parcast_machines_from.naming import called, gathered, pattern_of

PAIRS = """\
# Benchmarking PingPong
# #processes = 2
# ( 70 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         {startup:.2f}         0.00
         1024         1000         {long:.2f}       787.69
      4194304 out-of-mem.; needed X=   4.501 GB; use flag "-mem X" or MAX_MEM_USAGE>=X

"""
NODES = (1, 2, 4, 8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "outputs"
    inside.mkdir()
    for nodes in NODES:
        text = PAIRS.format(startup=0.65 + nodes / 100, long=1.3 + nodes / 100)
        (inside / f"pp_{nodes}nodes.out").write_text(text)
    (inside / "job.sh").write_text("sbatch this\n")
    (inside / "other.sh").write_text("sbatch this\n")
    return inside


def test_a_pattern_names_many_files_where_it_matches_no_other() -> None:
    names = [f"pp_{nodes}nodes.out" for nodes in NODES]
    assert called(names) == "pp_*nodes.out"
    assert called(names[:2]) == "pp_1nodes.out, pp_2nodes.out"
    assert called(names, ["pp_16nodes.out"]) == "pp_1nodes.out, pp_2nodes.out and 2 others"
    assert called(names, ["pp_16nodes.out"], whole=True) == ", ".join(names)


@given(st.lists(st.text("ab*[]?.1", max_size=6), min_size=2, max_size=6, unique=True))
def test_a_pattern_matches_all_its_names(names: list[str]) -> None:
    assert all(fnmatchcase(name, pattern_of(names)) for name in names)


def test_what_is_said_of_many_files_is_said_once() -> None:
    notes = [
        "a.out:3: too short",
        "b.out:4: too short",
        "b.out:5: too short",
        "all is well",
        "c: d",
    ]
    assert list(gathered(notes, {"a.out", "b.out"})) == [
        "a.out, b.out: too short (3 times)",
        "all is well",
        "c: d",
    ]
    assert list(gathered(notes[:1], {"a.out"})) == notes[:1]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["machine", *arguments]) == 0
    captured = capsys.readouterr()
    return [*captured.out.splitlines(), *captured.err.splitlines()]


def test_identical_notes_of_a_folder_are_one_and_no_list_is_repeated(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(folder.parent / "m.toml")
    lines = said(capsys, "from", str(folder), "--level", "node=36", "-o", output)
    assert len([line for line in lines if "IMB ran out of memory for a row" in line]) == 1
    assert len([line for line in lines if "no output that is read" in line]) == 1
    (unplaced,) = [line for line in lines if "--within node=FILES" in line and "pairs" in line]
    assert "pp_*nodes.out: pairs" in unplaced
    assert not [line for line in lines if "mixbench" in line]


@pytest.mark.parametrize("pattern", ["pp_*", "*/pp_*", ""])
def test_a_pattern_or_a_folder_is_placed_and_check_keeps_it(
    folder: Path, pattern: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = (
        pattern if pattern.startswith("pp") else f"{folder.parent if pattern else folder}/{pattern}"
    )
    output = folder.parent / "m.toml"
    within = ["--within", f"node={names}"]
    said(capsys, "from", str(folder), "--level", "node=36", *within, "-o", str(output))
    assert "# --within node=pp_*nodes.out" in output.read_text() or pattern == ""
    lines = said(capsys, "check", str(output), str(folder), "--uncertainty", "0")
    assert [line for line in lines if line.startswith("latency node, 2 processes: 8 values")]
    assert not [line for line in lines if "--within" in line]
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "new.out").write_text(PAIRS.format(startup=1, long=2))
    assert main(["machine", "check", str(output), str(elsewhere)]) == 0
    assert "--within node=FILE" in capsys.readouterr().err


def test_a_pattern_that_matches_nothing_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.chdir(folder.parent)
    assert main(["machine", "from", "outputs", "--within", "node=none*"]) == 2
    assert "--within 'node=none*': no file matches 'none*'; name a file" in capsys.readouterr().err
    assert main(["machine", "from", "outputs", "--within", "none"]) == 2
    assert "write such as node=intra.txt" in capsys.readouterr().err


def test_the_list_of_what_is_read_is_in_the_help(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["machine", "from", str(folder / "job.sh")]) == 2
    error = capsys.readouterr().err
    assert "job.sh: no output that is read; 'parcast machine from --help' lists all" in error
    assert main(["machine", "from", "--help"]) == 0
    assert "mixbench" in capsys.readouterr().out
