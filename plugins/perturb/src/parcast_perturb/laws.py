"""What is added, as people write it: ``100us``, ``exp:25us``, ``samples.csv``, ``0..3@-5us``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np

from parcast.errors import FileError, ParcastError
from parcast.quantities import Distribution, parse_numbers, to_base
from parcast_perturb.perturbation import Addition, Arrivals
from parcast_perturb.propagation.deltas import POOL
from parcast_traces.trace.columns import Floats

#: What ``fit:LAW:FILE`` estimates: Pareto's by likelihood, others by moments.
FITTED = ("exp", "gamma", "normal", "lognormal", "pareto")

#: Noise that comes in time: each so often, or at random.
_IN_TIME = ("every:", "random:")

#: Ticks beyond which sums lose whole ticks.
_MOST = 2.0**53

#: As many draws as make a law's table.
_SEED = 20_260_101


@attrs.frozen(eq=False)
class Law:
    """A table of values that are equally likely, in seconds or ticks, and what is to be said."""

    values: Floats
    note: str = ""


def addition(text: str, tick: float | None, option: str) -> tuple[Addition, str]:
    """Return what ``text`` adds, in ticks, and a note about it.

    Parameters
    ----------
    text
        A constant or a distribution as in machine files, ``normal:MEAN,STD``,
        ``pareto:SHAPE,SCALE``, a file of samples, or ``fit:LAW:FILE``; of gaps also
        ``every:INTERVAL,LENGTH`` and ``random:INTERVAL,LENGTH``, which interrupt them, with
        ``,together`` all ranks at once. ``-`` before it takes away; ``0..3@`` before it names
        ranks, ``0..1/16@`` nodes of 16 ranks each.
    tick
        Seconds; None where a trace's times have no unit, and numbers have none either.
    option
        What errors call it.

    Raises
    ------
    ParcastError
        If it cannot be read.
    """
    ranks_text, at, law_text = text.rpartition("@")
    try:
        ranks = _ranks(ranks_text) if at else None
        law_text = law_text.strip()
        sign = -1.0 if law_text.startswith("-") else 1.0
        if law_text.removeprefix("-").startswith(_IN_TIME):
            return Addition(ranks=ranks, arrivals=_arrivals(law_text, tick, option)), ""
        law = _law(law_text.removeprefix("-"), tick)
    except ParcastError as error:
        raise ParcastError(f"{option} {text!r}: {error}") from None
    largest = abs(law) if isinstance(law, float) else float(np.abs(law.values).max())
    if not largest / (tick or 1.0) < _MOST:
        raise ParcastError(f"{option} {text!r}: it is longer than any run")
    if isinstance(law, float):
        return Addition(sign * law / (tick or 1.0), ranks=ranks), ""
    return Addition(values=sign * law.values / (tick or 1.0), ranks=ranks), law.note


def _ranks(text: str) -> tuple[int, ...]:
    """Return ranks; ``0..1/16`` are nodes of 16 ranks each."""
    numbers, slash, size = text.partition("/")
    indices = parse_numbers("nodes" if slash else "ranks", numbers, 0)
    if not slash:
        return indices
    if not size.strip().isdecimal() or not 0 < int(size) < _MOST:
        raise ParcastError(f"nodes are written as NODES/RANKS, such as 0..1/16, not {text!r}")
    node_size = int(size)
    return tuple(node * node_size + offset for node in indices for offset in range(node_size))


def _arrivals(text: str, tick: float | None, option: str) -> Arrivals:
    """Return noise that comes in time."""
    if "compute" not in option and "computation" not in option:
        raise ParcastError("what comes in time interrupts computation; give it as --compute-noise")
    name, _, arguments = text.removeprefix("-").partition(":")
    fields = [field.strip() for field in arguments.split(",")]
    together = fields[-1] == "together"
    if len(fields) - together != 2:
        raise ParcastError(f"{name} needs the form {name}:INTERVAL,LENGTH or with ',together'")
    interval, length = (
        to_base(field, "s" if tick else "1") / (tick or 1.0) for field in fields[:2]
    )
    if not (0 < interval < _MOST and 0 <= length < interval):
        raise ParcastError("the interval must be above 0, and an interruption shorter than it")
    return Arrivals(
        interval=interval, length=-length if text.startswith("-") else length,
        periodic=name == "every", together=together,
    )  # fmt: skip


def _law(text: str, tick: float | None) -> Law | float:
    """Return a constant or a table."""
    name, _, arguments = text.partition(":")
    if name == "fit":
        law, _, file = arguments.partition(":")
        return _fit(law, Path(file), tick)
    if name in ("normal", "pareto"):
        return _family_law(name, arguments, tick)
    if not re.match(r"[a-z]+:", text) and (Path(text).suffix in (".csv", ".txt", ".dat")):
        values = samples(Path(text), tick)
        return Law(_spread(values), f"{text}: {len(values)} samples, each equally likely")
    distribution = Distribution.read(text, "s" if tick else "1")
    if distribution.law == "const":
        return distribution.mean
    if not distribution.mean < _MOST:
        raise ParcastError("it is longer than any run")
    if distribution.law == "sampled":
        return Law(_spread(np.array(distribution.parameters)))
    return Law(_scaled(distribution.sample(np.random.default_rng(_SEED), POOL), distribution.mean))


def _family_law(name: str, arguments: str, tick: float | None) -> Law:
    """Return the laws that only this family has."""
    fields = arguments.split(",")
    if len(fields) != 2:
        form = "normal:MEAN,STD" if name == "normal" else "pareto:SHAPE,SCALE"
        raise ParcastError(f"{name} needs the form {form}")
    dimension = "s" if tick else "1"
    second, rng = to_base(fields[1], dimension), np.random.default_rng(_SEED)
    if not second < _MOST:
        raise ParcastError("it is longer than any run")
    if name == "normal":
        mean = to_base(fields[0].removeprefix("-"), dimension)
        mean = -mean if fields[0].startswith("-") else mean
        return Law(rng.standard_normal(POOL) * second + mean)
    shape = to_base(fields[0], "1")
    if not shape > 1:
        raise ParcastError(f"pareto needs a shape above 1, where it has a mean, not {fields[0]}")
    values = second * (1 + rng.pareto(shape, POOL))
    return Law(_scaled(values, second * shape / (shape - 1)))


def _scaled(values: Floats, mean: float) -> Floats:
    """Return draws with exactly the law's mean, so that long sums are not off by the table's."""
    return values / (values / mean).mean() if mean else values


def _spread(values: Floats) -> Floats:
    """Return samples repeated to fill a table, as evenly as that goes."""
    order = np.random.default_rng(_SEED).permutation(values)
    return np.resize(order, POOL).astype(np.float64)


def samples(path: Path, tick: float | None) -> Floats:
    """Return the numbers of a file, one a line or the last column of a table.

    Plain numbers are seconds (or ticks, where a trace's times have no unit); a first line
    that is no number is a header.

    Raises
    ------
    FileError
        If it cannot be read or holds no samples.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise FileError(f"{path} cannot be read: {reason}") from None
    values = []
    for number, line in enumerate(lines, start=1):
        text = re.split(r"[,;\s]+", line.strip())[-1]
        if not text or text.startswith("#"):
            continue
        try:
            values.append(_number(text, tick))
        except (ParcastError, ValueError):
            if values or number > 1:
                raise FileError(
                    f"{path}:{number}: {line.strip()[:40]!r} is no number of seconds"
                ) from None
    if not values:
        raise FileError(f"{path} holds no samples")
    return np.array(values)


def _number(text: str, tick: float | None) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float(to_base(text, "s" if tick else "1"))
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _fit(law: str, path: Path, tick: float | None) -> Law:
    """Return the law with the moments of samples, and how far it is from them."""
    law = "exp" if law == "exponential" else law  # a law's name, or the word for its shape
    if law not in FITTED:
        raise ParcastError(f"fit:{law} is not known; fit one of {', '.join(FITTED)}")
    values = samples(path, tick)
    mean, std = float(values.mean()), float(values.std())
    if law != "normal" and (values.min() < 0 or mean == 0):
        raise ParcastError(f"{path}: {law} has values above 0, and the samples do not")
    if law == "pareto" and values.min() == 0:
        raise ParcastError(f"{path}: a Pareto law has values above 0, and a sample is 0")
    if law in ("gamma", "lognormal", "pareto") and std == 0:
        raise ParcastError(f"{path}: all samples are the same; give them as a constant")
    rng = np.random.default_rng(_SEED)
    if law == "exp":
        drawn, spelling = rng.exponential(mean, POOL), f"exp:{mean:.6g}"
    elif law == "normal":
        drawn, spelling = rng.normal(mean, std, POOL), f"normal:{mean:.6g},{std:.6g}"
    elif law == "gamma":
        shape = (mean / std) ** 2
        drawn, spelling = rng.gamma(shape, mean / shape, POOL), f"gamma:{shape:.6g},{mean:.6g}"
    elif law == "pareto":
        shape = len(values) / float(np.log(values / values.min()).sum())
        if not shape > 1:
            raise ParcastError(f"{path}: a Pareto law of shape {shape:.3g} fits best, which has no "
                               "mean; give the samples themselves")  # fmt: skip
        drawn, spelling = values.min() * (1 + rng.pareto(shape, POOL)), f"pareto:{shape:.6g}"
        spelling += f",{values.min():.6g}"
        mean = float(values.min()) * shape / (shape - 1)
    else:
        distribution = Distribution("lognormal", (mean, std))
        drawn, spelling = distribution.sample(rng, POOL), f"lognormal:{mean:.6g},{std:.6g}"
    distance = _distance(values, drawn)
    note = (
        f"{path}: {spelling} fitted to {len(values)} samples by "
        f"{'likelihood' if law == 'pareto' else 'moments'}; greatest distance of the "
        f"distribution functions {distance:.3f}"
    )
    return Law(_scaled(drawn, mean), note)


def _distance(first: Floats, second: Floats) -> float:
    """Return the two-sample statistic of Kolmogorov and Smirnov."""
    points = np.sort(np.concatenate([first, second]))
    shares: Sequence[Floats] = [
        np.searchsorted(np.sort(sample), points, side="right") / len(sample)
        for sample in (first, second)
    ]
    return float(np.abs(shares[0] - shares[1]).max())
