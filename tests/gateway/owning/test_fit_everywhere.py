"""Every form of every model on every known machine, in many numbers: what never contradicts itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from gateway.catalog.hardware import gpus
from gateway.catalog.models import models
from gateway.owning.fits import fit as fits
from gateway.owning.fits.asking import Question, asking
from gateway.owning.fits.places import Given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.economics.fit import Fit
    from gateway.owning.fits.asking import Asking

TODAY = date(2026, 12, 1)
COUNTS = (1, 3, 6, 7, 8, 9, 12, 16, 17, 32, 64)
ORDER = ("no", "disk_stream", "quant_hybrid", "quant_gpu", "native_unverified", "native_verified")
CARDS = [name for name, gpu in gpus().items() if gpu.is_known and gpu.kind in ("gpu", "unified")]


@cache
def swept(gpu: str) -> tuple[list[tuple[Asking, Fit]], ...]:
    """Each form of each model on rising numbers of one accelerator."""
    return tuple(_swept(gpu))


def _swept(gpu: str) -> Iterator[list[tuple[Asking, Fit]]]:
    for model in models().values():
        for form in model.quants:
            question = Question(model=model.name, quant=form.name, context=min(32_768, model.max_context))
            asked = [asking(replace(question, given=Given(gpu=gpu, count=count)), TODAY, None) for count in COUNTS]
            yield [(each, each.fitted()) for each in asked]


@pytest.mark.parametrize("gpu", CARDS)
def test_more_of_them_never_hold_less(gpu: str) -> None:
    for answers in swept(gpu):
        for (_, fewer), (_, more) in pairwise(answers):
            assert ORDER.index(more.verdict) >= ORDER.index(fewer.verdict), (fewer.facts, more.facts)
            if more.verdict == fewer.verdict:
                assert more.max_concurrency >= fewer.max_concurrency, (fewer.facts, more.facts)
                assert more.max_context >= fewer.max_context, (fewer.facts, more.facts)


@pytest.mark.parametrize("gpu", CARDS)
def test_a_yes_holds_what_was_asked_and_rests_on_the_engine_that_is_started(gpu: str) -> None:
    for answers in swept(gpu):
        for asked, found in answers:
            if found.verdict == "no":
                assert (found.max_context, found.max_concurrency) == (0, 0)
                continue
            assert asked.question.context <= found.max_context <= asked.model.max_context
            assert found.max_concurrency >= 1
            assert all(room.is_enough for room in found.rooms if room.budget in ("accelerator", "cache"))
            assert found.ranks * found.copies + found.idle == asked.place.devices.count
            if found.shape is not None:
                assert found.shape.engine == asked.engine
                assert found.shape.gpus == found.ranks


@pytest.mark.parametrize("gpu", CARDS)
def test_what_is_verified_is_divided_as_the_verified_shape(gpu: str) -> None:
    for answers in swept(gpu):
        for asked, found in answers:
            if found.verdict == "native_verified":
                assert found.shape is not None
                assert found.shape.status == "verified"
                assert asked.plan(found).nodes == found.shape.nodes
                assert asked.plan(found).gpus == found.shape.gpus


@pytest.mark.parametrize("gpu", CARDS)
def test_the_most_that_is_promised_is_held_when_it_is_asked(gpu: str) -> None:
    for answers in swept(gpu):
        for asked, found in answers[::3]:
            if found.verdict == "no":
                continue
            most = replace(asked.question, concurrency=found.max_concurrency)
            longest = replace(asked.question, context=found.max_context)
            assert asking(most, TODAY, None).fitted().verdict == found.verdict
            assert asking(longest, TODAY, None).fitted().verdict == found.verdict


@pytest.mark.parametrize("gpu", ["rtx4090", "h100", "b200", "mac-studio-512"])
@pytest.mark.parametrize("more", [{}, {"concurrency": 64}, {"context": 262_144}, {"context_ranks": 8}], ids=str)
def test_what_is_said_to_hold_it_instead_does(gpu: str, more: dict[str, int]) -> None:
    for model in (models()["kimi-k3"], models()["glm-5.2"], models()["llama-3.3-70b"]):
        for form in model.quants:
            question = Question(given=Given(gpu=gpu, count=1), model=model.name, quant=form.name, **more)  # type: ignore[arg-type]  # names of its fields
            for each in fits.answer(question, TODAY).instead:
                if each.kind == "hosted":
                    continue
                given = Given(gpu=each.gpu, count=each.count)
                ranks = question.context_ranks if each.kind != "model" else 1
                again = replace(
                    question, given=given, model=each.model, quant=each.quant or form.name, context_ranks=ranks
                )
                verdict = asking(again, TODAY, None).fitted().verdict
                assert verdict == each.verdict or (each.verdict is None and verdict != "no"), each
