"""The capacity profiles that come with Soleira: what others have published, as the arithmetic reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.catalog.capacities import capacities
from gateway.economics.profiles import Point, Profile

if TYPE_CHECKING:
    from gateway.catalog.capacities import PublishedProfile


def profiles() -> dict[str, Profile]:
    """Every published profile, by its name."""
    return {name: _profile(each) for name, each in capacities().items()}


def _profile(published: PublishedProfile) -> Profile:
    return Profile(
        name=published.name,
        model=published.model,
        quant=published.quant,
        gpu=published.gpu,
        gpus=published.gpus,
        engine=published.engine,
        points=tuple(
            Point(
                concurrency=point.concurrency,
                prompt_tokens=point.prompt_tokens,
                output_tokens=point.output_tokens,
                ttft_ms=point.ttft_ms,
                tpot_ms=point.tpot_ms,
                prefill_tps=point.prefill_tps,
                decode_tps=point.decode_tps,
            )
            for point in published.points
        ),
        source=published.said.source,
        as_of=published.as_of,
        quality=published.quality,
        note=published.note,
    )
