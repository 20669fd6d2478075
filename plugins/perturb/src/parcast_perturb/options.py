"""The options of a perturbation and of the machine behind a trace, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast.errors import ParcastError
from parcast.quantities import to_base
from parcast_perturb.laws import addition
from parcast_perturb.noise_removal import gap_reductions
from parcast_perturb.perturbation import Addition, Perturbation
from parcast_traces.trace.columns import Trace


@attrs.frozen(kw_only=True)
class MachineOptions:
    """The options that say what a run was recorded on, or is to be timed on."""

    machine: str | None = None  #: --machine
    recorded: str | None = None  #: --recorded-on
    overhead: str | None = None  #: --overhead
    eager: str | None = None  #: --eager
    steps: bool = False  #: --steps


@attrs.frozen(kw_only=True)
class PerturbationOptions:
    """The options of a perturbation, as texts."""

    latency: Sequence[str] = ()
    per_byte: Sequence[str] = ()
    os_noise: Sequence[str] = ()
    compute_noise: Sequence[str] = ()
    remove_noise: bool = False


def perturbation_of(
    trace: Trace, options: PerturbationOptions
) -> tuple[Perturbation, tuple[str, ...]]:
    """Return what options add, and what is to be said about it.

    Raises
    ------
    ParcastError
        If one cannot be read.
    """
    notes: list[str] = []

    def read(texts: Sequence[str], option: str) -> tuple[Addition, ...]:
        readings = [addition(text, trace.tick, option) for text in texts]
        notes.extend(note for _, note in readings if note)
        return tuple(added for added, _ in readings)

    removed = None
    if options.remove_noise:
        removed = gap_reductions(trace)
        notes.append(
            "noise is estimated as what a gap is longer than the shortest between the same two "
            "calls of its rank; work that varies is removed with it, so times may be too short"
        )
    return Perturbation(
        noise=read(options.os_noise, "--os-noise"),
        compute=read(options.compute_noise, "--compute-noise"),
        latency=read(options.latency, "--latency"),
        per_byte=read(options.per_byte, "--per-byte"),
        removed=removed,
    ), tuple(notes)


def ticks(trace: Trace, text: str) -> float:
    """Return a time in the trace's ticks; a plain number where these have no unit.

    Raises
    ------
    ParcastError
        If it cannot be read, or is not above 0.
    """
    value = to_base(text, "s" if trace.tick else "1") / (trace.tick or 1.0)
    if not value > 0:
        raise ParcastError(f"{text!r} must be above 0")
    return value


def swept(field: str, values: Sequence[float]) -> Perturbation:
    """Return what adds another constant in every replication."""
    added: Any = {field: (Addition(np.array(values)),)}
    return Perturbation(**added)
