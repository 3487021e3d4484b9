"""What a reader asks of the fit page: machines, model and form, all of it in the page's address."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, TypeVar, get_args
from urllib.parse import urlencode

from gateway.catalog.models import Use
from gateway.catalog.sheets import bytes_of
from gateway.errors import BadRequest
from gateway.owning.fits.asking import CONCURRENCY, CONTEXT, Question
from gateway.owning.fits.commands import CacheType, Engine
from gateway.owning.fits.places import Given
from policies.problems import closest

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

PATH = "/dashboard/fit"
HERE, OTHER = "here", "other"
"""This machine; one that the catalog does not know."""
ENGINES: tuple[Engine, ...] = get_args(Engine)
CACHES: tuple[CacheType, ...] = get_args(CacheType)
USES: tuple[Use, ...] = get_args(Use)
Size = Literal["gpu_memory", "gpu_bandwidth", "host_memory", "host_bandwidth", "disk", "disk_bandwidth"]
SIZES: tuple[Size, ...] = get_args(Size)
_OF_OPTION = {OTHER: "GPU"}
"""What the command calls it."""
_MOST = 10**9
Known = TypeVar("Known", bound=str)


@dataclass(frozen=True, slots=True)
class View:
    """The state of the page, as it was written; its address says all of it."""

    model: str = "kimi-k3"
    quant: str = "native"
    gpu: str = HERE
    count: str = ""
    context: str = str(CONTEXT)
    concurrency: str = str(CONCURRENCY)
    gpu_memory: str = ""
    gpu_bandwidth: str = ""
    host_memory: str = ""
    host_bandwidth: str = ""
    disk: str = ""
    disk_bandwidth: str = ""
    engine: str = ""
    cache: str = ""
    dcp: str = ""
    use: str = "internal"

    @property
    def is_own(self) -> bool:
        """True if figures of one's own are among it."""
        return any(getattr(self, name) for name in (*SIZES, "engine", "cache", "dcp")) or self.gpu == OTHER

    def href(self, **changes: str) -> str:
        """The address of this view, with some of it changed."""
        changed = replace(self, **changes)
        query = {
            each.name: getattr(changed, each.name)
            for each in fields(changed)
            if getattr(changed, each.name) != each.default
        }
        return f"{PATH}?{urlencode(query)}" if query else PATH

    def command(self) -> str:
        """The same question on the command line."""
        words = ["soleira", "fit"]
        for each in fields(self):
            value = getattr(self, each.name)
            if not value or (value == each.default and each.name not in ("model", "quant")):
                continue
            words += [f"--{each.name.replace('_', '-')}", _OF_OPTION.get(value, value) if each.name == "gpu" else value]
        return shlex.join(words)

    def question(self) -> Question:
        """What is asked; BadRequest for what cannot be read."""
        return Question(
            given=Given(
                gpu=None if self.gpu == HERE else _OF_OPTION.get(self.gpu, self.gpu),
                count=_whole("count", self.count) if self.count else None,
                gpu_bytes=_bytes("gpu_memory", self.gpu_memory),
                gpu_bytes_per_second=_bytes("gpu_bandwidth", self.gpu_bandwidth),
                host_bytes=_bytes("host_memory", self.host_memory),
                host_bytes_per_second=_bytes("host_bandwidth", self.host_bandwidth),
                disk_bytes=_bytes("disk", self.disk),
                disk_bytes_per_second=_bytes("disk_bandwidth", self.disk_bandwidth),
            ),
            model=self.model,
            quant=self.quant,
            context=_whole("context", self.context),
            concurrency=_whole("concurrency", self.concurrency),
            engine=_word("engine", self.engine, ENGINES) if self.engine else None,
            cache=_word("cache", self.cache, CACHES) if self.cache else None,
            context_ranks=_whole("dcp", self.dcp) if self.dcp else 1,
            use=_word("use", self.use, USES),
        )


def read(query: QueryParams) -> View:
    """The view that an address asks for; an empty field is one that was left out."""
    return View(**{each.name: query[each.name].strip() for each in fields(View) if query.get(each.name, "").strip()})


def with_quant(view: View, quant: str) -> View:
    """The same view of another form."""
    return replace(view, quant=quant)


def _whole(name: str, text: str) -> int:
    plain = text.replace(".", "").replace(",", "").replace(" ", "")
    if not plain.isdecimal() or not 0 < int(plain) <= _MOST:
        raise BadRequest(f"{name}={text!r} is no count: write a whole number from 1", param=name)
    return int(plain)


def _bytes(name: str, text: str) -> int | None:
    if not text:
        return None
    try:
        return bytes_of(text.removesuffix("/s").replace(",", "."))
    except ValueError as error:
        raise BadRequest(f"{name}={text!r} {error}", param=name) from None


def _word(name: str, text: str, known: tuple[Known, ...]) -> Known:
    for word in known:
        if word == text:
            return word
    meant = closest(text, known)
    hint = f"; did you mean {meant!r}?" if meant else ""
    raise BadRequest(f"{name}={text!r} is none of {', '.join(known)}{hint}", param=name)
