"""What a perturbation does to a trace, as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.quantities import Estimate
from parcast_perturb.path import Path, critical_path
from parcast_perturb.perturbation import Addition, Perturbation, Recorded, Semantics
from parcast_perturb.propagation.running import Delays, propagate
from parcast_perturb.span import last_end, makespans, spans
from parcast_traces.trace.columns import Floats, Trace

#: Longer traces get no critical path unasked: it takes 8 bytes an event.
MOST_PATH = 2_000_000

_FASTER = (
    "the latency of the recording machine is not known (--recorded-on), so messages may get "
    "faster here than they can"
)

LEVELS = (0.05, 0.5, 0.95)


@attrs.frozen(eq=False, kw_only=True)
class Forecast:
    """A trace's perturbed ends under each policy asked."""

    trace: Trace = attrs.field(repr=False)
    delays: Mapping[str, Delays] = attrs.field(repr=False)
    main: str  #: the policy whose numbers are shown first
    path: Path | None = None
    notes: tuple[str, ...] = ()

    def ends(self, policy: str) -> Floats:
        """Return the perturbed ends, [rank, replication], in ticks."""
        found: Floats = self.trace.ends[:, None] + self.delays[policy].final
        return found

    def makespans(self, policy: str) -> Floats:
        """Return how long the run takes in each replication, from its first call on."""
        return makespans(self.trace, self.delays[policy].final)


def policies(trace: Trace, recorded: Recorded, asked: str, semantics: Semantics) -> list[str]:
    """Return the policies to run, the one that is shown first in front."""
    if semantics.rules == "equation-2":  # beside the corrected rules
        corrected = attrs.evolve(semantics, rules="corrected")
        return ["equation-2", *policies(trace, recorded, asked, corrected)]
    if asked != "auto":
        return ["upper", "lower"] if asked == "interval" else [asked]
    if semantics.rules == "paper":
        return ["upper"]
    known = recorded.latency is not None
    return ["clocked", "upper", "lower"] if trace.comparable and known else ["upper", "lower"]


def forecast(
    trace: Trace,
    perturbation: Perturbation,
    recorded: Recorded,
    semantics: Semantics,
    asked: list[str],
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
    if not trace.timed:
        raise UnsupportedError(
            f"{trace.where} has no times; time it on a machine first (--machine)"
        )
    if trace.modeled and semantics.collectives == "butterfly":
        raise UnsupportedError(
            "--collectives butterfly: on a machine collectives are messages of its algorithms "
            "(network.collectives), whose stages wait for each other as it is; leave it away"
        )
    taken = [*perturbation.latency, *perturbation.per_byte]
    if recorded.latency is None and any(_takes(one) for one in taken):
        notes += (_FASTER,)
    if semantics.rules == "equation-2" and trace.count > MOST_PATH:
        raise UnsupportedError(
            f"{trace.where} has {trace.count:,} events; equation (2) is for up to {MOST_PATH:,}"
        )
    walk = semantics.rules == "corrected" and semantics.collectives != "butterfly"
    if trace.count > MOST_PATH:
        walk = False
        notes += (f"no critical path: it is kept for up to {MOST_PATH:,} events",)
    beside = attrs.evolve(semantics, rules="corrected")
    found = {
        policy: propagate(
            trace, perturbation, recorded, policy,
            beside if semantics.rules == "equation-2" != policy else semantics,
            replications=replications, seed=seed, causes=walk and policy == asked[0],
        )
        for policy in asked
    }  # fmt: skip
    main = found[asked[0]]
    path = None
    if walk and main.cause is not None and trace.count:
        last = int(spans(trace, main.final)[:, 0].argmax())
        path = critical_path(trace, main.cause, last)
    clipped = tuple(
        f"{name}: {count:,} times less was taken away than asked, as nothing gets shorter than 0"
        for name, count in main.clipped.items()
    )
    return Forecast(
        trace=trace,
        delays=found,
        main=asked[0],
        path=path,
        notes=(*trace.notes, *notes, *clipped),
    )


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


def as_json(found: Forecast) -> dict[str, Any]:
    """Return everything as an object; times are in ticks of ``tick`` seconds."""
    trace, main = found.trace, found.delays[found.main]
    moved = main.moved
    names = {"upper": "clockfree_final", "lower": "lower_final", "clocked": "clocked_final"}
    if "equation-2" in found.delays:
        names["equation-2"] = "equation_2_final"
    finals = {names[one]: found.ends(one).mean(axis=1).tolist() for one in found.delays}
    return {
        "schema": 1,
        "trace": trace.where,
        "ranks": trace.size,
        "events": trace.count,
        "tick": trace.tick,
        "policy": found.main,
        **{name: finals.get(name) for name in names.values()},
        "before": trace.ends.tolist(),
        "delay": main.final.mean(axis=1).tolist(),
        "makespan": {
            "before": float(makespans(trace)[0]),
            **{one: spread(found.makespans(one)) for one in found.delays},
        },
        "last_end": {
            "before": last_end(trace),
            **{one: spread(found.ends(one).max(axis=0, initial=0.0)) for one in found.delays},
        },
        "where": {
            "sites": _where(trace.sites, moved),
            "regions": _where(trace.regions, moved),
            "ranks": _where(range(trace.size), moved[len(trace.sites) :]),
        },
        "path": attrs.asdict(found.path) if found.path else None,
        "replications": main.final.shape[1],
        "notes": list(found.notes),
    }


def summed(names: Iterable[object], moved: Floats) -> dict[str, tuple[float, float]]:
    """Return what was absorbed and what was made by each name, of those with either.

    Parameters
    ----------
    names
        Of the first rows; rows of one name are added up.
    moved
        As `propagate` returns it, or a part of it.
    """
    found: dict[str, tuple[float, float]] = {}
    for name, (absorbed, made) in zip(map(str, names), moved.tolist(), strict=False):
        if absorbed or made:
            before = found.get(name, (0.0, 0.0))
            found[name] = before[0] + absorbed, before[1] + made
    return found


def _where(names: Iterable[object], moved: Floats) -> dict[str, dict[str, float]]:
    sums = summed(names, moved)
    return {name: {"absorbed": one, "made": other} for name, (one, other) in sums.items()}
