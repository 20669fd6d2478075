"""The command line: the ``parcast`` command, and what commands of plugins print and show by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.cli.app import build, main
    from parcast.cli.output import (
        check_output,
        output_option,
        print_json,
        print_table,
        print_text,
        show_progress,
    )
    from parcast.cli.progress import Progress
else:
    __getattr__ = lazily(__name__)


def run() -> None:
    """Run the command and exit, quietly where it is interrupted while its modules load."""
    try:
        from parcast.cli.app import run as run_command
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run_command()


__all__ = [
    "Progress",
    "build",
    "check_output",
    "main",
    "output_option",
    "print_json",
    "print_table",
    "print_text",
    "run",
    "show_progress",
]
