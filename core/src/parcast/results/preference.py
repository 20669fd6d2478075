"""Whose times to rank and compare machines by, where several solvers answer.

Times of different solvers are not ranked among each other: the shortest would be that of the most
hopeful method, and not of the best machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parcast.results.row import Row


def preferred_solver(rows_by_solver: Mapping[str, Sequence[Row]]) -> str:
    """Return the solver with the most rows, and of these the first with the fewest caveats.

    Parameters
    ----------
    rows_by_solver
        The estimates of each solver, at least one solver.
    """
    return max(
        rows_by_solver,
        key=lambda solver: (len(rows_by_solver[solver]), -_caveats(rows_by_solver[solver])),
    )


def _caveats(rows: Sequence[Row]) -> int:
    """Return how many notes there are on what times are made of, each once."""
    return len({note for row in rows for note in row.notes if not _aside(note)})


def _aside(note: str) -> bool:
    """Return whether a note is of the bottleneck or the speedup, and not of the time."""
    return note.startswith(("bottleneck:", "no speedup:"))
