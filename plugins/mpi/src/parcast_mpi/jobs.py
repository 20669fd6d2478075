"""Jobs: ranks started under a time limit, each leaving one file with what it found."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec

from parcast.errors import PassingError
from parcast_mpi.library import Library

#: After the limit a rank says by itself where it stands; so long later all are killed. On a busy
#: host, starting them takes part of it.
GRACE = 30.0

_POLL = 0.1


@attrs.frozen
class Job:
    """The folder of one job: what the ranks are told, and what each of them answers."""

    folder: Path

    def tell(self, value: Any) -> None:
        """Write what all ranks are told."""
        (self.folder / "job.json").write_bytes(msgspec.json.encode(value))

    def told(self) -> Any:
        """Return what all ranks are told."""
        return msgspec.json.decode((self.folder / "job.json").read_bytes())

    def answer(self, rank: int, value: Any) -> None:
        """Write what a rank answers, whole or not at all."""
        path = self.folder / f"rank-{rank}.json"
        partial = path.with_suffix(".partial")
        partial.write_bytes(msgspec.json.encode(value))
        partial.replace(path)

    def answers(self, size: int) -> list[Any]:
        """Return what each rank answered, None for one that did not."""
        paths = [self.folder / f"rank-{rank}.json" for rank in range(size)]
        return [msgspec.json.decode(p.read_bytes()) if p.exists() else None for p in paths]


@contextlib.contextmanager
def new_job() -> Iterator[Job]:
    """Make a job in a folder that is gone in the end."""
    with tempfile.TemporaryDirectory(prefix="parcast-mpi-", ignore_cleanup_errors=True) as name:
        yield Job(Path(name))


@contextlib.contextmanager
def new_folder(where: str | None) -> Iterator[str]:
    """Make a folder for the files of a run, gone in the end; by default among temporary files.

    Raises
    ------
    PassingError
        If it cannot be made.
    """
    try:
        temporary = tempfile.TemporaryDirectory(prefix="parcast-", dir=where)
    except OSError as error:
        raise PassingError(f"no files can be written in {where}: {error.strerror}") from None
    with temporary as name:
        yield name


def run_python(
    library: Library,
    job: Job,
    size: int,
    module: str,
    limit: float,
    watch: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Run a module of Python on ``size`` ranks, and return what each of them answered.

    Parameters
    ----------
    library
        Starts the ranks.
    job
        What they are told.
    size
        How many there are.
    module
        Run as ``python -m module FOLDER``.
    limit
        Seconds.
    watch
        Called now and then.

    Raises
    ------
    PassingError
        If a rank dies, says that it failed, or does not end in time.
    """
    program = [sys.executable, "-P", "-m", module, str(job.folder)]
    code = run(library, library.command(size, program), job, limit + GRACE, watch)
    answers = job.answers(size)
    failures = [
        f"rank {rank} {answer['error']}"
        for rank, answer in enumerate(answers)
        if answer and "error" in answer
    ]
    if failures:
        raise PassingError("; ".join(failures[:4]) + ("; …" if len(failures) > 4 else ""))
    silent = [rank for rank, answer in enumerate(answers) if answer is None]
    if code is None:
        raise PassingError(f"the ranks did not end within {limit:g} s: raise the limit")
    if code or silent:
        raise PassingError(_died(library, job, code, silent))
    return answers


def run(
    library: Library, command: Sequence[str], job: Job, limit: float, watch: Callable[[], None]
) -> int | None:
    """Run a command with its processes; return its exit code, or None where it took too long."""
    with (job.folder / "output").open("wb") as output, _terminable():
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=library.environment,
            start_new_session=True,
        )
        try:
            for _ in range(int(limit / _POLL) + 1):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(_POLL)
                watch()
            return None
        finally:
            _end(process)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Make an end by SIGTERM run what is to be done in the end, so that no rank outlives it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started; the launcher is asked first, to end its ranks."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, word)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2.0)


def _died(library: Library, job: Job, code: int | None, silent: Sequence[int]) -> str:
    """Say which ranks left no answer, with the last line that they printed."""
    text = (job.folder / "output").read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip(" =|-")]
    message = next((line for line in lines if "Error" in line or "KILLED" in line), "")
    message = message or (lines[-1] if lines else "it printed nothing")
    who = f"rank {silent[0]}" if len(silent) == 1 else f"ranks {', '.join(map(str, silent))}"
    return (
        f"{who if silent else 'a rank'} died ({library} ended with code {code}); it said: {message}"
    )
