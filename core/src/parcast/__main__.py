"""``python -m parcast`` is the ``parcast`` command."""

from parcast.cli import run

run()
