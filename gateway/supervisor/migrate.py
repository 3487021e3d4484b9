"""Brings both databases to the newest schema: `python -m gateway.supervisor.migrate LEDGER_URL REGISTRY_URL`."""

from __future__ import annotations

import sys

from migrations import upgrade


def main(ledger_url: str, registry_url: str) -> None:
    """Run the revisions that are missing."""
    upgrade("ledger", ledger_url)
    upgrade("registry", registry_url)


if __name__ == "__main__":
    main(*sys.argv[1:])
