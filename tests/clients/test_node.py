"""Clients that run on Node see the same through the gateway as at the provider itself."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from gateway.settings import ROOT
from tests.clients.conftest import opened
from tests.wire.provider import EMBEDDER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.clients.conftest import Place

pytestmark = pytest.mark.slow

SCRIPTS = ROOT / "tests" / "clients" / "node"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts beside the packages that the lock names, fetched from npm's registry."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("node") / "clients"
    shutil.copytree(SCRIPTS, folder, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    fetched = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"npm could not fetch the clients: {fetched.stderr.strip()[-300:]}")
    return folder


@pytest.mark.parametrize("script", ["openai.mjs", "ai.mjs"])
async def test_the_gateway_changes_nothing_that_a_client_on_node_sees(
    scripts: Path, script: str, tmp_path: Path
) -> None:
    async with opened(tmp_path) as places:
        direct = await ran(scripts / script, places.direct)
        translated = await ran(scripts / script, places.translated)
        native = await ran(scripts / script, places.native)

    assert translated == direct
    assert native == direct


async def ran(script: Path, place: Place) -> Any:
    """What the script saw at that place."""
    asked = {
        "BASE_URL": str(place.openai.base_url).rstrip("/"),
        "API_KEY": place.openai.api_key,
        "MODEL": place.model,
        "EMBEDDER": EMBEDDER,
    }
    environment: Mapping[str, str] = {"PATH": os.environ["PATH"], **asked}
    node = await asyncio.create_subprocess_exec(
        "node", str(script), env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, failed = await asyncio.wait_for(node.communicate(), 60)
    assert node.returncode == 0, f"{script.name} at {place.model}: {failed.decode()[-3000:]}"
    return json.loads(said.splitlines()[-1])  # the clients may have warned before
