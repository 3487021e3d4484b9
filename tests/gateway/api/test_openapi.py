"""The OpenAPI document is true: a third-party checker that makes up requests from it finds nothing."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from tests.clients.conftest import deployments
from tests.gateway.house import ADMIN_KEY, house
from tests.wire.provider import KEY, provider

if TYPE_CHECKING:
    from pathlib import Path

CHECKER = (
    *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"),
    *("--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--continue-on-failure", "--no-color"),
    *("--generation-deterministic", "--request-timeout", "30"),
    # A schema cannot say all that is asked of a request: that a tool has a name, that a model exists.
    *("--exclude-checks", "positive_data_acceptance"),
    *("--header", f"Authorization: Bearer {ADMIN_KEY}"),
)


async def test_no_request_made_up_from_the_document_finds_a_fault(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    async with provider() as (url, _), house(tmp_path / "house", deployments(f"{url}/v1", tmp_path / "key")) as home:
        checker = await asyncio.create_subprocess_exec(
            *CHECKER, f"{home.url}/openapi.json", cwd=tmp_path, stdout=asyncio.subprocess.PIPE
        )
        report, _ = await checker.communicate()

    assert checker.returncode == 0, report.decode()[-6000:]
    assert b"Tested: 14" in report
