"""What a perturbation does to a trace, under each policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.quantities import Estimate
from parcast_perturb.path import Path, critical_path
from parcast_perturb.perturbation import Addition, Perturbation, Recorded, Semantics
from parcast_perturb.propagation.running import Delays, propagate
from parcast_perturb.span import makespans, spans
from parcast_perturb.traced_run import NO_TIMES
from parcast_traces.trace.columns import Floats, Trace

#: Longer traces get no critical path: it takes 8 bytes an event.
MOST_PATH = 2_000_000

_FASTER = (
    "the latency of the recording machine is not known (--recorded-on), so messages may become "
    "faster than its network allows, and times too short"
)

LEVELS = (0.05, 0.5, 0.95)


@attrs.frozen(eq=False, kw_only=True)
class Forecast:
    """A trace's perturbed ends under each policy."""

    trace: Trace = attrs.field(repr=False)
    delays: Mapping[str, Delays] = attrs.field(repr=False)
    main: str  #: the policy whose numbers are shown first
    path: Path | None = None
    notes: tuple[str, ...] = ()
    steps: int = 0  #: that the run consists of, where it was asked about them

    def ends(self, policy: str) -> Floats:
        """Return the perturbed ends, [rank, replication], in ticks."""
        ends: Floats = self.trace.ends[:, None] + self.delays[policy].final
        return ends

    def makespans(self, policy: str) -> Floats:
        """Return how long the run takes in each replication, from its first call on."""
        return makespans(self.trace, self.delays[policy].final)


def policies(trace: Trace, recorded: Recorded, option: str, semantics: Semantics) -> list[str]:
    """Return the policies that an option means, the one that is shown first in front."""
    if semantics.rules == "equation-2":  # beside the corrected rules
        corrected = attrs.evolve(semantics, rules="corrected")
        return ["equation-2", *policies(trace, recorded, option, corrected)]
    if option != "auto":
        return ["upper", "lower"] if option == "interval" else [option]
    if semantics.rules == "paper":
        return ["upper"]
    clocked = trace.comparable and recorded.latency is not None
    return ["clocked", "upper", "lower"] if clocked else ["upper", "lower"]


def forecast(
    trace: Trace,
    perturbation: Perturbation,
    recorded: Recorded,
    semantics: Semantics,
    policies: list[str],
    *,
    replications: int = 1,
    seed: int = 0,
    notes: tuple[str, ...] = (),
) -> Forecast:
    """Return what a perturbation does, under each of the policies.

    Raises
    ------
    TraceError, UnsupportedError
        As `propagate` does.
    """
    _check(trace, semantics)
    if recorded.latency is None and _takes_from_messages(perturbation):
        notes += (_FASTER,)
    with_path = semantics.rules == "corrected" and semantics.collectives != "butterfly"
    if trace.count > MOST_PATH:
        with_path = False
        notes += (f"no critical path: it is computed for up to {MOST_PATH:,} events",)
    beside = attrs.evolve(semantics, rules="corrected")
    delays = {
        policy: propagate(
            trace, perturbation, recorded, policy,
            beside if semantics.rules == "equation-2" != policy else semantics,
            replications=replications, seed=seed, causes=with_path and policy == policies[0],
        )
        for policy in policies
    }  # fmt: skip
    main = delays[policies[0]]
    clipped = tuple(
        f"{name}: in {count:,} cases less was subtracted than stated, as no time falls below 0"
        for name, count in main.clipped.items()
    )
    return Forecast(
        trace=trace,
        delays=delays,
        main=policies[0],
        path=_path(trace, main) if with_path else None,
        notes=(*trace.notes, *notes, *clipped),
    )


def _check(trace: Trace, semantics: Semantics) -> None:
    """Refuse what these semantics cannot say of a trace."""
    if not trace.timed:
        raise UnsupportedError(NO_TIMES.format(where=trace.where))
    if trace.modeled and semantics.collectives == "butterfly":
        raise UnsupportedError(
            "--collectives butterfly: on a machine collectives are messages of its algorithms "
            "(network.collectives), whose stages wait for each other anyway; leave it out"
        )
    if semantics.rules == "equation-2" and trace.count > MOST_PATH:
        raise UnsupportedError(
            f"{trace.where} has {trace.count:,} events; equation (2) is for up to {MOST_PATH:,}"
        )


def _path(trace: Trace, delays: Delays) -> Path | None:
    """Return the critical path of the rank that takes longest."""
    if delays.cause is None or not trace.count:
        return None
    return critical_path(trace, delays.cause, int(spans(trace, delays.final)[:, 0].argmax()))


def _takes_from_messages(perturbation: Perturbation) -> bool:
    """Return whether messages lose latency or time of a byte."""
    return any(map(_takes, (*perturbation.latency, *perturbation.per_byte)))


def _takes(addition: Addition) -> bool:
    """Return whether it takes anything away."""
    drawn = addition.values is not None and bool((addition.values < 0).any())
    return drawn or bool((np.asarray(addition.constant) < 0).any())


def spread(values: Floats) -> dict[str, Any]:
    """Return mean, interval and quantiles of one number in all replications."""
    if len(values) < 2:
        return {"mean": float(values[0])}
    estimate = Estimate.of(values)
    return {
        "mean": estimate.mean,
        "std": estimate.std,
        "ci": list(estimate.ci),
        "quantiles": {f"{level:g}": float(np.quantile(values, level)) for level in LEVELS},
    }
