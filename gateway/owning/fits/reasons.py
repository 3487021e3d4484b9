"""Why the arithmetic says what it says, in sentences: its codes, with what they name written for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from gateway.economics.fit import Fit
    from gateway.owning.fits.sentences import Fact

_SIZES = frozenset({"there", "weights", "needed", "in_memory", "short", "free", "fullest", "each"})
ENGINES = {
    "vllm": "vLLM", "sglang": "SGLang", "llama_server": "llama.cpp", "tensorrt_llm": "TensorRT-LLM", "dynamo": "Dynamo",
}  # fmt: skip
"""As they are called."""


def why(fit: Fit, title: str) -> Sentence:
    """The reason of a verdict; `title` is what the machines are called."""
    facts: dict[str, Fact] = {(f"{name}_bytes" if name in _SIZES else name): fact for name, fact in fit.facts.items()}
    facts |= {"gpu": title, "machines": machines(fit, title), **number(fit, "have", "would_do")}
    if fit.failed_rule is not None:
        facts["rule"] = f"@rule.{fit.failed_rule}"
    if "engine" in facts:
        facts["engine"] = called(str(facts["engine"]))
    return Sentence(f"why.{_code(fit)}", facts, source(fit))


def machines(fit: Fit, title: str) -> Fact:
    """What the machines are called, counted where accelerators are."""
    count = fit.facts["count"]
    return Sentence("counted", {"count": count, "gpu": title}) if count else title


def number(fit: Fit, *codes: str) -> dict[str, Fact]:
    """Words that differ for one of them and for several."""
    return {code: f"@{code}" if int(fit.facts["count"]) > 1 else f"@{code}.one" for code in codes}


def traits(fit: Fit) -> Iterator[Sentence]:
    """What else the arithmetic has seen."""
    facts: dict[str, Fact] = {
        "padding_bytes": fit.bytes.padding, "workspace_bytes": fit.bytes.workspace,
        "copies": fit.copies, "ranks": fit.ranks, "idle": fit.idle, "more": fit.idle // fit.ranks,
    }  # fmt: skip
    for trait in fit.traits:
        if fit.bytes.workspace or not trait.startswith("workspace"):
            yield Sentence("trait.idle.one" if trait == "idle" and fit.idle == 1 else f"trait.{trait}", facts)


def source(fit: Fit) -> str:
    """Of the topology that the verdict rests on, with its day; a division that is asked for has none."""
    if fit.because == "tensor":
        return ""
    if fit.shape is None:
        return str(fit.facts.get("source", ""))
    return cited(fit.shape.source, fit.shape.as_of)


def cited(source: str, as_of: date | None) -> str:
    """A source with its day, unless its own words say of when it is."""
    if as_of is None or str(as_of.year) in source:
        return source
    return f"{source} ({as_of})"


def called(engine: str) -> str:
    """An engine as people call it."""
    return ENGINES.get(engine, engine)


def _code(fit: Fit) -> str:
    if fit.because == "too_small" and "gpus_needed" in fit.facts:
        return "too_small.minimum"
    if fit.because == "whole_layers" and "most" in fit.facts:
        return "whole_layers.most"
    if fit.because == "beyond_recipe" and not {"recipe_context", "recipe_concurrency"} <= fit.facts.keys():
        return "beyond_recipe.context" if "recipe_context" in fit.facts else "beyond_recipe.concurrency"
    return fit.because
