"""Which language a reader wants."""

from __future__ import annotations

from typing import Annotated, TypeGuard

from fastapi import Depends, Request

from gateway.dashboard.texts import LANGUAGES, Language, Texts

COOKIE = "soleira_language"


def texts_for(request: Request) -> Texts:
    """The texts in the language that the reader chose, else in the one that the browser prefers."""
    for wish in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if is_language(wish):
            return Texts(wish)
    return Texts(preferred(request.headers.get("accept-language", "")))


CurrentTexts = Annotated[Texts, Depends(texts_for)]


def is_language(text: str | None) -> TypeGuard[Language]:
    return text in LANGUAGES


def preferred(header: str) -> Language:
    """The best known language of an `Accept-Language` header; English if it names none."""
    wishes = [_wish(part) for part in header.split(",")]
    for _, tag in sorted(wishes, key=lambda wish: -wish[0]):
        primary = tag.partition("-")[0]
        if is_language(primary):
            return primary
    return "en"


def _wish(part: str) -> tuple[float, str]:
    tag, _, quality = part.strip().lower().partition(";q=")
    try:
        return float(quality or 1), tag
    except ValueError:
        return 0.0, tag
