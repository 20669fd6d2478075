"""What a command is asked about: a trace, and what is known of the machine behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from parcast.errors import ParcastError, UnsupportedError
from parcast_perturb.asking import Known, noise_of, recorded_on
from parcast_perturb.asynchronous import warned
from parcast_perturb.formats import read_trace
from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.timing import timed_on
from parcast_traces.protocol import protocol
from parcast_traces.trace.columns import Trace

if TYPE_CHECKING:
    from parcast import Registry
    from parcast.model import Machine

_OWN_COST = (
    "what a call costs its rank itself is not stated (--overhead, --recorded-on): all time in "
    "receives and waits is taken to be waiting"
)
_QUEUES = (
    "machine {name!r} has contention {contention!r}, and nothing tells which recorded messages "
    "queued: they are taken to have been as fast as alone"
)


@attrs.frozen(eq=False, kw_only=True)
class Subject:
    """A trace that has been read, and timed where that was asked for."""

    trace: Trace
    known: Recorded
    calls: tuple[Addition, ...] = ()  #: noise of the machine that the trace was timed on
    gaps: tuple[Addition, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def noisy(self) -> bool:
        """Whether its machine has noise."""
        return bool(self.calls or self.gaps)

    def with_noise(self, added: Perturbation) -> Perturbation:
        """Return a perturbation with the noise of the machine."""
        return attrs.evolve(
            added, noise=added.noise + self.calls, compute=added.compute + self.gaps
        )

    def quiet(self) -> Subject:
        """Return this subject for what draws no noise.

        Raises
        ------
        UnsupportedError
            If its machine has noise.
        """
        if self.noisy:
            raise UnsupportedError(
                "the machine has [noise], which this command does not draw; leave it out of the "
                "machine, or ask 'parcast perturb run'"
            )
        return self


def subject(registry: Registry, file: Path, options: Known) -> Subject:
    """Return what is asked about.

    Parameters
    ----------
    registry
        Of machines.
    file
        A trace.
    options
        What is known of its machine.

    Raises
    ------
    ParcastError
        If the trace cannot be read or timed, or two options contradict each other.
    """
    trace = read_trace(file)
    if options.machine is None:
        return _recorded(registry, trace, options)
    said = {"--recorded-on": options.recorded, "--overhead": options.overhead,
            "--eager": options.eager}  # fmt: skip
    for option, value in said.items():
        if value is not None:
            raise ParcastError(
                f"{option} {value}: --machine {options.machine} says what calls and messages cost; "
                f"leave {option} away, or change the machine"
            )
    return on_machine(trace, registry.machine(options.machine))


def on_machine(trace: Trace, machine: Machine) -> Subject:
    """Return a trace of work as the run of a machine, whose noise is kept apart.

    Raises
    ------
    ParcastError
        As `timed_on` does, or if the noise is no distribution.
    """
    trace, known = timed_on(trace, machine)
    calls, gaps = noise_of(machine, trace)
    return Subject(trace=trace, known=known, calls=calls, gaps=gaps)


def _recorded(registry: Registry, trace: Trace, options: Known) -> Subject:
    limit, notes = None, tuple[str, ...]()
    if options.eager is not None:
        trace, limit, notes = protocol(trace, options.eager)
    machine = None if options.recorded is None else registry.machine(options.recorded)
    if machine is None and options.overhead is None:
        notes += (_OWN_COST,)
    if machine is not None and (contention := machine.network.contention or "none") != "none":
        notes += (_QUEUES.format(name=machine.name, contention=contention),)
    notes += tuple(warned(trace))
    known = recorded_on(trace, machine, options.overhead, limit)
    return Subject(trace=trace, known=known, notes=notes)
