"""What `up` tells people once the house stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gateway.dashboard.shown import place
from gateway.dashboard.texts import Texts
from policies.decide import decide
from policies.labels import PRIVATE
from policies.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gateway.supervisor.address import Address
    from gateway.supervisor.probe import LocalEngine
    from policies.labels import Label
    from policies.load import Pack

SAMPLES = "samples"

_QUESTION = "Quando vence o aluguel?"
_TEXTS = Texts("en")


def addresses(address: Address) -> list[str]:
    """Where the house answers."""
    return ["", f"  Base URL   {address.url}/v1", f"  Dashboard  {address.url}/dashboard"]


def whereabouts(pack: Pack) -> list[str]:
    """What typed text and documents count as, and where each may go."""
    return [
        "",
        f"  What you type counts as {pack.default_label}: {_whither(pack, pack.default_label)}.",
        f"  A document without a label counts as {PRIVATE}: {_whither(pack, PRIVATE)}.",
        f"  {_connected(pack)}",
    ]


def connecting(pack: Pack, folder: Path, engines: Sequence[LocalEngine]) -> list[str]:
    """How to connect a capable model, naming the engines found on this machine; nothing once one is connected."""
    if pack.deployments:
        return []
    what = "it" if engines else "one (Ollama, llama-server, vLLM, a hosted service)"
    return [
        "",
        *(f"  {_found(engine)}" for engine in engines or ()),
        "  No capable model is connected: until then answers are quotes from your documents.",
        f"  To connect {what}, uncomment its entry in {folder / 'deployments.yaml'}",
        "  (taken up within seconds, no restart).",
    ]


def policy_change(version: str, *, refused: str | None) -> str:
    """What became of an edited pack."""
    if refused is not None:
        reasons = "\n".join(f"  {line}" for line in refused.splitlines())
        return f"Policy NOT taken up; {version} stays in force:\n{reasons}"
    return f"Policy taken up: version {version}."


def engines_left_out(names: Sequence[str]) -> str:
    """Whose GGUF files this machine cannot run."""
    return f"Not started: {_listed(names)}. This processor has no AVX2, which the engine for GGUF files needs."


def restart_wanted(name: str) -> str:
    """That a GGUF file is loaded at the start alone."""
    return f"{name}: its GGUF file is loaded when 'up' starts. Start it again; until then requests for it fail."


def first_question(address: Address, key: str) -> list[str]:
    """A command that answers at once, from the sample documents; with the key itself while it is new."""
    question = {"model": f"auto@{SAMPLES}", "messages": [{"role": "user", "content": _QUESTION}]}
    return [
        "",
        "  Ready. Ask the sample documents something:",
        "",
        f"  curl {address.url}/v1/chat/completions \\",
        f'    -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\',
        f"    -d '{json.dumps(question, ensure_ascii=False)}'",
        "",
    ]


def _whither(pack: Pack, label: Label) -> str:
    decision = decide(pack, Signals(label))
    if not decision.zones:
        return f"it may go nowhere ({decision.reason.rstrip('.')})"
    return f"it may go to {_places(decision.zones, pack)}"


def _connected(pack: Pack) -> str:
    used = {deployment.zone for deployment in pack.deployments}
    if used <= {pack.loopback_zone.name}:
        return "Nothing outside this machine is connected, so nothing leaves it."
    return f"Models are connected at {_places([zone for zone in pack.zones if zone in used], pack)}."


def _found(engine: LocalEngine) -> str:
    models = f" with {_listed(engine.models[:3])}" if engine.models else ""
    return f"{engine.name} answers on 127.0.0.1:{engine.port}{models}."


def _places(zones: Iterable[str], pack: Pack) -> str:
    return _listed(dict.fromkeys(place(zone, pack, _TEXTS) for zone in zones))


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
