"""Runs of `train.py` with a delayed rank: measured, traced and predicted beside each other.

    python table.py PYTHON FOLDER [--steps 100] [--repeats 2] -o runs.md

PYTHON has PyTorch; traces go to FOLDER, where runs that are there are not repeated. Each run with
delays follows one without, which is all that its prediction sees. Ranks go before all other
processes of the host (chrt, as root), and sleep while they are delayed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import socket
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TRAIN = Path(__file__).with_name("train.py")
EVERY = 2

TEXT = """# A delayed rank, measured, traced and predicted

Written by `experiments/gloo/table.py` with PyTorch {torch}: two ranks of this host, {steps} steps each, of which every
second one is delayed on one rank. A row is a pair of runs, one without delays and one with them. Ranks go before all
other processes of the host (`chrt -f`), which is busy, and sleep while they are delayed.

- **measured** is the sum of rank 0's steps by its own clock, with and without delays;
- **traced** is the run as parcast has it from the traces of both ranks alone, whose clocks are each rank's own;
- **predicted** is the run with delays from the trace of the run *without* them: `parcast perturb run` with the same
  sum of delays, spread over the slow rank's gaps between calls.

| gradients | delay | slow rank | measured without | measured with | traced with | off | predicted with | off |
|---|---|---|---|---|---|---|---|---|
{times}

What the delays cost by the clock of rank 0 (steps with a delay less their neighbors without), and what `parcast perturb
slowest` says that the delays of the slowest rank cost, from the trace of that run alone:

| gradients | delay | slow rank | named | cost measured | cost predicted | off |
|---|---|---|---|---|---|---|
{costs}

{named} of {count} ranks are named. Of costs {near} of {count} are within 5 %, the median is off by {median:.1%}, the worst
by {worst:.1%}; by delay: {groups}. Predicted times are off by {predicted:.1%} at the median,
{farthest:.1%} at the worst.
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Pair:
    """A run without delays and one with them, as measured, traced and predicted."""

    ddp: bool
    delay: float
    slow: int
    quiet: float  #: measured seconds of all steps
    measured: float  #: the same with delays
    traced: float
    predicted: float
    cost: float  #: measured seconds that delays cost
    error: float  #: its standard error
    named: int
    stated: float  #: seconds that the slowest rank costs, from the trace

    @property
    def name(self) -> str:
        """What the rows of this pair begin with."""
        gradients = "DDP" if self.ddp else "by hand"
        return f"| {gradients} | {1e3 * self.delay:.0f} ms | {self.slow} |"

    @property
    def off(self) -> float:
        """Predicted cost over measured cost, less 1."""
        return self.stated / self.cost - 1

    @property
    def time_off(self) -> float:
        """Predicted time over measured time, less 1."""
        return self.predicted / self.measured - 1


def train(python: str, folder: Path, options: list[str]) -> list[float]:
    """Run `train.py` if it has not run, and return the seconds of rank 0's steps."""
    steps = folder.with_name(f"{folder.name}-steps.csv")
    if not steps.exists():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = ["--port", str(free.getsockname()[1])]
        first = ["chrt", "-f", "20"] if os.geteuid() == 0 else []
        line = [*first, python, str(TRAIN), str(folder), *port, *options]
        subprocess.run(line, check=True, capture_output=True)  # noqa: S603
    with steps.open(encoding="utf-8") as rows:
        return [float(row["seconds"]) for row in csv.DictReader(rows)]


def asked(command: str, folder: Path, *options: str) -> dict:
    """Return what ``parcast perturb COMMAND`` says of a trace."""
    line = ["parcast", "perturb", command, str(folder), "--json", *options]
    return json.loads(subprocess.run(line, check=True, capture_output=True).stdout)  # noqa: S603


