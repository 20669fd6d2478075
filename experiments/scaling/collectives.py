"""More public series, which hold sudden rises: collectives, and codes on two networks.

- ``abci``: allreduce and broadcast on 2 to 32 nodes of ABCI 2.0, by MPI and NCCL
  (github.com/aistabci/abci2.0benchmark at f0aa27f2; MIT);
- ``usernetes``: allreduce and LAMMPS on 4 to 32 nodes of a cloud, 20 runs each
  (github.com/converged-computing/flux-usernetes at 83103061; MIT);
- ``hpc_tests``: CASTEP, CP2K, GROMACS, OpenFOAM and WRF on up to 56 nodes, by InfiniBand and
  Ethernet (github.com/stackhpc/hpc-tests at f735aa2f; Apache-2.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clones import texts
from series import Runs, Series

#: Messages that count: of all sizes, series are alike.
_BYTES = {"4", "64", "1024", "16384", "262144", "1048576", "16777216"}

#: What each code's log states, by the code's folder: seconds of its main part.
_SECONDS = {
    "castep": "total_time",
    "cp2k": "cp2k_time",
    "gromacs": "wall_t",
    "openfoam": "ExecutionTime",
    "wrf": "runtime_real",
}

#: Nodes beyond this are a date that follows the number.
_MOST_NODES = 5000


def abci(repository: Path) -> Iterator[Series]:
    """Yield allreduce and broadcast of each kind of node and library."""
    series = Runs("abci2.0benchmark")
    pattern = r"^(allreduce|bcast)/inter_([av]node)/job(\d+)\.sh\.\d+\.(mpi|mpi-cpu|nccl)$"
    for path, text in texts(repository, pattern):
        operation, node, nodes, library = re.search(pattern, path).groups()
        family = f"abci {operation} {node} {library}"
        for line in text.splitlines():
            words = line.split()
            if words and words[0] in _BYTES:
                # NCCL's table has counts and names before the time, which alone has a point
                micros = next(float(word) for word in words[1:] if re.fullmatch(r"\d+\.\d+", word))
                series.add(operation, family, f"{family} {words[0]} B", int(nodes), 1e-6 * micros)
    yield from series


def usernetes(repository: Path) -> Iterator[Series]:
    """Yield allreduce and LAMMPS of each environment; four share the host's network."""
    series = Runs("flux-usernetes", cloud=True)
    pattern = r"results-(?:osu|lammps)/([\w-]+)/(all_reduce|osu-all-reduce|lammps)-(\d+)-"
    for path, text in texts(repository, pattern):
        environment, code, nodes = re.search(pattern, path).groups()
        if int(nodes) >= _MOST_NODES:
            continue
        network = "usernetes" if environment == "usernetes" else "host"
        if code == "lammps":
            if match := re.search(r"Loop time of ([\d.]+)", text):
                family = f"usernetes lammps {network}"
                name = f"{family} {environment}"
                series.add("applications", family, name, int(nodes), float(match[1]))
            continue
        family = f"usernetes allreduce {network}"
        for line in text.splitlines():
            words = line.split()
            if len(words) == 2 and words[0] in _BYTES:
                name = f"{family} {environment} {words[0]} B"
                series.add("allreduce", family, name, int(nodes), 1e-6 * float(words[1]))
    yield from series


def hpc_tests(repository: Path) -> Iterator[Series]:
    """Yield the codes on each network."""
    series = Runs("hpc-tests")
    for path, text in texts(repository, rf"^perflogs/.*/({'|'.join(_SECONDS)})/.*\.log$"):
        _, system, environment, code, test, _ = path.split("/")
        network = next(word for word in environment.split("-") if word in {"ib", "roce"})
        family = f"stackhpc {system} {network} {code}"
        name = f"{family} {re.sub(rf'_{system}.*|_[0-9]+$', '', test)}"
        for line in text.splitlines():
            nodes = re.search(r"num_nodes=(\d+)", line)
            seconds = re.search(rf"\|{_SECONDS[code]}=([\d.]+)\|", line)
            if nodes and seconds and int(nodes[1]) < _MOST_NODES:
                series.add("applications", family, name, int(nodes[1]), float(seconds[1]))
    yield from series
