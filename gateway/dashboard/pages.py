"""The page at /dashboard: its routes, and how an application gets them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from gateway.dashboard import asking, assets
from gateway.dashboard.costs.pages import router as costs
from gateway.dashboard.fit.pages import router as fit
from gateway.dashboard.language import CurrentTexts
from gateway.dashboard.owning.pages import router as owning
from gateway.dashboard.render import html
from gateway.dashboard.route import PageRoute
from gateway.dashboard.session import (
    COOKIE,
    LIFETIME_SECONDS,
    AnySession,
    CurrentDoor,
    CurrentRuntime,
    Door,
    OwnForm,
    Session,
    Sessions,
    SignedIn,
)
from gateway.dashboard.shown import place, shown
from gateway.dashboard.texts import Texts
from gateway.dashboard.throttle import SECONDS, Throttle
from gateway.db import attempts, decisions
from gateway.db.keys import digest_of
from gateway.errors import GatewayError, NotFound, Unauthenticated
from gateway.ledger import spend
from gateway.ledger.usage import Span
from policies.decide import decide
from policies.signals import Signals
from retrieval.client import RetrievalError, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI

    from gateway.runtime import Runtime
    from retrieval.client import CollectionInfo

_MAX_FORM_BYTES = 256 * 1024
_FAILED_SECONDS = 0.5
_DECISIONS = 20

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False, max_body_size=_MAX_FORM_BYTES)


def add_to(app: FastAPI, runtime: Runtime) -> None:
    """Serve the page from an application that holds the runtime."""
    app.state.dashboard = Door(Sessions.of(runtime.settings), Throttle())
    app.include_router(router)
    app.include_router(costs)
    app.include_router(owning)
    app.include_router(fit)


@router.get("")
async def show(runtime: CurrentRuntime, door: CurrentDoor, session: SignedIn, t: CurrentTexts) -> HTMLResponse:
    """The whole page."""
    loaded = runtime.packs.current
    pack = loaded.pack
    typed = decide(pack, Signals(pack.default_label))
    values = {
        "token": door.sessions.token(session),
        "reader": False,
        "collections": await _collections(runtime),
        "models": [name for name in loaded.catalog.models() if name != "auto"],
        "default_label": pack.default_label,
        "places": ", ".join(dict.fromkeys(place(name, pack, t) for name in typed.zones)),
        "policy": pack.version,
        "pack_error": runtime.packs.last_error,
    }
    return html("page.html", t, values | await _ledger(runtime, t))


@router.get("/ledger")
async def show_ledger(runtime: CurrentRuntime, _session: SignedIn, t: CurrentTexts) -> HTMLResponse:
    """The part that changes with every request: the last decisions and the sums."""
    return html("ledger.html", t, await _ledger(runtime, t))


@router.get("/collections")
async def show_collections(runtime: CurrentRuntime, _session: SignedIn, t: CurrentTexts) -> HTMLResponse:
    """The choice of documents; it asks again by itself until the search is ready."""
    return html("collections.html", t, {"collections": await _collections(runtime)})


@router.get("/decisions/{decision_id}")
async def show_decision(decision_id: str, runtime: CurrentRuntime, _session: SignedIn, t: CurrentTexts) -> HTMLResponse:
    """Where one request went, and why."""
    record = await decisions.find(runtime.engine, decision_id)
    if record is None:
        raise NotFound("there is no such decision")
    tried = await attempts.of_decision(runtime.engine, decision_id)
    return html("badge.html", t, {"shown": shown(record, tried, runtime.packs.current.pack, t)})


@router.post("/ask")
async def ask(
    runtime: CurrentRuntime,
    _session: SignedIn,
    _form: OwnForm,
    t: CurrentTexts,
    question: Annotated[str, Form()] = "",
    model: Annotated[str, Form()] = "auto",
    collection: Annotated[str, Form()] = "",
) -> Response:
    """Answer a question as a stream of server-sent events."""
    call = asking.call(runtime, question, model, collection)
    return asking.Streamed(runtime, call, partial(_refusal, t))


@router.get("/login")
async def show_sign_in(request: Request, door: CurrentDoor, session: AnySession, t: CurrentTexts) -> Response:
    """The sign-in form, bound to a session of its own."""
    if session is not None and session.signed_in:
        return RedirectResponse("/dashboard", 303)
    return _sign_in_page(request, door, session or door.sessions.start(signed_in=False), t)


@router.post("/login")
async def sign_in(
    request: Request,
    runtime: CurrentRuntime,
    door: CurrentDoor,
    session: OwnForm,
    t: CurrentTexts,
    key: Annotated[str, Form()] = "",
) -> Response:
    """Sign in with the admin key, or with one that reads figures."""
    host = request.client.host if request.client else ""
    if not door.throttle.admits(host):
        return _sign_in_page(request, door, session, t, "too many tries", 429)
    started = await _started(runtime, door, key.strip())
    if started is None:
        await asyncio.sleep(_FAILED_SECONDS)
        return _sign_in_page(request, door, session, t, "wrong key", 401)
    door.throttle.forgive(host)
    response = RedirectResponse("/dashboard/costs" if started.reader else "/dashboard", 303)
    _set_session(request, response, door, started)
    return response


@router.post("/logout")
async def sign_out(door: CurrentDoor, session: OwnForm) -> Response:
    """End the session, copies of its cookie included."""
    door.sessions.end(session)
    response = RedirectResponse("/dashboard/login", 303)
    response.delete_cookie(COOKIE, path="/dashboard", httponly=True, samesite="strict")
    return response


@router.get("/static/{name}")
async def send_file(name: str) -> Response:
    """A file of the page."""
    return assets.response(name)


async def _started(runtime: Runtime, door: Door, key: str) -> Session | None:
    """The session that a key opens; None if it opens no page."""
    try:
        principal = await runtime.principals.verify(key)
    except Unauthenticated:
        return None
    if principal.is_admin:
        return door.sessions.start(signed_in=True)
    return door.sessions.start(signed_in=True, reader=digest_of(key)) if principal.role == "reader" else None


def _sign_in_page(
    request: Request, door: Door, session: Session, t: Texts, problem: str | None = None, status: int = 200
) -> HTMLResponse:
    token = door.sessions.token(session)
    response = html("login.html", t, {"token": token, "problem": problem}, status)
    if status == 429:
        response.headers["retry-after"] = str(SECONDS)
    _set_session(request, response, door, session)
    return response


def _set_session(request: Request, response: Response, door: Door, session: Session) -> None:
    response.set_cookie(
        COOKIE,
        door.sessions.cookie(session),
        max_age=LIFETIME_SECONDS,
        path="/dashboard",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def _refusal(t: Texts, error: GatewayError) -> HTMLResponse:
    return html("refusal.html", t, {"error": error}, error.status)


async def _ledger(runtime: Runtime, t: Texts) -> dict[str, object]:
    """What is shown of the ledger."""
    records = await decisions.recent(runtime.engine, _DECISIONS)
    pack = runtime.packs.current.pack
    tried = await attempts.of_decisions(runtime.engine, [record.id for record in records])
    return {
        "decisions": [shown(record, tried.get(record.id, ()), pack, t) for record in records],
        "spend": await spend.spend(runtime.engine, Span.open(zone=pack.budgets.zone)),
        "place": lambda zone: place(zone, pack, t),
    }


async def _collections(runtime: Runtime) -> Sequence[CollectionInfo] | None:
    """The collections, or None while the search is not ready."""
    try:
        return await runtime.retrieval.collections(Scope.owner())
    except RetrievalError:
        return None
