"""Renders the page's templates; whatever is put into them is text, never markup."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gateway.dashboard import assets, figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.dashboard.texts import Texts

_TEMPLATES = Path(__file__).parent / "templates"


def html(template: str, texts: Texts, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """A page, or a part of one, in the language of the texts."""
    content = _environment().get_template(template).render({**_writing(texts), **values})
    return HTMLResponse(content, status)


def _writing(texts: Texts) -> dict[str, object]:
    """What every template can write with."""
    language = texts.language
    return {
        "t": texts,
        "asset": assets.url,
        "dollars": lambda nano: figures.dollars(nano, language),
        "count": lambda number: figures.count(number, language),
        "moment": lambda at: figures.moment(at, language),
    }


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
