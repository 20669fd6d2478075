"""The record that the package ships: every predictor's errors, as the last scoreboard found them.

``parcast score --record FILE`` writes it, with the digests of what was asked and answered, so that
who makes the scoreboard again can tell whether it is of the same predictions.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast.files import read_text
from parcast.model import ErrorRecord
from parcast_score.board import Score
from parcast_score.record import LEVEL, conformal, errors_of, like

#: A record of one's own in place of the shipped one.
VARIABLE = "PARCAST_RECORD"

_SCHEMA = 1

#: Digits of errors and distances.
_DIGITS = 4


def to_record(scores: Sequence[Score], date: str = "") -> dict[str, Any]:
    """Return the errors of scores at blind points, for JSON, as of a date; of today without."""
    predictors: dict[str, dict[str, Any]] = {}
    for score in scores:
        errors = errors_of([score])
        if errors:
            predictors.setdefault(score.predictor, {})[score.dataset.name] = {
                "question": score.question[:16],
                "predictions": score.predictions[:16],
                "simulated": score.dataset.simulated,
                "errors": [[_short(error.distance), _short(error.size)] for error in errors],
            }
    return {"schema": _SCHEMA, "date": date or _today(), "predictors": predictors}


def write_record(scores: Sequence[Score]) -> str:
    """Return the record as the text of a file, a dataset of a predictor on each line."""
    record = to_record(scores)
    lines = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(key)}: {json.dumps(of)}" for key, of in sets.items())
        + "\n  }"
        for name, sets in record["predictors"].items()
    ]
    body = ",\n".join(lines)
    head = f'{{\n "schema": {_SCHEMA},\n "date": {json.dumps(record["date"])},\n "predictors": {{\n'
    return f"{head}{body}\n }}\n}}\n"


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{_DIGITS}g}")


def _today() -> str:
    """Return the day; that of the environment's SOURCE_DATE_EPOCH where one is stated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return now.date().isoformat()


def usual_error(solver: str, distance: float | None) -> ErrorRecord | None:
    """Return how far a predictor usually was off at a like distance; None by too few errors.

    Errors at simulated points count where there are too few at measured ones, and are called so.

    Raises
    ------
    FileError
        If the environment names a file that is no record.
    """
    path = os.environ.get(VARIABLE) or None
    record = _record(path)
    of_solver: Mapping[str, Any] = record["predictors"].get(solver, {})
    for simulated in (False, True):
        errors = {
            dataset: [size for far, size in of["errors"] if like(far, distance)]
            for dataset, of in of_solver.items()
            if of["simulated"] is simulated
        }
        sizes = [size for several in errors.values() for size in several]
        width = conformal(sizes)
        if width is not None:
            return ErrorRecord(
                factor=math.exp(width),
                level=LEVEL,
                points=len(sizes),
                datasets=tuple(dataset for dataset, several in errors.items() if several),
                simulated=simulated,
                record=f"{path or 'scoreboard'} of {record['date']}",
            )
    return None


@lru_cache(maxsize=4)
def _record(path: str | None) -> Mapping[str, Any]:
    if path is None:
        text = (files("parcast_score") / "record.json").read_text(encoding="utf-8")
    else:
        text = read_text(Path(path))
    try:
        record = json.loads(text)
        every = [of for sets in record["predictors"].values() for of in sets.values()]
        well_formed = record["schema"] == _SCHEMA and all(
            isinstance(of["simulated"], bool)
            and all(size >= 0 and (far is None or far > 0) for far, size in of["errors"])
            for of in every
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        well_formed = False
    if not well_formed:
        raise FileError(
            f"{path}: is no record (schema {_SCHEMA}), which parcast score --record FILE writes; "
            f"mend or unset {VARIABLE}"
        )
    return record  # type: ignore[no-any-return]
