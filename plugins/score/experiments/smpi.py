"""Makes the datasets of SMPI runs: seven C programs on two platforms, by SimGrid's own settings.

What binds a point of ``smpi`` is found by two more runs: with a network twice as fast, and with
processors twice as fast.

Needs smpicc and smpirun; C programs and platforms are those of ``experiments/smpi``.
"""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from parcast.files import table_text

ROOT = Path(__file__).parents[3]
DATASETS = Path(__file__).parents[1] / "src" / "parcast_score" / "datasets"
HERE = DATASETS / "smpi"
PLATFORMS = ("star", "bus")
#: Of ``smpi``; ``smpi-growth`` has two more, which are blind there.
SIZES = (2, 4, 8, 16, 32, 64)
LARGER = (128, 256)


def _table() -> Any:
    spec = importlib.util.spec_from_file_location("table", ROOT / "experiments/smpi/table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _faster(platform: str, *, network: float = 1.0, processors: float = 1.0) -> str:
    """Return the text of a platform with faster links and hosts."""
    for old, new in (
        ('bw="1.25GBps"', f'bw="{1.25 * network}GBps"'),
        ('lat="5us"', f'lat="{5 / network}us"'),
        ('speed="1Gf"', f'speed="{processors}Gf"'),
    ):
        platform = platform.replace(old, new)
    return platform


def _bottleneck(table: Any, folder: Path, program: str, platform: str, p: int) -> str:
    """Return what saves more of the time where it is twice as fast, if by a tenth at least."""
    as_it_is = table.platform
    seconds = []
    for faster in ({}, {"network": 2.0}, {"processors": 2.0}):
        table.platform = lambda *of, faster=faster: _faster(as_it_is(*of), **faster)
        seconds.append(table.simulated(folder, program, platform, p, "default")[0])
    table.platform = as_it_is
    network, processors = (seconds[0] - time for time in seconds[1:])
    if network > 1.1 * processors:
        return "network"
    return "processor" if processors > 1.1 * network else ""


def main() -> None:
    """Write the points and the machines beside the programs' twins."""
    table = _table()
    for platform in PLATFORMS:
        described = table.machine(platform, 2, "factors")
        (HERE / f"{platform}.toml").write_text(table_text(described), encoding="utf-8")
    with (
        tempfile.TemporaryDirectory() as temporary,
        (HERE / "points.csv").open("w", encoding="utf-8", newline="") as file,
        (DATASETS / "smpi-growth/points.csv").open("w", encoding="utf-8", newline="") as growth,
    ):
        writers = [csv.writer(path, lineterminator="\n") for path in (file, growth)]
        writers[0].writerow(("series", "size", "value", "program", "platform", "bottleneck"))
        writers[1].writerow(("series", "size", "value", "work", "program", "platform"))
        for program in table.PROGRAMS:
            executable = Path(temporary) / program
            source = ROOT / f"experiments/smpi/{program}.c"
            command = ["smpicc", "-O1", "-o", executable, source, "-lm"]
            subprocess.run(command, check=True)  # noqa: S603  # a program of this folder
            for platform, p in product(PLATFORMS, (*SIZES, *LARGER)):
                seconds, _ = table.simulated(Path(temporary), program, platform, p, "default")
                series, time = f"{program}|{platform}", f"{seconds:.9g}"
                if p in SIZES:
                    binds = _bottleneck(table, Path(temporary), program, platform, p)
                    writers[0].writerow((series, p, time, program, platform, binds))
                writers[1].writerow((series, p, time, p, program, platform))
            print(program, flush=True)


if __name__ == "__main__":
    main()
