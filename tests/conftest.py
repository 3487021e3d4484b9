"""What holds for all tests: properties are judged by what they find, not by how fast a busy machine finds it."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.db.postgres", "tests.db.stores"]

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
