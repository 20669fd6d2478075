"""Errors: each message says what is wrong, where, and how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ParcastError(Exception):
    """Any error whose message is meant for the user."""

    #: The cause is the host at this moment, not the question: another time there may be an answer.
    passing: bool = False

    #: Lines of a file that show the place; the command prints them before the message.
    excerpt: str = ""


class FileError(ParcastError):
    """A file or a mapping given in its place cannot be read as what it should be."""


class UnitError(ParcastError):
    """A quantity has no unit that fits."""


class FormulaError(ParcastError):
    """A formula is not arithmetic, or has no finite value."""


class PluginError(ParcastError):
    """A plugin cannot be used."""

    passing = True


class UnknownNameError(ParcastError):
    """No solver, machine, workload, parameter or option has this name."""


class UncertaintyError(ParcastError):
    """There are no samples to draw: their number is none, or no number is uncertain."""


class UnsupportedError(ParcastError):
    """A solver cannot take this query at all; the row becomes ``refused``."""


class HostError(UnsupportedError):
    """The host lacks something just now, such as a program or a folder; no study keeps the row."""

    passing = True


class InvalidPointError(ParcastError):
    """The query has no meaning at this p, d or parameter; the row becomes ``invalid``."""


class SolveError(ParcastError):
    """A solver took the query and failed."""


class PassingError(SolveError):
    """A solver failed for a cause that may be gone, such as a run that was killed."""

    passing = True


def is_passing(error: BaseException) -> bool:
    """Return whether an error, or one that it came from, is the fault of the host at this moment.

    That is an error that says so itself, one of files, imports or memory, and a broken executor.
    """
    from concurrent.futures import BrokenExecutor

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError | ImportError | MemoryError | BrokenExecutor):
            return True
        if isinstance(seen, ParcastError) and seen.passing:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` with a leading space, or nothing."""
    lowered = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f" Did you mean {lowered[close[0]]!r}?" if close else ""


def shorten(text: object, length: int = 80) -> str:
    """Return as much of a wrong value as an error repeats."""
    try:
        printed = str(text)
    except ValueError:  # Python prints no integers of so many digits
        return "a number of too many digits"
    return printed if len(printed) <= length else f"{printed[:length]}…"
