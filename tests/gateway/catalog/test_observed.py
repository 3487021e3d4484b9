"""Answers and probes together make what is known of a deployment."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gateway.catalog.deployments import Queue
from gateway.catalog.observed import Observation, Observed
from gateway.upstream.probes.prober import now
from gateway.wire.lanes import Usage
from tests.fakes import deployment


def test_what_answers_tell_is_kept_beside_what_probes_see() -> None:
    at = [datetime(2026, 11, 30, tzinfo=UTC)]
    observed = Observed(lambda: at[0])
    observed.note_traffic("theirs", Usage(fresh=1, cached=2), "kimi-k3")
    first = observed.of("theirs")
    observed.note("theirs", Observation(at[0] + timedelta(seconds=1), up=True, context=9))

    assert first == Observation(at[0], up=True, models=("kimi-k3",), reports_cached=True)
    assert observed.of("theirs") == Observation(at[0] + timedelta(seconds=1), up=True, context=9, reports_cached=True)


def test_an_answer_of_one_that_was_down_says_that_it_is_up() -> None:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    observed = Observed(lambda: at)
    observed.note("ours", Observation(at, up=False, note="it does not answer: is it running?"))

    observed.note_traffic("ours", Usage(fresh=1), None)

    assert observed.of("ours") == Observation(at, up=True)


def test_an_answer_that_tells_nothing_new_changes_nothing() -> None:
    at = [datetime(2026, 11, 30, tzinfo=UTC)]
    observed = Observed(lambda: at[0])
    observed.note_traffic("ours", Usage(fresh=1), "m")
    first = observed.of("ours")
    at[0] += timedelta(seconds=9)
    observed.note_traffic("ours", Usage(fresh=1), "m")
    unchanged = observed.of("ours")
    at[0] += timedelta(seconds=9)
    observed.note_traffic("ours", Usage(fresh=1), "m")

    assert unchanged is first
    assert observed.of("ours") == Observation(at[0], up=True, models=("m",))


def test_replies_by_ever_other_names_fill_no_memory() -> None:
    observed = Observed(now)
    for number in range(100):
        observed.note_traffic("theirs", Usage(fresh=1), f"m{number}")

    seen = observed.of("theirs")
    assert seen is not None
    assert len(seen.models) == 16


def test_the_smaller_context_holds_and_the_packs_slots_do() -> None:
    observed = Observed(now)
    at = replace(deployment("http://127.0.0.1:1/v1"), context=8000)
    unknown = (observed.context(at), observed.slots(at))
    observed.note(at.name, Observation(now(), up=True, context=4000, slots=2))

    assert unknown == (8000, None)
    assert (observed.context(at), observed.slots(at)) == (4000, 2)
    assert observed.context(replace(at, context=1000)) == 1000
    assert observed.slots(replace(at, queue=Queue(slots=1))) == 1
