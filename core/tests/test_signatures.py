"""What the methods of a registry take is what the functions behind them take."""

from __future__ import annotations

import inspect

import pytest

from parcast import Registry
from parcast.comparison.compare import compare
from parcast.comparison.predict import predict
from parcast.study import study


@pytest.mark.parametrize("function", [compare, predict, study])
def test_a_method_has_the_signature_of_its_function(function):
    method = inspect.signature(getattr(Registry, function.__name__))
    _, *own = method.parameters.values()
    registry, *those = inspect.signature(function).parameters.values()
    assert registry.name == "registry"
    assert [(one.name, one.kind, one.annotation) for one in own] == [
        (one.name, one.kind, one.annotation) for one in those
    ]
    for one, other in zip(own, those, strict=True):
        assert one.default == other.default or callable(one.default)


def test_a_wrong_argument_is_refused_by_name_before_anything_is_asked():
    with pytest.raises(TypeError, match="solver"):
        Registry([]).compare("w", "m", solver="spmd")
