"""The run that a command is about: a trace, and what is known of the machine behind it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from parcast.errors import ParcastError, UnsupportedError
from parcast_perturb.formats import read_trace
from parcast_perturb.machine_costs import noise_of, recorded_on
from parcast_perturb.options import MachineOptions
from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.timing import time_on_machine
from parcast_perturb.unawaited import unawaited_notes
from parcast_traces.protocol import protocol
from parcast_traces.readers import Format, Limit
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.limits import OF_WORK

if TYPE_CHECKING:
    from parcast import Registry
    from parcast.model import Machine

#: Of a trace that must have times.
NO_TIMES = "{where} has no times; time it on a machine first (--machine)"
#: Said where nothing tells what calls cost.
OWN_COST = (
    "what a call costs its rank itself is not stated (--overhead, --recorded-on): all time in "
    "receives and waits counts as waiting, which absorbs delays, so times may be too short"
)
_QUEUES = (
    "machine {name!r} has contention {contention!r}, and a trace does not say which messages "
    "queued: all count as fast as alone, so that waiting absorbs more and times may be too short"
)


@attrs.frozen(eq=False, kw_only=True)
class TracedRun:
    """A trace that has been read, and timed where that was asked for."""

    trace: Trace
    recorded: Recorded
    calls: tuple[Addition, ...] = ()  #: noise of the machine that the trace was timed on
    gaps: tuple[Addition, ...] = ()
    notes: tuple[str, ...] = ()
    steps: int = 0  #: that the trace repeats, where it is of them alone

    @property
    def noisy(self) -> bool:
        """Whether its machine has noise."""
        return bool(self.calls or self.gaps)

    def with_noise(self, added: Perturbation) -> Perturbation:
        """Return a perturbation with the noise of the machine."""
        return attrs.evolve(
            added, noise=added.noise + self.calls, compute=added.compute + self.gaps
        )

    def without_noise(self) -> TracedRun:
        """Return this run for a command that draws no noise.

        Raises
        ------
        UnsupportedError
            If its machine has noise.
        """
        if self.noisy:
            raise UnsupportedError(
                "the machine has [noise], which this command does not draw; leave it out of the "
                "machine, or use 'parcast perturb run'"
            )
        return self


def read_run(
    registry: Registry,
    file: Path,
    options: MachineOptions,
    *,
    assume_alike: bool = False,
    times: bool = True,
) -> TracedRun:
    """Return the run in a trace, timed on a machine if one is named.

    Parameters
    ----------
    registry
        Of machines.
    file
        A trace.
    options
        What is known of its machine.
    assume_alike
        Whether ranks without a file did what the first that has one did.
    times
        Whether a run without times is of no use.

    Raises
    ------
    ParcastError
        If the trace cannot be read or timed, or two options contradict each other.
    """
    wanted = partial(_wanted, file, timing=options.machine is not None, times=times)
    trace = read_trace(file, assume_alike=assume_alike, wanted=wanted)
    if not options.steps:
        return _run_of(registry, trace, options)
    if trace.steps is None:
        raise ParcastError(f"--steps: {file} has no steps that repeat; leave it out")
    run = _run_of(registry, trace.steps.trace, options)
    return attrs.evolve(run, steps=len(trace.steps.seconds))


def _wanted(file: Path, file_format: Format, *, timing: bool, times: bool) -> Limit | None:
    """Return of how many events a run is wanted, where its format has no times.

    Raises
    ------
    UnsupportedError
        If it must have times, and no machine gives it some.
    """
    if not file_format.work:
        return None
    if timing:
        return OF_WORK
    if times:
        raise UnsupportedError(NO_TIMES.format(where=file))
    return None


def _run_of(registry: Registry, trace: Trace, options: MachineOptions) -> TracedRun:
    """Return the run of a trace, timed on a machine if one is named."""
    if options.machine is None:
        return _recorded_run(registry, trace, options)
    contradicting = {"--recorded-on": options.recorded, "--overhead": options.overhead,
                     "--eager": options.eager}  # fmt: skip
    for option, value in contradicting.items():
        if value is not None:
            raise ParcastError(
                f"{option} {value}: --machine {options.machine} says what calls and messages cost; "
                f"leave out {option}, or change the machine"
            )
    return run_on_machine(trace, registry.machine(options.machine))


def run_on_machine(trace: Trace, machine: Machine) -> TracedRun:
    """Return a trace of work as the run of a machine, whose noise is kept apart.

    Raises
    ------
    ParcastError
        As `time_on_machine` does, or if the noise is no distribution.
    """
    trace, recorded = time_on_machine(trace, machine)
    calls, gaps = noise_of(machine, trace)
    return TracedRun(trace=trace, recorded=recorded, calls=calls, gaps=gaps)


def _recorded_run(registry: Registry, trace: Trace, options: MachineOptions) -> TracedRun:
    limit, notes = None, tuple[str, ...]()
    if options.eager is not None:
        trace, limit, notes = protocol(trace, options.eager)
    machine = None if options.recorded is None else registry.machine(options.recorded)
    if machine is None and options.overhead is None:
        notes += (OWN_COST,)
    if machine is not None and (contention := machine.network.contention or "none") != "none":
        notes += (_QUEUES.format(name=machine.name, contention=contention),)
    notes += tuple(unawaited_notes(trace))
    recorded = recorded_on(trace, machine, options.overhead, limit)
    return TracedRun(trace=trace, recorded=recorded, notes=notes)
