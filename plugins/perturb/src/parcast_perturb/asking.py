"""From what a user writes to what is propagated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError, ParcastError, did_you_mean, shorten
from parcast.model import Machine
from parcast.quantities import to_base
from parcast_perturb.laws import addition
from parcast_perturb.noise_free import removal
from parcast_perturb.perturbation import Addition, Extra, Perturbation, Recorded
from parcast_traces.readers.neutral import load
from parcast_traces.trace.columns import Trace

_PARAMS = {"o", "L", "G", "eager_max", "slack"}
_ADDED = {"os", "lat", "per_byte", "comp", "extra"}


@attrs.frozen(kw_only=True)
class Noise:
    """What a machine's operating system adds: distributions as ``exp:25us``."""

    calls: str | None = None  #: to every call
    computation: str | None = None  #: to every gap between calls


@attrs.frozen(kw_only=True)
class Known:
    """The options that say what a run was recorded on, or is to be timed on."""

    machine: str | None = None  #: --machine
    recorded: str | None = None  #: --recorded-on
    overhead: str | None = None  #: --overhead
    eager: str | None = None  #: --eager


@attrs.frozen(kw_only=True)
class Wanted:
    """The options of a perturbation, as texts."""

    latency: Sequence[str] = ()
    per_byte: Sequence[str] = ()
    os_noise: Sequence[str] = ()
    compute_noise: Sequence[str] = ()
    remove_noise: bool = False


def perturbation_of(trace: Trace, wanted: Wanted) -> tuple[Perturbation, tuple[str, ...]]:
    """Return what options add, and what is to be said about it.

    Raises
    ------
    ParcastError
        If one cannot be read.
    """
    notes: list[str] = []

    def read(texts: Sequence[str], option: str) -> tuple[Addition, ...]:
        found = [addition(text, trace.tick, option) for text in texts]
        notes.extend(note for _, note in found if note)
        return tuple(one for one, _ in found)

    removed = None
    if wanted.remove_noise:
        removed = removal(trace)
        notes.append(
            "noise is taken to be what a gap is longer than the shortest between the same two "
            "calls of its rank; work that varies is removed with it"
        )
    return Perturbation(
        noise=read(wanted.os_noise, "--os-noise"),
        compute=read(wanted.compute_noise, "--compute-noise"),
        latency=read(wanted.latency, "--latency"),
        per_byte=read(wanted.per_byte, "--per-byte"),
        removed=removed,
    ), tuple(notes)


def from_file(path: Path, wanted: Wanted, options: Known) -> tuple[Perturbation, Recorded]:
    """Return the perturbation and the recording machine of a JSON file, which says them alone.

    It has an object ``perturbation`` (``os``, ``lat``, ``per_byte``, ``comp``, and ``extra``, a
    list of rank, event and delta) and an object ``params`` (``o``, ``L``, ``G``,
    ``eager_max``), all in the trace's ticks.

    Raises
    ------
    FileError
        If it cannot be read.
    ParcastError
        If options say something of it too.
    """
    if wanted != Wanted() or options != Known():
        raise ParcastError(
            "--perturbation says everything that is added and what the machine was; leave "
            "the other options about these away"
        )
    data = load(path)
    if not isinstance(data, dict):
        raise FileError(f"{path} must be an object with perturbation and params")
    params, added = (
        _table(data.get(name, {}), known, f"{path}: {name}")
        for name, known in (("params", _PARAMS), ("perturbation", _ADDED))
    )
    extra = added.pop("extra", [])
    if not isinstance(extra, list):
        raise FileError(f"{path}: perturbation.extra must be a list")
    numbers = {name: _number(value, f"{path}: {name}") for name, value in added.items()}
    params.pop("slack", None)
    known = {name: _number(value, f"{path}: params.{name}") for name, value in params.items()}
    return Perturbation.of(
        noise=numbers.get("os", 0.0),
        compute=numbers.get("comp", 0.0),
        latency=numbers.get("lat", 0.0),
        per_byte=numbers.get("per_byte", 0.0),
        extra=tuple(_extra(one, f"{path}: perturbation.extra") for one in extra),
    ), Recorded(
        overhead=known.get("o", 0.0),
        latency=known.get("L"),
        per_byte=known.get("G"),
        eager_max=known.get("eager_max", float("inf")),
    )


