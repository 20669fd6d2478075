from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated

import attrs
import pytest

from parcast import (
    Assumption,
    InvalidPointError,
    Parts,
    Prediction,
    Registry,
    SolverEntry,
    Status,
    UnsupportedError,
    Workload,
    hookimpl,
)
from parcast.quantities.distributions import Distribution
from parcast.quantities.formulas import Unit


@attrs.frozen(kw_only=True)
class Options:
    method: str = "exact"
    repeat: int = 1
    fast: bool = False
    scale: float = 1.0
    step: Annotated[float, Unit("s")] = 1.0
    law: Annotated[Distribution, Unit("1")] | None = None


class Works:
    """time = parallel / (rate p) + serial / rate + io_bytes / d, and what it saw in details."""

    def supports(self, query):
        return None

    def solve(self, query):
        (phase, *_) = query.workload.content.at(query)
        rate = query.machine.need("processor.rate", "a test")
        parts = Parts(
            compute=phase.parallel / query.p / rate + phase.serial / rate,
            io=phase.io_bytes / query.d,
        )
        seen = {"seed": query.seed, "mapping": query.mapping, "options": query.options}
        return Prediction(time=parts.total, parts=parts, details=seen, notes=("worked",))


class Hopeful(Works):
    """Says short times, and that a lower rate is better."""

    def solve(self, query):
        rate = query.machine.need("processor.rate", "a test")
        return Prediction(time=rate / 1000, notes=("waiting is left out", "overlap is left out"))


class Many(Works):
    batches: tuple = ()

    def solve_many(self, queries):
        type(self).batches += (len(queries),)
        return [self.solve(query) for query in queries]


class ManyFails(Works):
    def solve_many(self, queries):
        raise RuntimeError("no batch today")


class ManyLoses(Works):
    def solve_many(self, queries):
        return [self.solve(query) for query in queries[1:]]


class ManyNonsense(Works):
    def solve_many(self, queries):
        return [None for _ in queries]


class Refuses(Works):
    def supports(self, query):
        return "cannot take asynchronous I/O"


class RefusesLate(Works):
    def solve(self, query):
        raise UnsupportedError("cannot take this after all")


class Exits(Works):
    def solve(self, query):
        raise SystemExit(3)


class SquaresOnly(Works):
    def solve(self, query):
        if query.p not in {1, 4, 9}:
            raise InvalidPointError(f"p={query.p} is no square")
        return super().solve(query)


class Bug(Works):
    def solve(self, query):
        return {}["missing"]


class SupportsBug(Works):
    def supports(self, query):
        raise ZeroDivisionError("in supports")


class MakeBug(Works):
    def __init__(self):
        raise RuntimeError("cannot be made")


class Nonsense(Works):
    def solve(self, query):
        return 5.0


class Nan(Works):
    def solve(self, query):
        return Prediction(time=float("nan"))


class Negative(Works):
    def solve(self, query):
        return Prediction(time=-1.0)


class Slow(Works):
    def solve(self, query):
        return Prediction(status=Status.NOT_CONVERGED, message="after 100 steps")


class Cheap(Works):
    def cost(self, query):
        return 0.001


class Dear(Works):
    def cost(self, query):
        return 90.0

    def assumptions(self, query):
        return (Assumption("small", f"p={query.p}"), Assumption("simple"))


class Bound(Works):
    def solve(self, query):
        return Prediction(time=0.5, lower=0.5)


class Traces:
    def supports(self, query):
        return None

    def solve(self, query):
        made_at, _ = query.workload.content
        assert made_at == query.p
        return Prediction(time=12.0 / query.p, notes=("traced",))


def to_trace(workload, query):
    trace = Workload(name=workload.name, kind="trace", content=(query.p, workload.content))
    return trace, ["bursts become constant"]


def default_of_picks(query):
    return "picks.large" if query.p > 2 else "picks.small"


def unknown_default(query):
    return "picks.medium"


SOLVERS = {
    "works": ("works.one", Works),
    "many": ("many.one", Many),
    "manyfails": ("manyfails.one", ManyFails),
    "manyloses": ("manyloses.one", ManyLoses),
    "manynonsense": ("manynonsense.one", ManyNonsense),
    "refuses": ("refuses.one", Refuses),
    "refuseslate": ("refuseslate.one", RefusesLate),
    "squares": ("squares.one", SquaresOnly),
    "bug": ("bug.one", Bug),
    "supportsbug": ("supportsbug.one", SupportsBug),
    "makebug": ("makebug.one", MakeBug),
    "nonsense": ("nonsense.one", Nonsense),
    "nan": ("nan.one", Nan),
    "negative": ("negative.one", Negative),
    "slow": ("slow.one", Slow),
    "exits": ("exits.one", Exits),
}


@pytest.fixture
def make_registry(monkeypatch):
    """Return a registry with the families named, and whatever entries are given."""

    def make(*families, entries=(), hooks=None):
        module = ModuleType("parcast_tests")
        for name, value in globals().items():
            setattr(module, name, value)
        chosen = [
            SolverEntry(name, "phases", f"parcast_tests:{cls.__name__}", "A test.")
            for name, cls in (SOLVERS[family] for family in families)
        ]
        module.parcast_solvers = hookimpl(lambda: [*chosen, *entries])
        for name, value in (hooks or {}).items():
            setattr(module, name, hookimpl(value))
        monkeypatch.setitem(sys.modules, "parcast_tests", module)
        monkeypatch.setattr(Many, "batches", ())
        registry = Registry(plugins=[module])
        assert registry.problems == ()
        return registry

    return make


@pytest.fixture
def machine():
    return {"name": "m", "processor": {"rate": 1}, "storage": {"disks": 3}}


@pytest.fixture
def workload():
    return {
        "name": "w",
        "parameters": {"n": 12, "s": 0},
        "phase": [{"parallel": "n", "serial": "s"}],
    }
