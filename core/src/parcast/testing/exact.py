"""Programs and costs in fractions: the numbers that were meant, which floats round."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar

import attrs
import numpy as np

from parcast.model.costs import Costs
from parcast.model.messages import LevelCosts, SizeCosts
from parcast.program import Operation, Unrolled

T = TypeVar("T", Costs, SizeCosts, LevelCosts)

_AMOUNTS = frozenset({"bytes", "flops", "seconds"})

#: Numbers that are meant have no larger denominator, and no larger product with the numerator.
_DENOMINATOR, _PRODUCT = 10**8, 10**12


def exact_costs(costs: Costs) -> Costs:
    """Return costs as fractions."""
    speed = _exact_array(costs.placement.speed)
    fabric = costs.fabric
    if fabric is not None:
        capacity, latency = _exact_array(fabric.capacity), _exact_array(fabric.latency)
        fabric = attrs.evolve(fabric, capacity=capacity, latency=latency)
    return attrs.evolve(
        _exact_fields(costs),
        placement=attrs.evolve(costs.placement, speed=speed),
        sizes=tuple(map(_exact_fields, costs.sizes)),
        levels=tuple(map(_exact_fields, costs.levels)),
        fabric=fabric,
    )


def _exact_fields(costs: T) -> T:
    """Return costs with a fraction for each float, but for those without end."""
    numbers: dict[str, Any] = {
        field.name: exactly(value)
        for field in attrs.fields(type(costs))
        if isinstance(value := getattr(costs, field.name), float) and value < np.inf
    }
    return attrs.evolve(costs, **numbers)


def _exact_array(values: Any) -> Any:
    exact = [exactly(value) if value < np.inf else value for value in values.tolist()]
    return np.array(exact, dtype=object)


def exact_program(unrolled: Unrolled) -> Unrolled:
    """Return a program with its amounts as fractions, which keep all else exact."""
    lists = [[_exact(operation) for operation in listed] for listed in unrolled.by_rank()]
    pools = tuple(
        attrs.evolve(
            pool,
            bytes=_column(pool.bytes, pool.tasks),
            result=_column(pool.result, pool.tasks),
            work=exact_program(pool.work),
        )
        for pool in unrolled.pools
    )
    return attrs.evolve(Unrolled.of_ranks(lists, unrolled.sites, unrolled.where), pools=pools)


def exactly(value: float) -> Fraction:
    """Return the fraction of small denominator that a float stands for.

    Raises
    ------
    ValueError
        If there is none.
    """
    fraction = Fraction(value).limit_denominator(_DENOMINATOR)
    product = abs(fraction.numerator * fraction.denominator)
    if product > _PRODUCT or abs(float(fraction) - value) > 1e-12 * abs(value):
        raise ValueError(f"{value!r} stands for no fraction of small numbers")
    return fraction


def _exact(operation: Operation) -> Operation:
    arguments: Mapping[str, Any] = operation.arguments
    numbers = {name: exactly(value) for name, value in arguments.items() if name in _AMOUNTS}
    return attrs.evolve(operation, arguments={**arguments, **numbers})


def _column(values: Any, count: int) -> Any:
    return np.array([exactly(value) for value in np.broadcast_to(values, count).tolist()], object)
