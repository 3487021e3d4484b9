"""An explanation says of every rule and zone why, and decides nothing else than `decide`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.decide import Signals, decide
from policies.explain import explain
from policies.labels import PRIVATE, PUBLIC, SECRET, Label, Level, Sensitivity
from policies.load import Pack

Load = Callable[..., Pack]

RULES = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  lan: {clearance: private+family, addresses: private}
  hosted: {clearance: internal, addresses: public, accept_redacted: private}
rules:
  - name: children ask first
    when: {groups: children, any: [{size: {above: 9}}, {task: hard}], not: {model: quotes}}
    action: ask
  - name: papers stay
    when: {label: {at_least: private}}
    route: {zones: [device, lan]}
  - name: the rest
    route: {models: [quotes], at_least: 2}
"""


def test_an_explanation_reads_as_text(load: Load) -> None:
    pack = load(rules=RULES, deployments="deployments: []")

    text = explain(pack, Signals(PRIVATE, model="quotes")).as_text()

    assert (
        text
        == """\
A request labelled private asks for quotes.

Rules
    children ask first (line 7): no: groups include children
  > papers stay (line 10): decides
    the rest (line 13): matches, but comes later

Zones
  yes device: its clearance secret covers private
  yes lan: its clearance private+family covers private
  no  hosted: its clearance internal is below private

Decision
  action: route
  zones: device, lan
  prefer: cheapest
  The rule 'papers stay' allows the zones device, lan."""
    )


@pytest.mark.parametrize("waiting", [0, 8])
def test_an_explanation_says_when_a_busy_deployment_is_left(load: Load, waiting: int) -> None:
    rules = RULES.replace("at_least: 2", f"at_least: 2, spill: {{waiting_above: {waiting}}}")

    spilling = explain(load(rules=rules, deployments="deployments: []"), Signals(PUBLIC))
    waits = explain(load(rules=RULES, deployments="deployments: []"), Signals(PUBLIC))

    assert f"  spill: past a deployment where more than {waiting} wait\n" in spilling.as_text()
    assert "spill" not in waits.as_text()


@pytest.mark.parametrize(
    ("signals", "failed"),
    [
        (Signals(PUBLIC), "groups include children"),
        (
            Signals(PUBLIC, groups=frozenset({"children"})),
            "any of: size is above 9 tokens; task is as wanted (not evaluated)",
        ),
        (Signals(PUBLIC, groups=frozenset({"children"}), size=10, model="quotes"), "not {'model': ['quotes']}"),
        (Signals(PUBLIC, groups=frozenset({"children"}), size=10), None),
    ],
)
def test_the_first_condition_that_fails_is_named(load: Load, signals: Signals, failed: str | None) -> None:
    step = explain(load(rules=RULES), signals).rules[0]

    assert step.failed == failed
    assert step.matches is step.decides is (failed is None)


@pytest.mark.parametrize(
    ("label", "zone", "why"),
    [
        (SECRET, "device", "its clearance secret covers secret"),
        (PRIVATE, "hosted", "its clearance internal is below private"),
        (Label.of(Level.PRIVATE, "work"), "lan", "its clearance private+family does not cover work"),
        (
            Label(Sensitivity(Level.PUBLIC), Sensitivity(Level.PRIVATE)),
            "hosted",
            "accepts redacted private although its clearance is internal",
        ),
        (
            Label(Sensitivity(Level.PUBLIC), Sensitivity(Level.SECRET)),
            "hosted",
            "its clearance internal is below secret, and it does not accept that redacted",
        ),
    ],
)
def test_a_zone_says_why_it_is_cleared_or_not(load: Load, label: Label, zone: str, why: str) -> None:
    steps = {step.zone: step for step in explain(load(rules=RULES), Signals(label)).zones}

    assert steps[zone].why == why
    assert steps[zone].cleared is load(rules=RULES).zones[zone].admits(label)


@pytest.mark.parametrize("label", [PUBLIC, PRIVATE, SECRET])
@pytest.mark.parametrize("model", ["auto", "quotes", "kimi-k3", "nobody"])
def test_an_explanation_ends_in_the_decision(load: Load, label: Label, model: str) -> None:
    pack = load(rules=RULES)

    explanation = explain(pack, Signals(label, model=model))

    assert explanation.decision == decide(pack, Signals(label, model=model))
    assert explanation.decision.reason in explanation.as_text()


def test_an_explanation_is_plain_data_too(load: Load) -> None:
    data = explain(load(rules=RULES), Signals(PUBLIC)).as_dict()

    assert data["label"] == "public"
    assert data["decision"]["rule"] == "the rest"  # type: ignore[index]
