"""Analysis: advice on what to ask, and what explains an answer."""
