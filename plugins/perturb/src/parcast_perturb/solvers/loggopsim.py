"""``perturb.loggopsim``: a run's messages and computation, by LogGOPSim where it is installed.

LogGOPSim (Hoefler, Schneider, Lumsdaine, LSAP 2010) reads schedules in GOAL, which its ``txt2bin``
packs, and has one L, o, g, G, O and S for all messages, as whole numbers of a unit of time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np

from parcast import Assumption, Prediction, Query, UnsupportedError
from parcast.errors import InvalidPointError, ParcastError, SolveError
from parcast.model import Costs, Seconds
from parcast_perturb.solvers.question import timed
from parcast_traces.trace.columns import BYTES, NONE, OUT, Trace
from parcast_traces.workload import Traced
from parcast_traces.writers.goal import write

#: Names the simulator where it is not on the PATH.
VARIABLE = "PARCAST_LOGGOPSIM"

_MISSING = (
    "LogGOPSim is not installed: its commands LogGOPSim and txt2bin, built from spcl/LogGOPSim, "
    f"are neither on the PATH nor beside what {VARIABLE} names"
)

#: The largest parameter in units of time: LogGOPSim reads them as 32 bits.
_LARGEST = 1e9

#: The most bytes of a message that does not wait for its receive.
_MOST_EAGER = 2**31 - 1

#: Seconds for both programs to start, and for each event.
_STARTED, _EVENT = 0.02, 4e-6

_END = re.compile(r"Maximum finishing time at host \d+: (\d+)|^Host \d+: (\d+)", re.MULTILINE)


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose."""

    gap: Seconds = 0.0  #: g, between messages of a rank
    limit: Seconds = 300.0  #: seconds that LogGOPSim may take


@attrs.frozen
class Messages:
    """What LogGOPSim takes a message of n bytes for: o + L + (n - 1) G + o; seconds."""

    latency: float  #: L
    per_byte: float  #: G
    off: float  #: the most that a message of the run is off by this line, over its time


class LogGOPSim:
    """Predicts runs by the program LogGOPSim; what it does not have is refused or noted."""

    def missing(self) -> str | None:
        """Return None, or what is to be installed first."""
        return None if all(_commands()) else _MISSING

    def supports(self, query: Query) -> str | None:
        """Return None, or what LogGOPSim lacks."""
        if (missing := self.missing()) is not None:
            return missing
        try:
            query.workload.content.check(query)
            _check(timed(query))
        except ParcastError as error:
            return str(error)
        return None

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what LogGOPSim is."""
        contention = query.machine.network.contention or "none"
        yield Assumption(
            "messages wait for the cards of their ranks alone, the network is never full",
            "" if contention in ("none", "endpoint") else f"contention is {contention!r}",
        )

    def cost(self, query: Query) -> float:
        """Return about how many seconds an answer takes."""
        return float(_STARTED + _EVENT * query.workload.content.trace.count)

    def solve(self, query: Query) -> Prediction:
        """Return the latest end of any rank."""
        content: Traced = timed(query).workload.content
        costs = _costs(content, query)
        messages = messages_of(content.trace, costs)
        options: Options = query.options or Options()
        seconds, losses = simulate(content.trace, costs, messages, options)
        line = (
            f"LogGOPSim has one L and G: the machine's messages of this run are up to "
            f"{100 * messages.off:.2g} % off them"
        )
        return Prediction(
            time=seconds,
            notes=(*content.trace.notes, *losses, *((line,) if messages.off > 1e-6 else ())),
            details={"L": messages.latency, "G": messages.per_byte, "o": float(costs.overhead)},
        )


def _check(query: Query) -> None:
    content: Traced = query.workload.content
    if content.starts is not None and len(content.starts):
        raise UnsupportedError("LogGOPSim counts from the first operation, not from start() on")
    if content.fetching is not None:
        raise UnsupportedError("LogGOPSim has no pool of tasks that go to whichever rank is free")
    costs = _costs(content, query)
    if costs.overhead != costs.overhead_receive:
        raise UnsupportedError(
            "LogGOPSim has one overhead for both ends of a message, and the machine states "
            "network.overhead_receive; set it equal to network.overhead"
        )


def _costs(content: Traced, query: Query) -> Costs:
    return content.costs or Costs.of(query, {"messages"})


def messages_of(trace: Trace, costs: Costs) -> Messages:
    """Return the line that is nearest, in relative errors, to what the run's messages take."""
    sends = np.flatnonzero(trace.events.whole[:, OUT] != NONE)
    if not len(sends):
        return Messages(0.0, 0.0, 0.0)
    channels, of = trace.channels, trace.events.whole[sends, OUT]
    source, target, size = (
        channels.source[of],
        channels.target[of],
        trace.events.times[sends, BYTES],
    )
    seconds = np.maximum(costs.wire(source, target, size), 1e-300)
    latency = np.broadcast_to(costs.latency(source, target, size), seconds.shape)
    per_byte = np.broadcast_to(costs.transfer_per_byte(source, target, size), seconds.shape)
    line = np.array([latency[0], per_byte[0]])
    off = abs(line[0] + line[1] * size - seconds) / seconds
    if off.max() > 1e-9:
        rows = np.stack([1 / seconds, size / seconds], 1)
        line = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
        for below in np.flatnonzero(line < 0):
            other = rows[:, 1 - below]
            line[1 - below], line[below] = other.sum() / (other @ other), 0.0
        off = abs(line[0] + line[1] * size - seconds) / seconds
    return Messages(float(line[0] + line[1]), float(line[1]), float(off.max()))


