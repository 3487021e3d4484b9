"""Makes the price map of the litellm that is installed: `python -m gateway.catalog.build_price_map`.

Litellm's own words stay behind: what is kept are prices of tokens and searches, at providers that can be told from the
address of a deployment (`policies.price_map.HOSTS`), without what costs nothing there: a free tier is no price list.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from datetime import date
from decimal import Decimal
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policies.price_map import FILE, PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import Distribution

_DATA = "litellm/model_prices_and_context_window_backup.json"
_DIGITS = 9
"""Significant digits of a price; what lies beyond them in the data is the noise of floats."""
_MODES = frozenset({"chat", "completion", "responses", "embedding", "rerank"})
_ANSWERLESS = frozenset({"embedding", "rerank"})
_PROVIDERS = {"bedrock_converse": "bedrock", "cohere_chat": "cohere", "fireworks_ai-embedding-models": "fireworks_ai"}
_LANES = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cached",
    "output_cost_per_reasoning_token": "reasoning",
    "cache_creation_input_token_cost": "cache_write_5m",
    "cache_creation_input_token_cost_above_1hr": "cache_write_1h",
    "input_cost_per_image_token": "image_input",
    "output_cost_per_image_token": "image_output",
    "input_cost_per_audio_token": "audio_input",
    "output_cost_per_audio_token": "audio_output",
}
_ORDER = ("input", "cached", *(lane for lane in _LANES.values() if lane not in ("input", "cached", "output")), "output")
_MAIN = frozenset({"input", "output"})
_SERVICES = {"batches": "batch", "flex": "flex", "priority": "priority", "ultrafast": "ultrafast"}
_KEY = re.compile(
    rf"({'|'.join(sorted(_LANES, key=len, reverse=True))})(?:_above_(\d+)k_tokens)?(?:_({'|'.join(_SERVICES)}))?\Z"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

Amounts = dict[str, Decimal]


def main() -> None:
    """Write the map beside the module that reads it."""
    written = text()
    FILE.write_text(written, encoding="utf-8")
    sys.stdout.write(f"{FILE}: {len(json.loads(written)['prices'])} prices, {len(written) // 1024} KiB\n")


def text() -> str:
    """The map of the litellm that is installed, one model a line."""
    litellm = distribution("litellm")
    data = json.loads(Path(str(litellm.locate_file(_DATA))).read_bytes(), parse_float=Decimal)
    lines = [f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(rows(data).items())]
    head = {
        "source": f"litellm {litellm.version}",
        "as_of": _built_on(litellm).isoformat(),
        "licence": f"{_DATA} of litellm {litellm.version}. {_licence(litellm)}",
    }
    written = "".join(f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in head.items())
    return "{\n" + written + ' "prices": {\n' + ",\n".join(lines) + "\n }\n}\n"


def rows(data: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rows of litellm's data that can be used, by `provider/model`, as prices.yaml would write them."""
    found = ((_key(name, entry), _row(entry)) for name, entry in data.items() if _is_sold_by_the_token(entry))
    return {key: row for key, row in found if row is not None}


def _is_sold_by_the_token(entry: Mapping[str, Any]) -> bool:
    return entry.get("mode") in _MODES and _provider(entry) in PROVIDERS


def _provider(entry: Mapping[str, Any]) -> str:
    name = str(entry.get("litellm_provider"))
    return "vertex_ai" if name.startswith("vertex_ai") else _PROVIDERS.get(name, name)


def _key(name: str, entry: Mapping[str, Any]) -> str:
    provider = _provider(entry)
    return name if name.startswith(f"{provider}/") else f"{provider}/{name}"


