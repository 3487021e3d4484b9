"""A deployment: one callable model at one place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.catalog.prices import Price as Price

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policies.fields import Dialect
    from policies.zones import Zone


_NAME = re.compile(r"[\w.:/@+-]{1,120}\Z", re.ASCII)
"""A model's name as upstreams write them; anything else could be words of an answer."""
TRANSLATED = frozenset({"anthropic", "litellm"})
"""Engines some of whose endpoints need the litellm process."""
_VERSION = re.compile(r"[-@:](?:v?\d[\d.-]*|latest)\Z")
"""What may stand behind a model's name: `-2026-08-06`, `@20261001`, `:latest`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds a deployment may take; a thinking model may be silent long."""

    connect: float = 10.0
    first_byte: float = 600.0
    idle: float = 600.0
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """What of a request's parameters changes on its way to a deployment, as the pack says; its dialect adds to it."""

    strip: frozenset[str] = frozenset()
    rename: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    effort: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replies:
    """What holds where a reply names another model than the one that was asked."""

    accept: frozenset[str] = frozenset()
    price: Price | None = None
    """None: what the deployment costs."""


@dataclass(frozen=True, slots=True)
class Wake:
    """How a sleeping deployment is woken: a command or a URL, and the seconds that may take."""

    command: tuple[str, ...] | None
    url: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Queue:
    """How many requests a deployment answers at once (None: no limit), and how many may wait for how long."""

    slots: int | None = None
    waiting: int = 64
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """One callable model at one place; several may serve one model name."""

    name: str
    model: str
    engine: str
    base_url: str
    """`http(s)://host[:port]/path`, or `unix:/path/to.sock:/v1` for a child of this house."""
    upstream_model: str
    zone: Zone
    price: Price
    aliases: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    grade: int = 3
    context: int | None = None
    max_output: int | None = None
    capabilities: frozenset[str] | None = None
    """What it can do; None: nobody stated it, so nothing is held against it."""
    limits: Limits = Limits()
    dialect: Dialect | None = None
    parameters: Parameters = Parameters()
    keeps_reasoning: bool = True
    """Thoughts of earlier turns are sent to it."""
    check_tool_arguments: bool | None = None
    """None: as the dialect says."""
    cache_salt: bool = False
    replies: Replies = Replies()
    queue: Queue = Queue()
    wake: Wake | None = None
    listed: bool = True
    """Shown by /v1/models."""
    builtin: bool = False
    """Of this house, in no pack."""
    automatic: bool = True
    """May be chosen by `auto`; otherwise it answers only by name."""

    def serves(self, model: str) -> bool:
        return model == self.model or model in self.aliases

    def is_called(self, model: str) -> bool:
        """True if a reply that names this model is one by the model that was asked.

        Upstreams answer with the last part of a path (`moonshotai/Kimi-K3`), or with a version behind the name.
        """
        answered, asked = _plain(model), _plain(self.upstream_model)
        known = {asked, *map(_plain, self.replies.accept)}
        return answered in known or (bool(_VERSION.match(answered.removeprefix(asked))) and answered.startswith(asked))

    def offers(self, endpoint: str) -> bool:
        """True if it has the endpoint itself. A chat is what everybody offers who states nothing else.

        Anthropic's own API is messages, and the litellm process translates chats and embeddings alone.
        """
        if self.engine == "anthropic" and endpoint == "messages":
            return True
        if self.engine == "litellm" and endpoint not in ("chat", "embeddings"):
            return False
        return endpoint == "chat" if self.capabilities is None else endpoint in self.capabilities


def is_model_name(text: str) -> bool:
    """True if an upstream may be quoted with it as the name of a model; several words could be a person's."""
    return bool(_NAME.match(text))


def _plain(model: str) -> str:
    """The last part of a model's name, in lower case."""
    return model.rpartition("/")[2].casefold()
