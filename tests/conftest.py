"""Command lines run in this process, as the command runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from parcast.cli import main


class Finished(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def parcast(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Finished]:
    """Return what runs ``parcast`` with the words given, and tells its output."""
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: str) -> Finished:
        capsys.readouterr()
        return Finished(main(list(words)), *capsys.readouterr())

    return run
