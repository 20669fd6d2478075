"""Queries and predictions: what a solver is asked and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, cached_property
from typing import Any, TypeVar, get_args

import attrs

from parcast.errors import FormulaError, InvalidPointError, UnitError
from parcast.model.machine import Machine
from parcast.model.workload import Workload
from parcast.quantities.expressions import Value
from parcast.quantities.formulas import Formula, Unit

T = TypeVar("T")


class Status(Enum):
    """How a prediction ended; the value is what rows and files say."""

    OK = "ok"
    REFUSED = "refused"  #: the solver cannot take this workload or machine
    INVALID = "invalid"  #: no meaning at this p, d or parameter
    FAILED = "failed"
    NOT_CONVERGED = "not_converged"


@attrs.frozen(kw_only=True, slots=False)  # made twice as fast without slots
class Query:
    """A workload on a machine with p processes and d disks.

    ``parameters`` override the workload's own; ``options`` is the solver's own attrs value,
    or None where it takes none.
    """

    workload: Workload
    machine: Machine
    p: int
    d: int = 1
    mapping: str | tuple[int, ...] = "block"
    parameters: Mapping[str, Value] = attrs.field(factory=dict, hash=False)
    options: Any = None
    seed: int = 0
    #: what was made of this query, and goes with it; one evolved from it starts without
    _computed: dict[Any, Any] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    def with_options(self, options: Any) -> Query:
        """Return the same question with a solver's options."""
        return Query(  # quicker than attrs.evolve
            workload=self.workload,
            machine=self.machine,
            p=self.p,
            d=self.d,
            mapping=self.mapping,
            parameters=self.parameters,
            options=options,
            seed=self.seed,
        )

    def once(self, key: Any, make: Callable[[Query], T]) -> T:
        """Return ``make(self)``, computed once for this query; ``key`` says what it is."""
        if key not in self._computed:
            self._computed[key] = make(self)
        return self._computed[key]  # type: ignore[no-any-return]

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """What formulas see: the parameters with their overrides, p and d."""
        return {**self.workload.parameters, **self.parameters, "p": self.p, "d": self.d}

    def value(self, name: str) -> Value | None:
        """Return one of the ``values``; None where there is none of that name."""
        if name == "p":
            return self.p
        if name == "d":
            return self.d
        return self.parameters.get(name, self.workload.parameters.get(name))

    @property
    def processes_alike(self) -> bool:
        """Whether each process has a core of its own, all of the speed that the machine states."""
        alike = self.machine.most_processes_alike
        return (alike is None or self.p <= alike) and isinstance(self.mapping, str)

    def number(self, table: Any, key: str, path: str = "") -> float:
        """Return the value of a formula at this p, d and parameters, in base units.

        Parameters
        ----------
        table
            What states the formula: the workload's content, or a table in it.
        key
            The field's name; its type is ``Annotated[Formula, Unit(...)]``.
        path
            Where the table stands in the file, such as ``"loop[0]"``, for the error.

        Raises
        ------
        InvalidPointError
            If the formula has no value here, or one that the field's unit does not allow.
        """
        formula: Formula = getattr(table, key)
        try:
            value = formula(self.values)
            return _unit_of(table.__class__, key).check(value, value)
        except (FormulaError, UnitError) as error:
            where = f"{path}.{key}" if path else key
            raise InvalidPointError(
                f"workload {self.workload.name!r}, {where} = {formula.text!r} at p={self.p}, "
                f"d={self.d}: {error}"
            ) from None


@cache
def _unit_of(table: type, key: str) -> Unit:
    """Return the unit of a field whose type is ``Annotated[Formula, Unit(...)]``, or that or None.

    Raises
    ------
    TypeError
        If the field states none.
    """
    kind = getattr(attrs.fields(attrs.resolve_types(table)), key).type
    for variant in (kind, *get_args(kind)):
        for hint in getattr(variant, "__metadata__", ()):
            if isinstance(hint, Unit):
                return hint
    raise TypeError(f"{table.__name__}.{key} must be Annotated[Formula, Unit(...)]")


@attrs.frozen(slots=False)  # made twice as fast without slots
class Parts:
    """Mean over processes of the time spent in each way, in seconds; they sum to the time."""

    compute: float = 0.0
    communication: float = 0.0
    io: float = 0.0
    synchronization: float = 0.0

    def __add__(self, other: Parts) -> Parts:
        return Parts(
            self.compute + other.compute,
            self.communication + other.communication,
            self.io + other.io,
            self.synchronization + other.synchronization,
        )

    def __mul__(self, factor: float) -> Parts:
        return Parts(
            factor * self.compute,
            factor * self.communication,
            factor * self.io,
            factor * self.synchronization,
        )

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return math.fsum(self.values())

    @property
    def largest(self) -> str | None:
        """What most of the time is spent on, by the resource's name; None of no time."""
        seconds = dict(
            zip(self.values(), ("processor", "network", "storage", "synchronization"), strict=True)
        )
        return seconds[max(seconds)] if any(seconds) else None

    def values(self) -> tuple[float, float, float, float]:
        """Return compute, communication, io, synchronization."""
        return (self.compute, self.communication, self.io, self.synchronization)


@attrs.frozen
class Assumption:
    """What a solver takes for granted, and what of a query is otherwise, if anything is."""

    text: str  #: such as ``"the nodes are idle"``
    violated: str = ""  #: such as ``"2 of 6 nodes are loaded"``

    def __str__(self) -> str:
        return f"{self.text}, but here {self.violated}" if self.violated else self.text


@attrs.frozen(kw_only=True, slots=False)  # made twice as fast without slots
class Prediction:
    """A solver's answer; every time is in seconds, and None where the method has none."""

    time: float | None = None  #: makespan, the mean where the method is stochastic
    parts: Parts | None = None
    lower: float | None = None  #: proven for the workload asked
    upper: float | None = None  #: proven for the workload asked
    std: float | None = None
    ci: tuple[float, float] | None = None
    quantiles: Mapping[float, float] = attrs.field(factory=dict, hash=False)
    status: Status = Status.OK
    message: str = ""  #: the reason, unless the status is OK
    binding: str | None = None  #: processor, network, storage or synchronization
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, Any] = attrs.field(factory=dict, hash=False)

    def _repr_html_(self) -> str:
        from parcast.html import definition

        fields = {
            field.name: getattr(self, field.name)
            for field in attrs.fields(Prediction)
            if getattr(self, field.name) not in (None, "", (), {})
        }
        if self.parts:
            fields["parts"] = attrs.asdict(self.parts)
        return definition("Prediction", self.status.value, self.message, fields)


def is_lower_bound(prediction: Any) -> bool:
    """Return whether the time of a prediction or a row is no estimate but a lower bound.

    It is one where the solver says so: ``lower`` is the time and ``upper`` is not, of the
    workload asked or (``details["bound"]``) of what it was lowered to.
    """
    if prediction.time is None:
        return False
    only_lower: bool = prediction.time == prediction.lower != prediction.upper
    return only_lower or prediction.details.get("bound") == "lower"
