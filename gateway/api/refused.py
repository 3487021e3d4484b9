"""Endpoints of OpenAI's and Anthropic's that Soleira does not have, refused by name."""

from __future__ import annotations

from fastapi import APIRouter, Request

from gateway.errors import EndpointNotOffered

router = APIRouter(include_in_schema=False)

_MAKES = "Soleira routes text: it makes no {what}. Call {name!r} at its provider directly"
_KEEPS = "Soleira keeps no {what} of clients': {name!r} is not offered"
_REFUSED = {
    "images": _MAKES.format(what="pictures", name="images"),
    "videos": _MAKES.format(what="videos", name="videos"),
    "audio": _MAKES.format(what="sound and transcribes none", name="audio"),
    "realtime": _MAKES.format(what="live sound", name="realtime"),
    "files": _KEEPS.format(what="files", name="files") + ": documents are taken in with 'soleira ingest'",
    "uploads": _KEEPS.format(what="files", name="uploads") + ": documents are taken in with 'soleira ingest'",
    "vector_stores": _KEEPS.format(what="vector stores", name="vector_stores") + ": ask 'auto@COLLECTION'",
    "batches": _KEEPS.format(what="batches", name="batches") + ": send the requests one by one",
    "fine_tuning": _KEEPS.format(what="trained models", name="fine_tuning"),
    "assistants": _KEEPS.format(what="assistants", name="assistants") + ": use /v1/responses",
    "threads": _KEEPS.format(what="threads", name="threads") + ": use /v1/responses",
    "conversations": _KEEPS.format(what="conversations", name="conversations") + ": send the whole conversation",
    "responses": "Soleira stores no responses (`store` is answered with false): send the whole conversation each time",
    "moderations": "Soleira has no moderation model: 'moderations' is not offered",
}


async def _refuse(request: Request) -> None:
    family = request.url.path.split("/")[2]
    raise EndpointNotOffered(_REFUSED[family])


async def _refuse_stored_chats() -> None:
    raise EndpointNotOffered("Soleira stores no chats: there is none to list, fetch, change or delete")


async def _refuse_batches() -> None:
    raise EndpointNotOffered(_REFUSED["batches"])


_METHODS = ["GET", "POST", "DELETE"]
router.add_api_route("/v1/messages/batches", _refuse_batches, methods=_METHODS)
router.add_api_route("/v1/messages/batches/{rest:path}", _refuse_batches, methods=_METHODS)
router.add_api_route("/v1/chat/completions/{rest:path}", _refuse_stored_chats, methods=_METHODS)
for _family in _REFUSED:
    if _family != "responses":  # answered, but not kept
        router.add_api_route(f"/v1/{_family}", _refuse, methods=_METHODS)
    router.add_api_route(f"/v1/{_family}/{{rest:path}}", _refuse, methods=_METHODS)