def simulate(
    trace: Trace, costs: Costs, messages: Messages, options: Options
) -> tuple[float, tuple[str, ...]]:
    """Return when LogGOPSim's last rank ends, in seconds, and what GOAL could not hold.

    Raises
    ------
    InvalidPointError
        If it takes longer than the limit.
    SolveError
        If a program fails, or prints no time.
    """
    simulator, packer = _commands()
    overhead, each_byte = float(costs.overhead), float(costs.overhead_per_byte)
    parameters = {
        "L": messages.latency, "o": overhead, "g": options.gap, "G": messages.per_byte,
        "O": each_byte,
    }  # fmt: skip
    unit = max(*parameters.values(), 1e-9) / _LARGEST
    with tempfile.TemporaryDirectory() as folder:
        text, packed = Path(folder) / "run.goal", Path(folder) / "run.bin"
        losses = write(_whole_tags(trace), text, unit=unit)
        _run([str(packer), "-i", str(text), "-o", str(packed)], options.limit)
        arguments = [f"-{name}{round(value / unit)}" for name, value in parameters.items()]
        eager = int(min(costs.eager_limit, _MOST_EAGER))
        output = _run(
            [str(simulator), "-f", str(packed), "-b", *arguments, f"-S{eager}"], options.limit
        )
    ends = [int(first or second) for first, second in _END.findall(output)]
    if not ends:
        raise SolveError(f"LogGOPSim prints no time: {output.strip()[-200:]!r}")
    return max(ends) * unit, losses


def _whole_tags(trace: Trace) -> Trace:
    """Return a run with tags from 0 on: messages of expanded collectives have others."""
    tags = trace.channels.tag
    lowest = min(0, int(tags.min(initial=0)))
    return attrs.evolve(trace, channels=attrs.evolve(trace.channels, tag=tags - lowest))


def _commands() -> tuple[str | None, str | None]:
    """Return where LogGOPSim and its txt2bin are, each None where it is not."""
    named = os.environ.get(VARIABLE)
    simulator = shutil.which(named or "LogGOPSim")
    beside = str(Path(simulator).parent) if simulator else None
    return simulator, shutil.which("txt2bin", path=beside) or shutil.which("txt2bin")


def _run(command: list[str], limit: float) -> str:
    try:
        done = subprocess.run(  # noqa: S603  # the user's own program
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidPointError(
            f"LogGOPSim has run for {limit:g} s, the limit; use a smaller p, or --set "
            "perturb.loggopsim.limit to more"
        ) from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or [""]
        raise SolveError(f"{Path(command[0]).name} ended with {done.returncode}: {last[0]}")
    return done.stdout
