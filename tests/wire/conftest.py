"""What the fault wall shares: one house for a whole module, since each of its cases is a request or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.wire.endpoints import ENDPOINTS
from tests.wire.wall import Wall, wall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.wire.endpoints import Endpoint


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wall]:
    """A house with a deployment for each way to be served."""
    async with wall(tmp_path_factory.mktemp("wall")) as opened:
        yield opened


@pytest.fixture(params=ENDPOINTS, ids=lambda endpoint: endpoint.name)
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    """Every fault is every endpoint's."""
    found: Endpoint = request.param
    return found


@pytest.fixture(params=[False, True], ids=["json", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    """Every behaviour must hold for both."""
    return bool(request.param)
