"""What runs needs nothing but what requirements.lock installs; the developers' lock must not hide a gap."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

from gateway.settings import ROOT

_RUN = """
import asyncio, importlib, pathlib, sys

from importlib.machinery import PathFinder

class Locked(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in hidden else super().find_spec(name, path, target)

hidden = set(sys.argv[2].split(","))
sys.meta_path = [Locked if finder is PathFinder else finder for finder in sys.meta_path]
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root))
for package in ("gateway", "retrieval", "policies"):
    for path in sorted((root / package).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            importlib.import_module(name)

from sqlalchemy import text
from gateway.db.engine import open_engine

async def query():
    engine = open_engine("sqlite+aiosqlite://")
    async with engine.connect() as connection:
        print((await connection.execute(text("SELECT 42"))).scalar())
    await engine.dispose()

asyncio.run(query())
"""


def names(lock: str) -> set[str]:
    """The distributions that a lock installs."""
    return set(re.findall(r"^([a-z0-9][a-z0-9.-]*)(?:\[[a-z,]+\])?==", (ROOT / lock).read_text(), re.MULTILINE))


def test_the_house_runs_on_what_requirements_lock_installs() -> None:
    # torch, pip and what a venv brings are in no lock; only what the developers' lock adds is hidden.
    added = names("requirements-dev.lock") - names("requirements.lock")
    owners = {
        module: {re.sub(r"[-_.]+", "-", owner).lower() for owner in found}
        for module, found in packages_distributions().items()
    }
    hidden = sorted(module for module, found in owners.items() if found <= added)

    ran = subprocess.run(
        [sys.executable, "-c", _RUN, str(ROOT), ",".join(hidden)], capture_output=True, text=True, check=False
    )

    assert {"pytest", "hypothesis", "anthropic", "playwright"} <= set(hidden)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.strip() == "42"
