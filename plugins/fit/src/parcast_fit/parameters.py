"""Free parameters: where each stands, its unit and bounds, and how it is searched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Registry
from parcast.comparison import Settings
from parcast.errors import ParcastError, UnknownNameError, did_you_mean
from parcast.model import Machine, Query
from parcast.plugins import load_class
from parcast.quantities import Unit, parse_quantity, to_base

Floats = NDArray[np.float64]

#: A level between 0 and 1 starts in the middle where the machine states none.
MIDDLE = 0.5


@attrs.frozen(kw_only=True)
class Parameter:
    """One free parameter, searched as the logarithm of its value or as ``value / scale``.

    A value that must be above 0, by its unit or its bounds, is searched by its logarithm; one that
    may be 0 or below, such as a startup time, a contention level or an amount of work, as it is, in
    units that change the answers by about a factor e. A workload's parameter that starts above 0
    stays at 0 or more.
    """

    name: str
    of: str  #: "workload" or "machine"
    start: float  #: in base units
    low: float
    high: float
    unit: Unit | None = None  #: of a machine's value
    log: bool
    scale: float = 1.0

    def inner(self, value: float) -> float:
        """Return the coordinate that is searched."""
        if self.log:
            return math.log(value) if value > 0 else -math.inf
        return value / self.scale

    def value(self, inner: float) -> float:
        """Return the value in base units."""
        return (
            math.exp(min(max(float(inner), -700.0), 700.0))
            if self.log
            else float(inner) * self.scale
        )

    def slope(self, inner: float) -> float:
        """Return d value / d inner."""
        return self.value(inner) if self.log else self.scale

    @property
    def inner_bounds(self) -> tuple[float, float]:
        """The bounds of the coordinate."""
        return self.inner(self.low), self.inner(self.high)

    def step(self, inner: float) -> float:
        """Return the step of a difference."""
        return 3e-5 if self.log else 3e-5 * max(1.0, abs(inner))


def read_parameters(
    registry: Registry,
    names: Sequence[str],
    bounds: Mapping[str, Any],
    queries: Sequence[Query],
    set_names: Settings,
) -> tuple[Parameter, ...]:
    """Return the free parameters in the order of ``names``.

    Parameters
    ----------
    registry
        Where parts of machines are looked up.
    names
        Workload parameters and key paths of the machine, such as ``network.bandwidth``.
    bounds
        Of some of them: ``(low, high)`` or text such as ``"1 MB/s..1 GB/s"``.
    queries
        The measured points with all that is set; the start is what they agree on.
    set_names
        ``names`` as `Settings.sort` has sorted them.

    Raises
    ------
    ParcastError
        If a name is no number that can vary continuously, has no start, or a bound is wrong.
    """
    for name in set_names.options:
        raise UnknownNameError(f"{name} is an option of a solver; only numbers can be fitted")
    for name in bounds:
        if name not in names:
            raise UnknownNameError(f"--bound {name}: it is not free; add it to --free")
    return tuple(
        _workload_parameter(name, bounds.get(name), queries)
        if name in set_names.parameters
        else _machine_parameter(registry, name, bounds.get(name), queries)
        for name in names
    )


def _workload_parameter(name: str, bound: Any, queries: Sequence[Query]) -> Parameter:
    start = _agree(name, (query.values[name] for query in queries))
    low, high = _bounds(name, bound, None) if bound is not None else (None, None)
    parameter = Parameter(
        name=name,
        of="workload",
        start=start,
        low=(0.0 if start > 0 else -math.inf) if low is None else low,
        high=math.inf if high is None else high,
        log=low is not None and low > 0,
        scale=abs(start) or 1.0,
    )
    return _check(parameter)


def _machine_parameter(
    registry: Registry, name: str, bound: Any, queries: Sequence[Query]
) -> Parameter:
    unit = machine_unit(registry, name)
    values = [machine_value(query.machine, name) for query in queries]
    if None in values:
        if unit.most != 1:
            machine = queries[0].machine.name
            raise ParcastError(
                f"machine {machine!r} states no {name} to start from; give one with "
                f"--set {name}=..."
            )
        values = [MIDDLE]
    start = _agree(name, (value for value in values if value is not None))
    low, high = _bounds(name, bound, unit) if bound is not None else (None, None)
    parameter = Parameter(
        name=name,
        of="machine",
        start=start,
        low=0.0 if low is None else low,
        high=unit.most if high is None else min(high, unit.most),
        unit=unit,
        log=unit.positive,
        scale=abs(start) or 1.0,
    )
    return _check(parameter)


def machine_unit(registry: Registry, path: str) -> Unit:
    """Return the unit of the machine's number at a key path.

    Raises
    ------
    ParcastError
        If there is no number that can vary continuously.
    """
    part, *keys = path.split(".")
    kind: Any = load_class(registry.parts[part].target)
    for key in keys:
        table = next(
            (
                annotation
                for annotation in _inner(kind)
                if isinstance(annotation, type) and attrs.has(annotation)
            ),
            None,
        )
        fields = attrs.fields_dict(attrs.resolve_types(table)) if table else {}
        if key not in fields:
            hint = did_you_mean(key, fields)
            raise UnknownNameError(f"--free {path}: no machine has such a value.{hint}")
        kind = fields[key].type
    unit = next((annotation for annotation in _inner(kind) if isinstance(annotation, Unit)), None)
    if unit is None or any(get_origin(annotation) is tuple for annotation in _inner(kind)):
        raise ParcastError(f"--free {path}: only numbers that vary continuously can be fitted")
    return unit


def _inner(kind: Any) -> Iterator[Any]:
    yield kind
    for argument in get_args(kind):
        yield from _inner(argument)


def machine_value(machine: Machine, path: str) -> float | None:
    """Return the number at a key path of a machine, or None where it states none."""
    part, *keys = path.split(".")
    value: Any = machine.parts.get(part) or getattr(machine, part, None)
    for key in keys:
        value = getattr(value, key, None)
    return None if value is None else float(value)


def _agree(name: str, values: Iterable[float]) -> float:
    distinct = set(values)
    if len(distinct) > 1:
        raise ParcastError(
            f"{name} is free and cannot vary between the measured points; take out its "
            "column or its formula of p and d"
        )
    return float(distinct.pop())


def _bounds(name: str, bound: Any, unit: Unit | None) -> tuple[float | None, float | None]:
    parts = bound.split("..") if isinstance(bound, str) else list(bound)
    if len(parts) != 2:
        raise ParcastError(f"--bound {name}={bound}: write LOW..HIGH; either may be left out")
    try:
        low, high = (_end(end, unit) for end in parts)
    except ParcastError as error:
        raise ParcastError(f"--bound {name}={bound}: {error}") from None
    if low is not None and high is not None and low >= high:
        raise ParcastError(f"--bound {name}={bound}: the low end must be below the high one")
    if unit is not None and low is not None and low < 0:
        raise ParcastError(f"--bound {name}={bound}: {name} cannot be below 0")
    return low, high


def _end(value: Any, unit: Unit | None) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, float) and math.isinf(value):
        return None
    return parse_quantity(value).value if unit is None else to_base(value, unit.dimension)


def _check(parameter: Parameter) -> Parameter:
    if not parameter.low <= parameter.start <= parameter.high or (
        parameter.log and parameter.start <= 0
    ):
        raise ParcastError(
            f"{parameter.name} starts at {parameter.start:g}, outside its bounds {parameter.low:g} "
            f".. {parameter.high:g}; give another start with --set {parameter.name}=..."
        )
    return parameter
