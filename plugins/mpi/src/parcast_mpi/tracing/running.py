"""Running a command with the tracer loaded into it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from parcast import UnsupportedError
from parcast.errors import FileError
from parcast_mpi.library import find_launcher, find_tool
from parcast_mpi.tracing.building import tracer


def run(
    command: Sequence[str],
    folder: Path,
    processes: int | None,
    mpiexec: str | None,
    say: Callable[[str], None],
) -> int:
    """Run a command, its ranks recorded into ``folder``; return its exit code.

    Parameters
    ----------
    command
        The program of each rank, or, without ``processes``, what starts the ranks by itself.
    folder
        Made if it is not there; must hold no trace.
    processes
        How many ranks to start with ``mpiexec``.
    mpiexec
        By default the one that is found; the compiler beside it compiles the tracer.
    say
        Called with a sentence where a command of Python is traced without a compiler.

    Raises
    ------
    UnsupportedError
        If there is no launcher or no compiler, or the tracer cannot be compiled.
    FileError
        If the folder cannot be written, or the command is none.
    """
    if sys.platform != "linux":
        raise UnsupportedError(f"programs are traced on Linux only, and this is {sys.platform}")
    loaded = {"PARCAST_TRACE": str(folder.resolve())}
    try:
        loaded["LD_PRELOAD"] = str(tracer(_compiler(mpiexec)))
    except UnsupportedError as error:
        command = in_python(command, error)
        say(
            f"{error}; without it calls of mpi4py are recorded in Python, which takes some us a "
            "call, and sees no matched probes and nothing that libraries call by themselves"
        )
    if shutil.which(command[0]) is None:
        raise FileError(f"{command[0]}: there is no such command")
    _make(folder)
    environment = dict(os.environ)
    if processes is None:
        return _call(list(command), {**environment, **loaded})
    launcher = find_launcher(mpiexec)
    words = [f"{name}={value}" for name, value in loaded.items()]
    whole = launcher.command(processes, ["env", *words, *command])
    return _call(whole, launcher.environment)


#: Options of Python's own that take the next word along.
_TAKING = frozenset({"-W", "-X", "--check-hash-based-pycs"})


def in_python(command: Sequence[str], reason: UnsupportedError) -> list[str]:
    """Return a command that records itself, where it is one of Python; else raise the reason."""
    words = list(command)
    names = [re.fullmatch(r"python[0-9.]*", Path(word).name) for word in words]
    if not any(names):
        raise reason
    at = names.index(next(filter(None, names))) + 1
    while at < len(words) and words[at].startswith("-") and words[at] not in {"-m", "-c", "-"}:
        at += 2 if words[at] in _TAKING else 1
    if at >= len(words) or words[at] == "-":
        raise reason
    return [*words[:at], "-m", "parcast_mpi.tracing.fallback", *words[at:]]


def _call(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603


def _compiler(mpiexec: str | None) -> str:
    """Return the compiler of the MPI library that runs the command."""
    compiler = find_tool("mpicc")
    if mpiexec is not None and (path := shutil.which(mpiexec)):
        compiler = shutil.which("mpicc", path=str(Path(path).parent)) or compiler
    if compiler is None:
        raise UnsupportedError(
            "the tracer is compiled with mpicc, and there is none: pip install "
            "'parcast-mpi[mpich]', or install the system's MPI with its headers"
        )
    return compiler


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
    if any(folder.glob("rank-*.trace")):
        raise FileError(f"{folder} holds a trace already; name another folder with -o")
