"""Studies: grids of questions, answered by many workers, kept, and taken up where they ended."""

from __future__ import annotations

from parcast.study.answering import study
from parcast.study.plan import Plan
from parcast.study.reading import Study, read_study

__all__ = ["Plan", "Study", "read_study", "study"]
