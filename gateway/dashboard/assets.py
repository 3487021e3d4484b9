"""The files a page is made of: style, script, mark, and htmx and Chart.js out of the wheels that carry them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi.responses import FileResponse

from gateway.errors import NotFound

_STATIC = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def url(name: str) -> str:
    """Where a page finds the file; a changed file has another address, so that browsers may keep it."""
    digest = hashlib.sha256(_files()[name].read_bytes()).hexdigest()
    return f"/dashboard/static/{name}?v={digest[:12]}"


def response(name: str) -> FileResponse:
    """The file itself; NotFound for anything but the few there are."""
    path = _files().get(name)
    if path is None:
        raise NotFound(f"the page has no file {name!r}")
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return FileResponse(path, headers=headers, media_type=_KINDS[path.suffix])


@cache
def _files() -> dict[str, Path]:
    htmx = _carried("django_htmx", "static", "django_htmx", "htmx-2.min.js")
    chart = _carried("unfold", "static", "unfold", "js", "chart", "chart.js")
    return {**{path.name: path for path in _STATIC.iterdir()}, "htmx.js": htmx, "chart.js": chart}


def _carried(package: str, *file: str) -> Path:
    # Found, not imported: the packages around the files need Django.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            f"{package!r}, which carries the page's {file[-1]}, is not installed: run ./soleira again"
        )
    return Path(spec.submodule_search_locations[0], *file)
