"""Both databases for the exports' tests."""

from tests.db.stores import opened, store

__all__ = ["opened", "store"]