def _table(data: Any, known: set[str], where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise FileError(f"{where} must be an object, not {shorten(data)}")
    if wrong := next(iter(data.keys() - known), None):
        raise FileError(f"{where} has no {wrong!r}.{did_you_mean(wrong, known)}")
    return dict(data)


def _number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise FileError(f"{where} must be a number, not {shorten(value)}")
    return float(value)


def _extra(data: Any, where: str) -> Extra:
    found: Mapping[str, Any] = _table(data, {"rank", "event", "delta"}, where)
    if missing := next(iter({"rank", "event", "delta"} - found.keys()), None):
        raise FileError(f"{where}: {missing} is missing")
    numbers = {name: _number(value, f"{where}.{name}") for name, value in found.items()}
    if numbers["rank"] % 1 or numbers["event"] % 1:
        raise FileError(f"{where}: rank and event must be whole numbers")
    return Extra(int(numbers["rank"]), int(numbers["event"]), numbers["delta"])


def recorded_on(
    trace: Trace, machine: Machine | None, overhead: str | None, eager_max: float | None
) -> Recorded:
    """Return what is known of the recording machine.

    Raises
    ------
    ParcastError
        If a machine is given and the trace's times have no unit, or a quantity cannot be read.
    """
    found = Recorded()
    if machine is not None:
        if trace.tick is None:
            raise ParcastError(
                f"{trace.where}: the times have no unit, so no machine says what they cost; "
                "state the unit in the trace"
            )
        found = signature(machine, trace.tick)
    if overhead is not None:
        own = to_base(overhead, "s" if trace.tick else "1") / (trace.tick or 1.0)
        found = attrs.evolve(found, overhead=own)
    if eager_max is not None:
        found = attrs.evolve(found, eager_max=eager_max)
    return found


def ticks(trace: Trace, text: str) -> float:
    """Return a time in the trace's ticks; a plain number where these have no unit.

    Raises
    ------
    ParcastError
        If it cannot be read, or is not above 0.
    """
    found = to_base(text, "s" if trace.tick else "1") / (trace.tick or 1.0)
    if not found > 0:
        raise ParcastError(f"{text!r} must be above 0")
    return found


def swept(what: str, values: Sequence[float]) -> Perturbation:
    """Return what adds another constant in every replication."""
    added: Any = {what: (Addition(np.array(values)),)}
    return Perturbation(**added)


def signature(machine: Machine, tick: float) -> Recorded:
    """Return what a machine's network costs, in ticks.

    Raises
    ------
    UnsupportedError
        If it states no startup or no bandwidth.
    """
    network, reason = machine.network, "a trace recorded on it"
    startup = machine.need("network.startup", reason)
    each = 1.0 / machine.need("network.bandwidth", reason)
    own, by_sender = network.overhead, network.paid_by == "sender"
    receive = own if network.overhead_receive is None else network.overhead_receive
    return Recorded(
        overhead=(own + startup if by_sender else own) / tick,
        overhead_per_byte=(network.overhead_per_byte + (each if by_sender else 0.0)) / tick,
        overhead_receive=receive / tick,
        latency=0.0 if by_sender else startup / tick,
        per_byte=0.0 if by_sender else each / tick,
        eager_max=float("inf") if network.eager_limit is None else network.eager_limit,
    )


def noise_of(machine: Machine, trace: Trace) -> tuple[tuple[Addition, ...], tuple[Addition, ...]]:
    """Return what the machine's noise adds to calls and to gaps.

    Raises
    ------
    ParcastError
        If it is no distribution.
    """
    part = machine.part("noise", Noise) or Noise()

    def read(text: str | None, name: str) -> tuple[Addition, ...]:
        return () if text is None else (addition(text, trace.tick, f"noise.{name}")[0],)

    return read(part.calls, "calls"), read(part.computation, "computation")
