"""Asks the question that a view of the page means: its scenario, with the house's own traffic and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from gateway.dashboard.owning import view
from gateway.errors import BadRequest
from gateway.ledger import traffic
from gateway.owning import answers, profiles
from gateway.owning.questions import Question
from gateway.owning.scenarios import asks_ledger, bundled, ledger_days, ledger_models, scenarios_of
from policies.problems import PackError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from gateway.dashboard.owning.view import View
    from gateway.ledger.traffic import Observed
    from gateway.owning.answers import Answer
    from gateway.runtime import Runtime
    from policies.pack import Pack
    from policies.scenarios import ScenarioEntry

SNIPPET = """\
scenarios:
  b300:
    model: kimi-k3
    hardware: {gpu: b300, count: 8, usd_per_gpu_hour: 7.34}   # of one replica: what together holds one whole model
    hosted: {deployment: moonshot-k3}                         # the price of one of your deployments
    traffic: {from_ledger: 30d}                               # what your house asked in the last 30 days
    capacity: {prefill_tps: 21672, decode_tps: 5075.1}        # what one replica carries, or `none`
"""
"""The shortest scenario of a house that has a hosted deployment, for a page that has none to show."""


def names(runtime: Runtime, is_example: bool = False) -> list[str]:
    """The scenarios there are: the owner's, or those that come with Soleira."""
    return list(_known(runtime, is_example))


async def answer(runtime: Runtime, looked_at: View, today: date) -> Answer:
    """The answer, reckoned beside the loop: it draws thousands of times."""
    known = _known(runtime, looked_at.is_example)
    name = view.chosen(looked_at.scenario, list(known))
    question = Question(known[name], name, looked_at.tried, ledger_leads=looked_at.window is not None)
    seen = await _seen(runtime, question, looked_at)
    pack = runtime.packs.current.pack
    return await anyio.to_thread.run_sync(_answer, question, today, pack, seen, runtime.settings.data)


def _answer(question: Question, today: date, pack: Pack, seen: Observed | None, data: Path) -> Answer:
    try:
        known = profiles.profiles(data)
    except PackError as error:
        raise BadRequest(str(error)) from None
    return answers.answer(question, today, pack, seen, known)


def _known(runtime: Runtime, is_example: bool) -> Mapping[str, ScenarioEntry]:
    return bundled() if is_example else scenarios_of(runtime.packs.current.pack)


async def _seen(runtime: Runtime, question: Question, looked_at: View) -> Observed | None:
    """What the house itself asked, over the days that the view or else the scenario names."""
    if looked_at.window is None and not asks_ledger(question.entry):
        return None
    pack, now = runtime.packs.current.pack, runtime.now()
    span = traffic.since(looked_at.window or f"{ledger_days(question.entry)}d", now, pack.budgets.zone)
    return await traffic.observed(runtime.engine, pack, span, ledger_models(question.entry), now)
