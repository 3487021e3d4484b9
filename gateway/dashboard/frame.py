"""What the pages of figures are given beside their own: whose session it is, and what the address keeps."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request

from gateway.dashboard.session import CurrentDoor, ReadsFigures


async def _frame(request: Request, door: CurrentDoor, session: ReadsFigures) -> dict[str, Any]:
    """For whoever may read figures; `kept_query` is all of the address but its language."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "lang"]
    return {
        "token": door.sessions.token(session),
        "reader": bool(session.reader),
        "kept_query": f"{urlencode(kept)}&" if kept else "",
    }


CurrentFrame = Annotated[dict[str, Any], Depends(_frame)]
