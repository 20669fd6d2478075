"""Analysis: advice on what to ask, and what explains an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.analysis.advice import Advice, advise, disagreement
    from parcast.analysis.explanation import Explanation, explain
else:
    __getattr__ = lazily(__name__)

__all__ = ["Advice", "Explanation", "advise", "disagreement", "explain"]
