"""Measured series that predictions are judged on: public times at several sizes, read from files.

`truth` reads folders of ``points.csv`` (see their READMEs); `uk_benchmarks` reads the outputs of
five application codes in a clone of github.com/hpc-uk/archer-benchmarks. That repository's licence
is the GPL, so none of its figures stand here: only what follows from them, summed up.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import attrs
from clones import texts

from parcast_scaling.scope import Measures, Network, Scope

#: Where an output states its time, by the code's folder; of GROMACS it is ns a day, a rate.
_TIMES = {
    "CASTEP": r"Total time\s+=\s+([\d.]+) s",
    "GROMACS": r"Performance:\s+([\d.]+)",
    "CP2K": r"(?m)^ CP2K\s+1\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)",
    "OpenSBLI": r"Total Wall time\s+([\d.]+)",
    "VASP": r"LOOP\+:\s+cpu time\s+[\d.]+:\s+real time\s+([\d.]+)",
}

#: Groups that are an operation alone, without a code around it.
COLLECTIVES = {"allgather", "allreduce", "bcast", "reduce_scatter"}

_ALLREDUCE_BYTES = {"4", "64", "1024", "16384", "262144", "1048576"}


@attrs.frozen
class Size:
    """A measured size of a series."""

    p: float
    n: float
    seconds: tuple[float, ...]  #: of each run, or the least, the median and the longest


@attrs.frozen
class Series:
    """One code on one system at several sizes."""

    group: str
    family: str
    name: str
    sizes: tuple[Size, ...]
    source: str = "archer-benchmarks"
    cloud: bool = False  #: whether its network is a cloud's

    @property
    def weak(self) -> bool:
        """Whether the work grows with p."""
        return self.sizes[-1].n != self.sizes[0].n

    @property
    def scope(self) -> Scope:
        """What may be stated of it beside its times."""
        return Scope(
            network=Network.CLOUD if self.cloud else Network.CLUSTER,
            measures=Measures.COMMUNICATION if self.group in COLLECTIVES else Measures.CODE,
        )

    @property
    def judged(self) -> bool:
        """Whether its family is one to judge on; the prior was tuned on the others."""
        return int(hashlib.sha256(self.family.encode()).hexdigest(), 16) % 2 == 1


class Runs:
    """Runs by the series that they belong to and by p, on their way to series."""

    def __init__(self, source: str, *, cloud: bool = False) -> None:
        self._source = source
        self._cloud = cloud
        self._runs: dict[tuple[str, str, str], dict[float, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._work: dict[tuple[str, float], float] = {}

    def add(
        self, group: str, family: str, name: str, p: float, seconds: float, n: float = 1.0
    ) -> None:
        """Add a run of work n that takes so long."""
        if seconds > 0:
            self._runs[group, family, name][p].append(seconds)
            self._work[name, p] = n

    def __iter__(self) -> Iterator[Series]:
        """Yield the series of three sizes or more."""
        for (group, family, name), sizes in self._runs.items():
            if len(sizes) >= 3:
                measured = tuple(
                    Size(p, self._work[name, p], tuple(sizes[p])) for p in sorted(sizes)
                )
                yield Series(group, family, name, measured, self._source, self._cloud)


def truth(folder: Path) -> Iterator[Series]:
    """Yield the series of three sizes or more."""
    points: dict[tuple[str, ...], list[Size]] = defaultdict(list)
    for source in ("perfstudy", "mlperf_training_v51", "sailor"):
        with (folder / source / "points.csv").open() as file:
            for row in csv.DictReader(file):
                key = _key(source, row)
                if key is not None:
                    points[*key, source].append(_size(row))
    for (group, family, name, source), sizes in points.items():
        alone = {size.p: size for size in sorted(sizes, key=lambda size: (size.p, size.n))}
        if len(alone) >= 3:
            cloud = source == "perfstudy"
            yield Series(group, family, name, tuple(alone.values()), source, cloud)


def _key(dataset: str, row: dict[str, str]) -> tuple[str, str, str] | None:
    if dataset == "perfstudy":
        wanted = row["application"].startswith("osu_allreduce")
        if not wanted or row["message_bytes"] not in _ALLREDUCE_BYTES:
            return None
        return "allreduce", row["family"], f"{row['series']} {row['message_bytes']} B"
    if row["primary"] != "yes" or not row["global_batch"] or row["unit"].startswith("samples"):
        return None
    return "training", row["family"], f"{row['series']} {row['metric']}"


def _size(row: dict[str, str]) -> Size:
    middle, least, longest = (float(row[name]) for name in ("median", "min", "max"))
    seconds = (middle,) if row["n"] == "1" else (least, middle, longest)
    return Size(float(row["size"]), float(row.get("global_batch") or 1), seconds)


def uk_benchmarks(repository: Path) -> Iterator[Series]:
    """Yield the series of three sizes or more of CASTEP, CP2K, GROMACS, OpenSBLI and VASP."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    codes = "|".join(_TIMES)
    outputs = rf"^(?=apps/|others/)(?=.*/results)(?=.*/({codes})/)"
    for path, text in texts(repository, outputs):
        code = next(code for code in _TIMES if f"/{code}/" in path)
        match = re.search(_TIMES[code], text)
        nodes = _nodes(path)
        if match and nodes and "smp" not in path and float(match[1]) > 0:
            value = float(match[1])
            found[_configuration(path)][nodes].append(1 / value if code == "GROMACS" else value)
    for name, sizes in found.items():
        if len(sizes) >= 3:
            parts = name.split("/")
            family = "/".join([*parts[1:3], re.sub(r"[_-].*", "", parts[4])])
            measured = [Size(p, 1.0, tuple(sizes[p])) for p in sorted(sizes)]
            yield Series("applications", family, name, tuple(measured))


def _nodes(path: str) -> int | None:
    name = path.rpartition("/")[2]
    for pattern, text in (
        (r"(\d+)\s*-?nodes?", name),
        (r"(\d+)nodes?", path),
        (r"CP2K_(\d+)\.o", name),
        (r"mpi\.(\d+)\.\d+\.log", name),
    ):
        if match := re.search(pattern, text):
            return int(match[1])
    return None


def _configuration(path: str) -> str:
    """Return all that tells series apart: folder, threads of a process and of a core."""
    folder, _, name = path.rpartition("/")
    threads = re.search(r"(\d+)threads", name)
    smt = re.search(r"(\d+)smt", name)
    marks = [match[0] for match in (threads, smt) if match] + ["HT"] * ("HT" in name)
    return re.sub(r"-?\d+nodes?", "", folder) + " " + " ".join(marks)