def _row(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """One model; None if it costs nothing there, or something else than tokens and searches."""
    amounts = _amounts(entry)
    usual = _whole(amounts.pop((None, 0), {}))
    searches = _searches(entry)
    needed = (usual["input"] or searches,) if entry["mode"] in _ANSWERLESS else (usual["input"], usual["output"])
    if not all(needed):
        return None
    row: dict[str, Any] = {"per_million": _written(usual)}
    if searches:
        row["per_thousand_searches"] = _plain(searches)
    if tiers := [*_tiers(amounts, None), *_ranges(entry)]:
        row["tiers"] = tiers
    if services := _services(amounts):
        row["service_tiers"] = services
    if hours := _off_peak(entry.get("off_peak_pricing")):
        row["hours"] = hours
    if "deprecation_date" in entry:
        row["retires_on"] = date.fromisoformat(entry["deprecation_date"]).isoformat()
    return row


def _searches(entry: Mapping[str, Any]) -> Decimal:
    """The price of a thousand search units of a reranker."""
    return _millionfold(entry.get("input_cost_per_query", 0)) / 1000 if entry["mode"] == "rerank" else Decimal(0)


def _amounts(entry: Mapping[str, Any]) -> dict[tuple[str | None, int], Amounts]:
    """Prices of a million by service tier and threshold (0: from the first token), then by lane."""
    entry = {**next(iter(entry.get("tiered_pricing", ())), {}), **entry}
    found: dict[tuple[str | None, int], Amounts] = defaultdict(dict)
    if "input_cost_per_token_cache_hit" in entry:
        found[None, 0]["cached"] = _millionfold(entry["input_cost_per_token_cache_hit"])
    for name, value in entry.items():
        if (match := _KEY.match(name)) and value is not None:
            lane, thousands, service = match.groups()
            found[service, int(thousands or 0) * 1000][_LANES[lane]] = _millionfold(value)
    return found


def _tiers(amounts: Mapping[tuple[str | None, int], Amounts], service: str | None) -> list[dict[str, Any]]:
    above = sorted(threshold for name, threshold in amounts if name == service and threshold)
    whole = ((threshold, _whole(amounts[service, threshold])) for threshold in above)
    return [{"above": threshold, "per_million": _written(rates)} for threshold, rates in whole if any(rates.values())]


def _ranges(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tiers that are written as ranges of the prompt's size, the first of which is the usual price."""
    ranges = list(entry.get("tiered_pricing", ()))[1:]
    return [
        {"above": int(part["range"][0]), "per_million": _written(_whole(_amounts(part)[None, 0]))} for part in ranges
    ]


def _services(amounts: Mapping[tuple[str | None, int], Amounts]) -> dict[str, Any]:
    """The service tiers that are whole; of the others nobody knows enough."""
    found: dict[str, Any] = {}
    for service, name in _SERVICES.items():
        rates = amounts.get((service, 0), {})
        if "input" in rates and "output" in rates:
            tiers = _tiers(amounts, service)
            found[name] = {"per_million": _written(rates), **({"tiers": tiers} if tiers else {})}
    return found


def _off_peak(entry: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if entry is None:
        return []
    rates = _written(_whole(_amounts(entry)[None, 0]))
    return [
        {"from": begin, "to": end, "weekdays": [_WEEKDAYS[day - 1] for day in window["weekdays"]], "per_million": rates}
        for window in entry["windows"]
        for begin, end in map(_begin_and_end, _several(window["hours_utc"]))
    ]


def _several(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _begin_and_end(hours: str) -> tuple[str, str]:
    begin, _, end = hours.partition("-")
    return begin, end


def _whole(rates: Amounts) -> Amounts:
    """With an input and an output: what embeds or reranks has no output, and says so by leaving it out."""
    return {"input": Decimal(0), "output": Decimal(0), **rates}


def _written(rates: Amounts) -> dict[str, str]:
    """In the order of lanes. A lane at 0 beside others that cost is one that nobody filled in."""
    return {lane: _plain(rates[lane]) for lane in _ORDER if lane in rates and (rates[lane] or lane in _MAIN)}


def _millionfold(value: Decimal | int) -> Decimal:
    """A price of one as that of a million, without the noise of floats."""
    exact = Decimal(value) * 1_000_000
    return exact and round(exact, _DIGITS - 1 - exact.adjusted())


def _plain(amount: Decimal) -> str:
    return format(amount.normalize(), "f")


def _built_on(litellm: Distribution) -> date:
    """The day on which this version was built, as its bill of materials says."""
    bills = [file for file in litellm.files or () if file.name.endswith(".cyclonedx.json")]
    return date.fromisoformat(json.loads(bills[0].read_text())["metadata"]["timestamp"][:10])


def _licence(litellm: Distribution) -> str:
    """What its authors ask to go with every copy."""
    file = next(file for file in litellm.files or () if file.name == "LICENSE")
    return " ".join(file.read_text().partition("---")[2].split())


if __name__ == "__main__":
    main()
