"""What holds for every route of the page: posts come from the page itself, answers bind the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from gateway.dashboard import language
from gateway.dashboard.render import html
from gateway.dashboard.session import FiguresAlone, SignedOut
from gateway.errors import Forbidden, GatewayError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: under it browsers send `Origin: null` with the page's own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_YEAR_SECONDS = 365 * 86400


class PageRoute(APIRoute):
    """A route of the page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_page(request: Request) -> Response:
            try:
                _refuse_other_sites(request)
                response = await handle(request)
            except SignedOut:
                response = _led_to(request, "/dashboard/login")
            except FiguresAlone:
                response = _led_to(request, "/dashboard/costs")
            except GatewayError as error:
                response = html("error.html", language.texts_for(request), {"error": error}, error.status)
            _finish(request, response)
            return response

        return handle_page


def _refuse_other_sites(request: Request) -> None:
    """Forbidden for a post that another site's page made; browsers say so in headers which pages cannot set."""
    if request.method in {"GET", "HEAD"}:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    same_site = site in {None, "same-origin", "none"}
    same_origin = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not (same_site and same_origin) or (site is None and origin is None):
        raise Forbidden("this form was sent from another site: open the page here and send it again")


def _led_to(request: Request, place: str) -> Response:
    """Lead a visitor to another page; what a script asked for is told so, for it cannot show another page."""
    if request.method == "GET" and "hx-request" not in request.headers:
        return RedirectResponse(place, 303)
    return Response(status_code=401, headers={"hx-redirect": place})


def _finish(request: Request, response: Response) -> None:
    response.headers.update(_HEADERS)
    response.headers.setdefault("cache-control", "no-store")
    wish = request.query_params.get("lang")
    if language.is_language(wish):
        response.set_cookie(
            language.COOKIE, wish, max_age=_YEAR_SECONDS, path="/dashboard", samesite="lax", httponly=True
        )