def with_delays(folder: Path, rank: int, total: float) -> float:
    """Return the time of a run in which a rank is delayed by so many seconds in all."""
    noise = [f"{rank}@{seconds}s" for seconds in (0, 1000)]
    before, after = (asked("run", folder, "--compute-noise", n)["makespan"] for n in noise)
    gaps = round((after["lower"]["mean"] - before["before"]) * 1e-6 / 1000)
    spread = asked("run", folder, "--compute-noise", f"{rank}@{total / gaps!r}s")
    return float(spread["makespan"]["lower"]["mean"] * spread["tick"])


def cost(seconds: list[float]) -> tuple[float, float]:
    """Return what all delayed steps cost, and its standard error, by steps beside them."""
    lost = [
        seconds[number] - (seconds[number - 1] + seconds[number + 1]) / 2
        for number in range(EVERY, len(seconds) - 1, EVERY)
    ]
    count = (len(seconds) + EVERY - 1) // EVERY
    return statistics.fmean(lost) * count, statistics.stdev(lost) / len(lost) ** 0.5 * count


def pair(python: str, folder: Path, steps: int, *, ddp: bool, delay: float, slow: int) -> Pair:
    """Run without and with delays, and ask parcast of both traces."""
    how = ["--steps", str(steps), *(["--ddp"] if ddp else [])]
    quiet = train(python, folder / "quiet", how)
    late = ["--slow", str(slow), "--delay", str(delay), "--every", str(EVERY)]
    seconds = train(python, folder / "late", how + late)
    answer = asked("slowest", folder / "late")
    rank, without = next(iter(answer["without"].items()))
    return Pair(
        ddp, delay, slow, sum(quiet), sum(seconds),
        answer["before"] * answer["tick"],
        with_delays(folder / "quiet", slow, delay * (steps // EVERY)),
        *cost(seconds), int(rank),
        (answer["before"] - (answer["delays"] or {"without": without})["without"]) * answer["tick"],
    )  # fmt: skip


def pairs(python: str, folder: Path, steps: int, repeats: int) -> Iterator[Pair]:
    """Yield all pairs, the longest delays first."""
    for delay in (0.1, 0.05, 0.02):
        for ddp in (False, True):
            for slow in (0, 1):
                for repeat in range(repeats):
                    name = f"{delay}-{'ddp' if ddp else 'hand'}-{slow}-{repeat}"
                    yield pair(python, folder / name, steps, ddp=ddp, delay=delay, slow=slow)


def page(rows: list[Pair], torch: str, steps: int) -> str:
    """Return the page."""
    groups = []
    for delay in sorted({row.delay for row in rows}, reverse=True):
        alike = [row for row in rows if row.delay == delay]
        near = sum(abs(row.off) <= 0.05 for row in alike)
        groups.append(f"{near} of {len(alike)} with {1e3 * delay:.0f} ms")
    offs, times = [abs(row.off) for row in rows], [abs(row.time_off) for row in rows]
    return TEXT.format(
        torch=torch,
        steps=steps,
        times="\n".join(
            f"{row.name} {row.quiet:.3f} s | {row.measured:.3f} s | {row.traced:.3f} s "
            f"| {row.traced / row.measured - 1:+.1%} | {row.predicted:.3f} s "
            f"| {row.time_off:+.1%} |"
            for row in rows
        ),
        costs="\n".join(
            f"{row.name} {row.named} | {row.cost:.3f} ± {row.error:.3f} s | {row.stated:.3f} s "
            f"| {row.off:+.1%} |"
            for row in rows
        ),
        named=sum(row.named == row.slow for row in rows),
        count=len(rows),
        near=sum(off <= 0.05 for off in offs),
        median=statistics.median(offs),
        worst=max(offs),
        groups=", ".join(groups),
        predicted=statistics.median(times),
        farthest=max(times),
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("runs.md"))
    options = parser.parse_args()
    line = [options.python, "-c", "import torch; print(torch.__version__)"]
    torch = subprocess.run(line, check=True, capture_output=True, text=True).stdout  # noqa: S603
    rows = list(pairs(options.python, options.folder, options.steps, options.repeats))
    options.output.write_text(page(rows, torch.strip(), options.steps), encoding="utf-8")


if __name__ == "__main__":
    main()
