from __future__ import annotations

from hypothesis import settings

# Examples differ widely in cost, and the machine may be busy
settings.register_profile("pamela", deadline=None)
settings.load_profile("pamela")
