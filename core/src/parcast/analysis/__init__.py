"""Analysis: advice on what to ask, and what explains an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.analysis.advice import Advice, advise, disagreement
    from parcast.analysis.explanation import Explanation, explain
    from parcast.analysis.improvements import Improvement, Improvements, improvements
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "Advice",
    "Explanation",
    "Improvement",
    "Improvements",
    "advise",
    "disagreement",
    "explain",
    "improvements",
]
