"""A row: one solver's answer at one point, and its JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import attrs

from parcast.model.query import Parts, Prediction, Status

#: Raised when a key of the rows changes its meaning.
SCHEMA = 1


@attrs.frozen(kw_only=True, slots=False)  # made twice as fast without slots
class Row:
    """One solver's answer at one point; times in seconds, None where there is none."""

    workload: str
    machine: str
    solver: str
    p: int
    d: int
    mapping: str | tuple[int, ...] = "block"
    params: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    seed: int = 0
    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    std: float | None = None
    ci: tuple[float, float] | None = None
    quantiles: Mapping[str, float] = attrs.field(factory=dict, hash=False)
    speedup: float | None = None
    parts: Parts | None = None
    measured: float | None = None
    error: float | None = None
    status: Status = Status.OK
    message: str = ""
    notes: tuple[str, ...] = ()
    binding: str | None = None
    details: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    lowering: tuple[str, ...] = ()
    solve_seconds: float | None = None

    @property
    def prediction(self) -> Prediction:
        """What the solver said, without the point it was asked about."""
        fields = {
            field.name: getattr(self, field.name)
            for field in attrs.fields(Prediction)
            if hasattr(self, field.name)
        }
        return Prediction(
            **{**fields, "quantiles": {float(k): v for k, v in self.quantiles.items()}}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        row = {field.name: getattr(self, field.name) for field in attrs.fields(Row)}
        row["status"] = self.status.value
        row["parts"] = dict(vars(self.parts)) if self.parts else None
        return plain(row)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """Return what `to_dict` gives as one line of JSON, without making it."""
        import msgspec

        try:
            return msgspec.json.encode(self, enc_hook=plain).decode()
        except UnicodeEncodeError:  # a message may name a file whose name is not in UTF-8
            return json.dumps(self.to_dict(), allow_nan=False)


#: What JSON takes as it is; most values are one of these, or in a plain dict.
_AS_THEY_ARE = frozenset({type(None), str, int, bool})


def plain(value: Any) -> Any:
    """Return JSON values: lists for tuples, None for what is not finite, numbers unwrapped."""
    if type(value) in _AS_THEY_ARE:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is dict:
        return {
            str(key): item if type(item) in _AS_THEY_ARE else plain(item)
            for key, item in value.items()
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if isinstance(value, str | int) else str(value)
