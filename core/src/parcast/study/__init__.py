"""Studies: grids of questions, answered by many workers, kept, and taken up where they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.study.answering import study
    from parcast.study.digest import digest_of_installed
    from parcast.study.plan import Plan
    from parcast.study.reading import Study, read_study
else:
    __getattr__ = lazily(__name__)

__all__ = ["Plan", "Study", "digest_of_installed", "read_study", "study"]
