"""``parcast warm``: all kernels compiled, so that no question waits for it."""

from __future__ import annotations

import typer

from parcast.api import Registry
from parcast.cli.output import print_table, show_progress
from parcast.quantities.units import format_seconds


def warm(context: typer.Context) -> int:
    """Compile the kernels of all plugins, two side by side, so that no question waits for it.

    They are kept in your cache, for each version of a plugin. Where they are there already it takes
    a few seconds. Without them small questions are answered by plain Python, with the same numbers.
    """
    from parcast.plugins import warm

    registry: Registry = context.obj
    problems, rows = 0, []
    with show_progress() as tell:
        tell("compiling kernels", 0, len(registry.kernels))
        for name, outcome in warm(registry):
            said = outcome if isinstance(outcome, str) else format_seconds(outcome)
            problems += isinstance(outcome, str)
            rows.append([name, registry.kernels[name].summary, said])
            tell("compiling kernels", len(rows), len(registry.kernels))
    print_table(["kernels", "of", "ready after"], sorted(rows))
    return 1 if problems else 0
