"""The price map that comes with Soleira: what providers charged on the day it was made, never fetched at run time.

`gateway.catalog.build_price_map` makes it of litellm's data; the file says of which version and under which licence.
Its rows are written as those of prices.yaml are, and read when somebody asks for them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from policies.prices import TokenPrice

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = Path(__file__).with_name("price_map.json")

ENGINES = {"anthropic": "anthropic", "moonshot": "moonshot", "openai": "openai"}
"""The engines that are one provider's own, by its name in the map."""
HOSTS: dict[str, frozenset[str]] = {
    "amazonaws.com": frozenset({"bedrock"}),
    "api.anthropic.com": frozenset({"anthropic"}),
    "api.cerebras.ai": frozenset({"cerebras"}),
    "api.cohere.ai": frozenset({"cohere"}),
    "api.cohere.com": frozenset({"cohere"}),
    "api.deepinfra.com": frozenset({"deepinfra"}),
    "api.deepseek.com": frozenset({"deepseek"}),
    "api.fireworks.ai": frozenset({"fireworks_ai"}),
    "api.groq.com": frozenset({"groq"}),
    "api.jina.ai": frozenset({"jina_ai"}),
    "api.minimax.io": frozenset({"minimax"}),
    "api.mistral.ai": frozenset({"mistral"}),
    "api.moonshot.ai": frozenset({"moonshot"}),
    "api.novita.ai": frozenset({"novita"}),
    "api.openai.com": frozenset({"openai"}),
    "api.perplexity.ai": frozenset({"perplexity"}),
    "api.sambanova.ai": frozenset({"sambanova"}),
    "api.together.ai": frozenset({"together_ai"}),
    "api.together.xyz": frozenset({"together_ai"}),
    "api.voyageai.com": frozenset({"voyage"}),
    "api.x.ai": frozenset({"xai"}),
    "api.z.ai": frozenset({"zai"}),
    "azure.com": frozenset({"azure", "azure_ai"}),
    "dashscope-intl.aliyuncs.com": frozenset({"dashscope"}),
    "googleapis.com": frozenset({"gemini", "vertex_ai"}),
}
"""Whose prices hold at an address: a model's name alone says nothing of who sells it."""
PROVIDERS = frozenset[str]().union(*HOSTS.values())


@dataclass(frozen=True, slots=True)
class MapRow:
    """One model of the map."""

    key: str
    """`provider/model`."""
    price: TokenPrice
    retires_on: date | None = None


@dataclass(frozen=True, slots=True)
class PriceMap:
    """The map, its rows not yet read."""

    source: str
    as_of: date
    rows: Mapping[str, Mapping[str, Any]]

    def row(self, key: str) -> MapRow | None:
        found = self.rows.get(key)
        if found is None:
            return None
        written = {name: value for name, value in found.items() if name != "retires_on"}
        price = TokenPrice.model_validate(
            {"currency": "USD", **written, "source": self.source, "as_of": self.as_of.isoformat()}
        )
        return MapRow(key, price, date.fromisoformat(found["retires_on"]) if "retires_on" in found else None)

    def called_at(self, base_url: str, engine: str, model: str) -> MapRow | None:
        """The price of a model where it is sold by its own provider."""
        provider, _, name = model.partition("/")
        for selling in _sellers(base_url):
            if engine != "litellm":
                row = self.row(f"{selling}/{model}")
            else:
                row = self.row(f"{selling}/{name}") if provider == selling else None
            if row is not None:
                return row
        return None

    def listed(self, engine: str, model: str) -> MapRow | None:
        """The price of a model at an engine that is one provider's own; of litellm's by the name it gives the model."""
        return self.row(model if engine == "litellm" else f"{ENGINES.get(engine, engine)}/{model}")


def bundled() -> PriceMap:
    """The map as it lies beside this module: some megabytes, which nobody should keep."""
    written = json.loads(FILE.read_bytes())
    return PriceMap(written["source"], date.fromisoformat(written["as_of"]), written["prices"])


def _sellers(base_url: str) -> tuple[str, ...]:
    host = (urlsplit(base_url).hostname or "").lower()
    return tuple(
        provider
        for known, providers in HOSTS.items()
        if host == known or host.endswith(f".{known}")
        for provider in sorted(providers)
    )
