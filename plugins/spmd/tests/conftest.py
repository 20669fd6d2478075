from __future__ import annotations

from hypothesis import settings

# Examples differ widely in cost, and the machine may be busy
settings.register_profile("spmd", deadline=None, max_examples=40)
settings.load_profile("spmd")
