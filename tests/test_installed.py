"""The whole house: everything installed loads, and the command keeps its promises."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parcast import Registry

ROOT = Path(__file__).parents[1]
HEAVY = (
    "numpy", "scipy", "networkx", "numba", "pandas", "xarray", "pyarrow", "h5netcdf", "h5py",
    "matplotlib", "rich", "cattrs",
)  # fmt: skip


def test_every_plugin_loads_without_a_problem() -> None:
    registry = Registry()
    assert registry.problems == ()
    assert {"core", "machines", "workloads", "spmd"} <= {info.name for info in registry.plugins}


def test_every_solver_tells_advice_what_it_costs_and_assumes() -> None:
    registry = Registry()
    for name in registry.solvers:
        solver = registry.solver(name)
        assert hasattr(solver, "cost"), name
        assert hasattr(solver, "assumptions"), name


def test_finding_plugins_imports_neither_what_is_heavy_nor_what_only_commands_need() -> None:
    names = (*HEAVY, "typer")
    script = (
        "import sys, parcast; parcast.Registry(); "
        f"print([name for name in {names!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_show_says_what_each_option_of_a_solver_takes_and_means(
    parcast: Callable[..., Any],
) -> None:
    method = "exact, bard-schweitzer, aql, linearizer (default exact)"
    meaning = "Exact, or an approximation by its name"
    shown = parcast("show", "spmd.bus").out
    assert f"--set spmd.bus.method=... {method}\n    {meaning}\n" in shown
    options = json.loads(parcast("show", "spmd.bus", "--json").out)["options"]
    assert options["spmd.bus.method"] == f"{method}: {meaning}"


@pytest.mark.parametrize("command", ["['--help']", "['compare', '--help']", "['list', 'plugins']"])
def test_help_imports_nothing_heavy(command: str) -> None:
    script = (
        "import sys, io, contextlib\n"
        "from parcast.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    assert main({command}) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    allowed = ["rich"] if "list" in command else []
    assert done.stdout.strip() in {"[]", str(allowed)}


SHOWN = [part.split("```")[0] for part in (ROOT / "README.md").read_text().split("$ parcast ")[1:]]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.partition("\n")[0])
def test_the_readme_shows_what_a_command_prints(
    shown: str, parcast: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "110")
    command, _, output = shown.partition("\n")
    done = parcast(*command.split())
    assert done.code == 0, done.err
    assert done.out.strip() == output.strip()


def test_every_member_carries_the_same_licence() -> None:
    whole = (ROOT / "LICENSE").read_text()
    members = [path.parent for path in ROOT.glob("*/pyproject.toml")]
    members += [path.parent for path in ROOT.glob("plugins/*/pyproject.toml")]
    members += [path.parent for path in ROOT.glob("docs/examples/*/pyproject.toml")]
    assert len(members) >= 4
    for member in members:
        assert (member / "LICENSE").read_text() == whole, member


#: Members that others stand on.
SHARED = (
    "parcast-network", "parcast-traces", "parcast-training", "parcast-pamela-compiler",
    "parcast-report",
)  # fmt: skip


def test_members_depend_on_the_core_and_shared_members_alone() -> None:
    import tomllib

    for path in [*ROOT.glob("plugins/*/pyproject.toml"), ROOT / "core/pyproject.toml"]:
        project = tomllib.loads(path.read_text())["project"]
        siblings = [name for name in project["dependencies"] if name.startswith("parcast-")]
        assert all(name.startswith(SHARED) for name in siblings), path


BAD_INPUT = {
    "compare btio ibm-sp2 -s spdm": "No solver is called 'spdm'. Did you mean 'spmd'?",
    "compare btoi ibm-sp2": "No workload is called 'btoi'. Did you mean 'btio'?",
    "compare btio ibm-sp": "No machine is called 'ibm-sp'. Did you mean 'ibm-sp2'?",
    "compare btio ibm-sp2 --solvr x": "No such option: --solvr. Did you mean '--solver'?",
    "compare btio ibm-sp2 --set m=3": "No parameter, machine value or option is called 'm'.",
    "compare btio ibm-sp2 --set network.bandwith=3": "Did you mean 'bandwidth'?",
    "compare btio ibm-sp2 --set spmd.passage=one": "Did you mean 'spmd.passages'?",
    "compare btio ibm-sp2 --set spmd.passages=two": "'two' must be 'one' or 'each'.",
    "compare btio ibm-sp2 --set n": "'n' is no NAME=VALUE",
    "compare btio ibm-sp2 --set n=q": "n=q: nothing is called 'q'.",
    "compare btio ibm-sp2 -p 0": "-p '0': write whole numbers from 1",
    "compare btio ibm-sp2 -p 4..2": "-p '4..2': the range is empty or endless",
    "compare btio ibm-sp2 -p four": "-p 'four': write whole numbers from 1",
    f"compare btio ibm-sp2 -p {'9' * 6000}": "write whole numbers from 1 to 10**15",
    "compare , ibm-sp2": "'' is no workload; give a name, a file or a mapping",
    "compare /dev/zero ibm-sp2": "/dev/zero is a device or a pipe; name a file",
    "compare btio ibm-sp2 -d 1.5": "-d '1.5': write whole numbers from 1",
    "compare btio ibm-sp2 -o x.pdfx": "x.pdfx: no writer for '.pdfx' files.",
    "compare btio ibm-sp2 -p 2 -o /nowhere/x.csv": "/nowhere/x.csv cannot be written",
    "compare btio nowhere.toml": "nowhere.toml does not exist",
    "compare btoi.toml ibm-sp2": "btoi.toml does not exist. Did you mean 'btio'?",
    "show pyproject.tml": "pyproject.tml does not exist",
    "compare READM.md ibm-sp2": "READM.md does not exist. Did you mean 'README.md'?",
    "compare btio docs": "docs is a directory",
    "compare ibm-sp2 btio": "'ibm-sp2' is a machine, not a workload",
    "predict qcrd-like intel-paragon -s spmd.clu -p 60 -d 16 --set storage.layout=cluster": (
        "d=16 disks do not divide the synchronization groups of workload 'qcrd-like' at p=60: 60; "
        "choose p among the multiples of 16"
    ),
    "compare btio ibm-sp2 --mapping blok": "Did you mean 'block'?",
    "compare": "Missing argument",
    "list solver": "Did you mean 'solvers'?",
    "show btoi": "Nothing is called 'btoi'. Did you mean 'btio'?",
    "frobnicate": "No such command 'frobnicate'.",
}


@pytest.mark.parametrize("command", BAD_INPUT, ids=lambda command: command[:60])
def test_bad_input_is_one_sentence_and_exit_code_2(
    command: str, parcast: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = parcast(*command.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("parcast: ")
    assert done.err.count("\n") == 1
    assert BAD_INPUT[command] in done.err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("compare btio ibm-sp2 -p 1,4", 0),
        ("compare btio ibm-sp2 -s spmd.bus", 1),
        ("compare qcrd-like intel-paragon -p 16,60 -d 16 --set storage.layout=cluster", 0),
        ("compare btio ibm-sp2,intel-paragon --json", 0),
        ("predict btio ibm-sp2 -s spmd -p 4", 0),
        ("list", 0),
        ("list --json", 0),
        ("show btio", 0),
        ("show ibm-sp2 --json", 0),
        ("show spmd.sio", 0),
        ("--version", 0),
    ],
)
def test_exit_codes_tell_answers_from_refusals(
    command: str, code: int, parcast: Callable[..., Any]
) -> None:
    done = parcast(*command.split())
    assert (done.code, done.err) == (code, "")
    assert done.out


def test_an_interrupted_pipe_is_no_error() -> None:
    script = "from parcast.cli import run; import sys; sys.argv = ['parcast', 'list']; run()"
    command = f'"{sys.executable}" -c "{script}" | true'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "parcast", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("parcast ")


def test_the_constraints_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    assert not any("://" in line or "@" in line for line in lines)


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m parcast {command}'],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def test_a_narrow_terminal_loses_no_cell(parcast: Callable[..., Any]) -> None:
    wide = parcast("compare", "btio", "ibm-sp2", "-p", "4,64", "--wide").out
    command = f"{sys.executable} -m parcast compare btio ibm-sp2 -p 4,64 --wide"
    read, write = os.openpty()
    with subprocess.Popen(
        ["bash", "-c", f"stty cols 40; {command}"],
        stdin=write,
        stdout=write,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    ) as process:
        process.wait()
        os.close(write)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while chunk := os.read(read, 65536):
                shown += chunk
    os.close(read)
    assert shown.decode().split() == wide.split()


@pytest.mark.parametrize("command", ["compare btio ibm-sp2 -p 4", "list"])
def test_a_closed_output_is_no_traceback(command: str) -> None:
    done = shell(f"{command} >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_device_is_one_sentence() -> None:
    done = shell("list > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "parcast: the output cannot be written: No space left on device\n"


def test_what_a_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text('name = "日本"\n[processor]\nrate = 1\n', encoding="utf-8")
    done = shell(f"show {path}", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "\\u65e5" in done.stdout


def test_show_says_what_is_wrong_with_a_machine_file(
    tmp_path: Path, parcast: Callable[..., Any]
) -> None:
    path = tmp_path / "m.toml"
    path.write_text('name = "m"\n[network]\nbandwidth = "5 Mb/s"\n', encoding="utf-8")
    done = parcast("show", str(path))
    assert done.code == 2
    assert "network.bandwidth: '5 Mb/s': 'Mb/s' is not a known unit" in done.err
