from __future__ import annotations

from hypothesis import settings

settings.register_profile("spmd", deadline=None, max_examples=40)
settings.load_profile("spmd")
