"""`Query.number`: a formula's value at the query's point, or why it has none."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast import Formula, InvalidPointError, Machine, Query, Unit, Workload

SHARE = Unit("1", positive=True, most=1)
BYTES = Unit("B")


@attrs.frozen(kw_only=True)
class Content:
    share: Annotated[Formula, SHARE] = Formula.read(1, SHARE)
    bytes: Annotated[Formula, BYTES] | None = None
    bare: Formula = Formula.read(1, BYTES)


def query(content: Content, p: int = 3, **parameters: float) -> Query:
    workload = Workload(name="w", kind="own", content=content, parameters={"n": 2})
    return Query(workload=workload, machine=Machine(name="m"), p=p, parameters=parameters)


def test_a_formula_sees_p_and_parameters_in_base_units():
    content = Content(bytes=Formula.read("n * p kB", BYTES))
    assert query(content).number(content, "bytes") == 6000
    assert query(content, n=5).number(content, "bytes") == 15000


@given(p=st.integers(1, 50), over=st.integers(-5, 50), n=st.integers(-3, 50))
def test_a_value_is_allowed_by_the_unit_or_refused_with_its_place(p: int, over: int, n: int):
    content = Content(share=Formula.read(f"({over} - n) / (p - 7)", SHARE))
    asked = query(content, p, n=n)
    value = None if p == 7 else Fraction(over - n, p - 7)
    if value is not None and 0 < value <= 1:
        assert asked.number(content, "share") == float(value)
        return
    with pytest.raises(InvalidPointError) as caught:
        asked.number(content, "share", "part[2]")
    assert str(caught.value).startswith(
        f"workload 'w', part[2].share = '({over} - n) / (p - 7)' at p={p}, d=1: "
    )


def test_a_field_without_a_unit_is_a_mistake_of_its_class():
    content = Content()
    with pytest.raises(TypeError, match=r"Content\.bare must be Annotated\[Formula, Unit"):
        query(content).number(content, "bare")
