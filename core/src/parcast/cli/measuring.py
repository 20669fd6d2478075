"""Measured times on the command line: ``--tolerance`` and what it is held to."""

from __future__ import annotations

import math
import sys

from parcast.errors import ParcastError, UnitError
from parcast.quantities.formulas import to_base
from parcast.results.results import Results


def largest_error(text: str, measured: object) -> float:
    """Return the largest error that is accepted, as a fraction."""
    if measured is None:
        raise ParcastError(
            "--tolerance compares with measured times; give --measured FILE (in a study: measured)"
        )
    try:
        limit = to_base(text, "1")
    except UnitError as error:
        raise ParcastError(f"--tolerance: {error}; write a part such as 10% or 0.1") from None
    if limit < 0:
        raise ParcastError(f"--tolerance {text}: it must be 0 or more, such as 10%")
    return limit


def check_errors(results: Results, limit: float) -> int:
    """Say what of the measured times is not compared, and which errors are too large."""
    unused = results.provenance.get("measured", {}).get("unused", [])
    if unused:
        positions = ", ".join(unused[:3]) + (", ..." if len(unused) > 3 else "")
        belong = (
            "1 measured time belongs"
            if len(unused) == 1
            else f"{len(unused)} measured times belong"
        )
        print(f"parcast: {belong} to no row: {positions}", file=sys.stderr)
    if limit < math.inf and all(row.measured is None for row in results.rows):
        raise ParcastError("--tolerance: no measured time belongs to any row; predict its points")
    errors = [(row, row.error) for row in results.rows if row.error is not None]
    large = [(row, error) for row, error in errors if abs(error) > limit]
    for row, error in large[:5]:
        print(
            f"parcast: {row.solver} at p={row.p}, d={row.d} is {100 * error:+z.1f} % off the "
            f"measured time, more than {100 * limit:g} %",
            file=sys.stderr,
        )
    if len(large) > 5:
        print(f"parcast: and {len(large) - 5} more", file=sys.stderr)
    return 1 if large else 0
