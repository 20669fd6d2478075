"""Workloads: what a program does, free of any machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

import attrs

from parcast.errors import InvalidPointError
from parcast.quantities.expressions import Value
from parcast.quantities.units import format_seconds

#: How a number may have been obtained; every entry of ``sources`` starts with one of these.
ORIGINS = ("published", "measured", "fitted", "assumed")


@attrs.frozen
class Repetitions:
    """What a recorded workload repeats: its times are of one repetition, or as many as are set."""

    name: str  #: of one, such as ``step``; the parameter ``steps`` says how many are asked about
    seconds: tuple[float, ...]  #: that each took where it was recorded

    @property
    def parameter(self) -> str:
        """The parameter that says how many are asked about."""
        return f"{self.name}s"

    def asked(self, values: Mapping[str, Value]) -> float:
        """Return how many are asked about.

        Raises
        ------
        InvalidPointError
            If there is no such number of them.
        """
        asked = float(values[self.parameter])
        if not 0 < asked < math.inf:
            raise InvalidPointError(f"{self.parameter} = {asked:g} must be above 0")
        return asked

    def describe(self, asked: float) -> str:
        """Return what a time is of, and what the recorded ones took: mean and standard error."""
        count, mean = len(self.seconds), format_seconds(fmean(self.seconds))
        of = f"one {self.name}" if asked == 1 else f"{asked:,.15g} {self.name}s"
        if count == 1:
            return f"{of}, of one that was recorded and took {mean} there"
        error = format_seconds(stdev(self.seconds) / math.sqrt(count))
        least, most = format_seconds(min(self.seconds)), format_seconds(max(self.seconds))
        return (
            f"{of}, the mean of {count} that were recorded and took {mean} +- {error} there, from "
            f"{least} to {most}"
        )


@attrs.frozen(eq=False)
class Job:
    """A workload among others that run at once, and how many processes it has there."""

    name: str
    workload: Workload
    processes: int | None = None


@attrs.frozen(kw_only=True)
class Workload:
    """A workload of some kind; ``content`` is the kind's own value."""

    name: str
    kind: str
    content: Any = attrs.field(hash=False)
    parameters: Mapping[str, Value] = attrs.field(factory=dict, hash=False)
    #: fields of the content that a setting chooses, each with its values by the words for them
    choices: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, hash=False, repr=False)
    summary: str = ""
    source: str = ""
    sources: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    data: Mapping[str, Any] = attrs.field(factory=dict, hash=False, repr=False)  #: as read
    where: str = ""  #: the file or the plugin it came from
    processes: int | None = None  #: of a recorded workload: its own p
    repetitions: Repetitions | None = None  #: of a recorded workload: what its times are of
    jobs: tuple[Job, ...] = attrs.field(default=(), hash=False, repr=False)  #: that run at once

    def _repr_html_(self) -> str:
        from parcast.html import definition

        return definition(f"Workload ({self.kind})", self.name, self.summary, self.data)
