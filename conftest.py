"""How all properties are tested, whatever else the host does."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Examples differ widely in cost, and the host may be busy
settings.register_profile("parcast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("parcast")
