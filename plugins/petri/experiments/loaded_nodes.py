"""Real processes on loaded cores beside the three levels of petri.

A program computes 300 ms of a core: alone on one core, or two processes in a ring of ten steps,
each of which computes 30 ms and exchanges a message. Background jobs of mean 15 ms load one core
or both. ``python loaded_nodes.py measure results.jsonl`` runs every case that the file lacks, until
``--seconds`` are over, and keeps it if other guests of the host took at most ``--stolen`` of the
cores meanwhile (it can be called again); ``python loaded_nodes.py table results.jsonl``
predicts each case and prints the table. It needs parcast-mpi, Linux, and two idle cores.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from processes import Team, team

import parcast_petri
from parcast import Query, Registry
from parcast.program.reader import read_source
from parcast.quantities.distributions import Distribution
from parcast_mpi.host import processor_name, ticks
from parcast_mpi.loading.jobs import Job
from parcast_mpi.running.plan import plan
from parcast_petri.machine.laws import Law

ALONE = """def program(rank, size):
    compute(0.3)
"""
RING = """def program(rank, size):
    for step in range(10):
        compute(0.03)
        sendrecv((rank + 1) % size, 8, (rank - 1) % size)
"""
LAWS = {
    "constant": "const:15ms",
    "Erlang": "erlang:4,15ms",
    "phase-type": "phase:0.4,15ms",
    "exponential": "exp:15ms",
    "Pareto": "pareto:2.5,15ms",
    "samples": "sampled:2ms,4ms,5ms,9ms,55ms",
    "gamma": "gamma:0.5,15ms",
    "hyperexponential": "hyper:4,15ms",
}
#: Jobs for longer than any case takes, with what they use made exact in every stretch.
HORIZON, STRETCH = 120.0, 10.0
REGISTRY = Registry([parcast_petri])


@attrs.frozen
class Case:
    """A program, which of its cores are loaded, and with what."""

    program: str
    loaded: int
    law: str
    utilization: float

    @property
    def size(self) -> int:
        """Processes, each on a core of its own."""
        return 1 if self.program == "alone" else 2

    def machine(self, startup: float) -> Any:
        """Return the machine as petri reads it."""
        nodes = [self.utilization] * self.loaded
        data = {
            "name": "two-cores",
            "processor": {"rate": 1},
            "network": {"startup": startup, "bandwidth": "1 GB/s"},
            **({"background": {"nodes": nodes, "demand": LAWS[self.law]}} if self.loaded else {}),
        }
        return REGISTRY.machine(data)

    def workload(self) -> Any:
        """Return the program."""
        return read_source(ALONE if self.program == "alone" else RING, "x.py", self.program)


def cases() -> Iterator[Case]:
    """Yield all cases, those without load first."""
    yield Case("alone", 0, "", 0.0)
    yield Case("ring", 0, "", 0.0)
    for utilization, law in product((0.3, 0.5), LAWS):
        yield Case("alone", 1, law, utilization)
        yield Case("ring", 1, law, utilization)
        yield Case("ring", 2, law, utilization)


def jobs(case: Case, draw: np.random.Generator) -> list[Job]:
    """Return the jobs of one core, of which every stretch of time has just what it should."""
    law, found = Law.read(LAWS[case.law]), []
    for start in np.arange(0, HORIZON, STRETCH):
        work = case.utilization * STRETCH
        count = round(work / law.mean)
        demands = _drawn(law, draw, count)
        demands *= work / demands.sum()
        arrivals = start + STRETCH * np.sort(draw.random(count))
        found += [Job(*one) for one in zip(arrivals.tolist(), demands.tolist(), strict=True)]
    return found


def _drawn(law: Law, draw: np.random.Generator, count: int) -> Any:
    match law.law, law.parameters:
        case "stages", _:
            stages, mean, fewer = law.stages()
            return draw.gamma(stages - (draw.random(count) < fewer), mean)
        case "hyper", _:
            shares, means = law.branches()
            return draw.exponential(means[draw.choice(2, count, p=shares)])
        case "pareto", (shape, mean):
            return mean * (shape - 1) / shape * (1 - draw.random(count)) ** (-1 / shape)
    return Distribution(law.law, law.parameters).sample(draw, count)


@contextmanager
def load(case: Case, core: int, seed: int) -> Iterator[None]:
    """Load a core in the background."""
    loading = jobs(case, np.random.default_rng([seed, core]))
    text = "".join(f"{job.arrival!r} {job.demand!r}\n" for job in loading)
    command = [sys.executable, "-m", "parcast_mpi.loading.generator", str(core)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.close()
        try:
            yield
        finally:
            process.terminate()


def measured(case: Case, runs: int) -> dict[str, Any]:
    """Return what the runs of a case took, in seconds."""
    query = Query(workload=case.workload(), machine=case.machine(0.0), p=case.size)
    made = plan(query.workload.content.at(query))
    with ExitStack() as stack:
        members: Team = stack.enter_context(team(made, range(case.size)))
        for core in range(case.loaded):
            stack.enter_context(load(case, core, runs))
        time.sleep(1.0)  # the generator starts, and the load becomes steady
        seconds, before = [], ticks()
        for _ in range(runs):
            time.sleep(0.12 + 0.05 * random.random())  # noqa: S311  (jobs that waited are done)
            seconds.append(members.run())
        after = ticks()
    stolen = after.since(before).steal if before and after else 0.0
    return {**attrs.asdict(case), "seconds": seconds, "stolen": stolen,
            "measured": f"{datetime.now(UTC):%F}", "processor": processor_name(),
            "system": platform.release()}  # fmt: skip


def measure(path: Path, seconds: float, runs: int, bearable: float) -> None:
    """Measure what the file lacks, as far as time allows and other guests leave the cores."""
    end = time.monotonic() + seconds
    done = {_key(one) for one in _read(path)}
    for case in cases():
        if _key(attrs.asdict(case)) in done:
            continue
        expected = runs * (0.25 + 0.35 / (1 - case.utilization) ** (1 + (case.loaded == 2)))
        if time.monotonic() + expected > end:
            print(f"{case}: not measured yet; call again")
            return
        found = measured(case, runs if case.loaded else 8)
        print(f"{case}: {statistics.fmean(found['seconds']):.3f} s, {found['stolen']:.1%} stolen")
        if found["stolen"] > bearable:
            print("  not kept: other guests of the host took more than --stolen; call again")
            continue
        with path.open("a") as file:
            file.write(json.dumps(found) + "\n")


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["program"], one["loaded"], one["law"], one["utilization"]


def table(path: Path) -> None:
    """Print the measured slowdown of each case beside what each level says."""
    results = {_key(one): one for one in _read(path)}
    alone = {one[0]: statistics.fmean(results[one]["seconds"]) for one in results if not one[1]}
    startup = max(0.0, (alone["ring"] - 0.3) / 10)
    first = next(iter(results.values()))
    print(f"{first['measured']}, {first['processor']}, Linux {first['system']}; without load")
    stolen = max(one["stolen"] for one in results.values())
    print(f"{alone['alone'] * 1e3:.1f} ms alone, {alone['ring'] * 1e3:.1f} ms in the ring; at most "
          f"{stolen:.1%} of the cores' time stolen\n")  # fmt: skip
    print("| program | loaded | jobs | scv | U | measured | mean | sampled | explicit |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in sorted(cases(), key=lambda one: (one.program, one.loaded)):
        if case.loaded and (found := results.get(_key(attrs.asdict(case)))):
            seconds = np.array(found["seconds"]) / alone[case.program]
            error = seconds.std(ddof=1) / len(seconds) ** 0.5
            where, slower = f"{case.loaded} of {case.size}", f"{seconds.mean():.2f} +- {error:.2f}"
            said = [_predicted(case, level, startup) for level in ("mean", "sampled", "explicit")]
            law = f"{case.law} | {Law.read(LAWS[case.law]).scv:.2g}"
            print(f"| {case.program} | {where} | {law} | {case.utilization} | {slower} "
                  f"| {' | '.join(said)} |")  # fmt: skip


def _predicted(case: Case, level: str, startup: float) -> str:
    unloaded = 0.3 + (10 * startup if case.program == "ring" else 0.0)
    solver = f"petri.{level}"
    settings = {} if level == "mean" else {f"{solver}.tolerance": 0.02}
    asked = {"p": case.size, "solvers": [solver], "settings": settings}
    (row,) = REGISTRY.compare(case.workload(), case.machine(startup), **asked).rows
    return "no closed form" if row.time is None else f"{row.time / unloaded:.2f}"


def main() -> None:
    """Measure, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "table"])
    parser.add_argument("results", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--stolen", type=float, default=0.03)
    asked = parser.parse_args()
    if asked.what == "table":
        table(asked.results)
    else:
        measure(asked.results, asked.seconds, asked.runs, asked.stolen)


if __name__ == "__main__":
    main()
