"""Plays scores in a process of their own: SimGrid is one engine a process."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import attrs

from parcast import InvalidPointError, Parts, SolveError, UnsupportedError
from parcast_simgrid.score import Score

PLAYER = Path(__file__).with_name("player.py")

MISSING = (
    "SimGrid is not installed; install parcast-simgrid[simgrid], which builds from source with "
    "cmake, a C++ compiler and boost where SimGrid has no wheel"
)


@attrs.frozen(kw_only=True)
class Played:
    """What became of a score; every time is in seconds."""

    ends: tuple[float, ...]  #: of each process
    starts: tuple[float, ...]  #: its latest ``start()``, of each process; 0 without one
    parts: tuple[Parts, ...]  #: of each process, from the start to the latest end

    @property
    def start(self) -> float:
        """The latest ``start()`` of any process."""
        return max(self.starts)

    @property
    def time(self) -> float:
        """From the start to the latest end."""
        return max(self.ends) - self.start


def is_installed() -> bool:
    """Return whether SimGrid's module can be found; it is not imported."""
    return importlib.util.find_spec("simgrid") is not None


def play(score: Score, limit: float) -> Played:
    """Play a score.

    Parameters
    ----------
    score
        What to play.
    limit
        Seconds that it may take.

    Raises
    ------
    UnsupportedError
        If SimGrid cannot be loaded.
    InvalidPointError
        If it takes longer than the limit.
    SolveError
        If SimGrid fails.
    """
    command = [sys.executable, "-P", "-W", "ignore", str(PLAYER)]
    text = json.dumps(attrs.asdict(score, recurse=False))
    try:
        finished = subprocess.run(  # noqa: S603  # this interpreter, and a file of this package
            command, input=text, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidPointError(
            f"SimGrid has played for {limit:g} s, the limit; use a smaller p, or --set "
            "simgrid.flows.limit to more"
        ) from error
    if finished.returncode:
        last = (finished.stderr.strip().splitlines() or [""])[-1]
        if finished.returncode == 1 and last.startswith("cannot be loaded: "):
            raise UnsupportedError(f"SimGrid {last}. {MISSING}")
        raise SolveError(f"SimGrid ended with {finished.returncode}: {last}")
    outcome = json.loads(finished.stdout)
    ends, starts = tuple(outcome["ends"]), tuple(outcome["starts"])
    parts = tuple(
        _parts([*spent, ("synchronization", end, max(ends))], max(starts))
        for spent, end in zip(outcome["spent"], ends, strict=True)
    )
    return Played(ends=ends, starts=starts, parts=parts)


def _parts(spent: list[tuple[str, float, float]], start: float) -> Parts:
    """Return the parts of a process; what lies before the start is cut off."""
    totals = dict.fromkeys(("compute", "communication", "io", "synchronization"), 0.0)
    for part, begin, end in spent:
        totals[part] += max(end, start) - max(begin, start)
    return Parts(**totals)
