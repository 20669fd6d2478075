"""Prints the modules that a command enters: those of which a function runs, imports left out.

A reader who follows the command passes a file for each. From the root of the project::

    python tests/files_entered.py compare btio ibm-sp2
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from types import FrameType

from parcast.cli import main


def modules_entered(words: list[str]) -> list[str]:
    """Return the modules of parcast and its members that a command enters, in their order.

    Parameters
    ----------
    words
        The command line after ``parcast``.
    """
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event != "call" or module in entered or not module.startswith("parcast"):
            return
        written = frame.f_code.co_filename == frame.f_globals.get("__file__")  # not generated
        if written and frame.f_code.co_flags & inspect.CO_OPTIMIZED and not _importing(frame):
            entered[module] = None

    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main(words)
    finally:
        sys.setprofile(None)
    return list(entered)


def _importing(frame: FrameType) -> bool:
    """Return whether a function runs while a module is imported, other than this one."""
    outer = frame.f_back
    while outer is not None:
        if outer.f_code.co_name == "<module>" and outer.f_globals["__name__"] != "__main__":
            return True
        outer = outer.f_back
    return False


if __name__ == "__main__":
    sys.stdout.write("\n".join(modules_entered(sys.argv[1:])) + "\n")
