"""The MPI library that is here: how its ranks are started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from parcast.errors import HostError

Vendor: TypeAlias = Literal["MPICH", "Open MPI", "MPI"]

_INSTALL = "pip install 'parcast-mpi[mpich]', or install the system's MPI and mpi4py"

#: One thread a rank; Open MPI starts ranks of the root user, as in containers, only when told to.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@attrs.frozen
class Library:
    """An MPI library."""

    mpiexec: str
    vendor: Vendor
    version: str

    def command(self, processes: int, program: list[str]) -> list[str]:
        """Return the command that starts ``program`` on so many ranks of this host."""
        options = ["--oversubscribe", "--bind-to", "none"] if self.vendor == "Open MPI" else []
        return [self.mpiexec, "-n", str(processes), *options, *program]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of `command`."""
        return {**_ENVIRONMENT, **os.environ}

    def __str__(self) -> str:
        return f"{self.vendor} {self.version}".strip()


def find_tool(name: str) -> str | None:
    """Return a command of the MPI library: the one beside this Python, else the one on the path."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return beside or shutil.which(name)


@cache
def find() -> Library:
    """Return the library that starts Python ranks.

    Raises
    ------
    HostError
        If there is none, or no mpi4py; the extra to install is named.
    """
    if find_spec("mpi4py") is None:
        raise HostError(f"a real run needs mpi4py, which is not installed: {_INSTALL}")
    return find_launcher()


@cache
def find_launcher(mpiexec: str | None = None) -> Library:
    """Return the library of an ``mpiexec``, by default the first that is found.

    Raises
    ------
    HostError
        If there is none.
    """
    path = find_tool("mpiexec") if mpiexec is None else shutil.which(mpiexec)
    if path is None:
        missing = "there is no mpiexec" if mpiexec is None else f"{mpiexec!r} is no command"
        raise HostError(f"{missing}: {_INSTALL}")
    process = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return Library(path, *read_version(process.stdout + process.stderr))


def read_version(text: str) -> tuple[Vendor, str]:
    """Return vendor and version from what ``mpiexec --version`` prints."""
    words = text.split()
    if "HYDRA" in words:
        return "MPICH", words[words.index("Version:") + 1] if "Version:" in words else ""
    if "MPI)" in words:
        return "Open MPI", words[words.index("MPI)") + 1]
    return "MPI", ""
