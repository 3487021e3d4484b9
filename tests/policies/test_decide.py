"""The first matching rule decides, within what clearance allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from policies.decide import Signals, decide
from policies.labels import INTERNAL, PRIVATE, PUBLIC, SECRET, Label, Level, Sensitivity
from policies.load import Pack

Load = Callable[..., Pack]

HEAD = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  lan: {clearance: private+family, addresses: private}
  hosted: {clearance: internal, addresses: public, accept_redacted: private}
rules:
"""
PRICE = "price: {currency: USD, per_million: {input: 1, output: 1}, source: list, as_of: 2026-10-24}"
HOSTED = f"""\
deployments:
  - {{name: h, model: kimi-k3, aliases: [k3], engine: moonshot, base_url: "https://x.example/", zone: hosted, {PRICE}}}
"""
OPEN = "  - name: open\n"


def one_rule(when: str, then: str = "") -> str:
    return f"{HEAD}  - name: asked\n    when: {when}\n{then}{OPEN}"


def test_the_first_matching_rule_decides(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: first\n    route: {at_least: 4, prefer: best, models: [kimi-k3]}\n" + OPEN)

    decision = decide(pack, Signals(PUBLIC))

    assert (decision.action, decision.rule, decision.code) == ("route", "first", None)
    assert (decision.at_least, decision.prefer, decision.models) == (4, "best", ("kimi-k3",))
    assert decision.zones == ("device", "lan", "hosted")


def test_zones_are_cut_to_the_clearance_in_the_order_of_the_pack(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: anywhere\n    route: {zones: [hosted, lan, device]}\n")

    assert decide(pack, Signals(INTERNAL)).zones == ("device", "lan", "hosted")
    assert decide(pack, Signals(PRIVATE, collections=("papers",))).zones == ("device", "lan")
    assert decide(pack, Signals(Label.of(Level.PRIVATE, "work"), collections=("papers",))).zones == ("device",)


def test_a_rule_narrows_what_the_clearance_allows(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: narrow\n    route: {zones: [lan]}\n")

    decision = decide(pack, Signals(PUBLIC))

    assert decision.zones == ("lan",)
    assert decision.cleared == ("device", "lan", "hosted")


def test_no_matching_rule_is_a_refusal_with_a_name(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: public only\n    when: {label: {at_most: public}}\n")

    decision = decide(pack, Signals(INTERNAL))

    assert (decision.action, decision.code, decision.rule, decision.zones) == ("deny", "no_rule", None, ())


def test_a_denying_rule_names_itself_and_its_reason(load: Load) -> None:
    pack = load(rules=one_rule("{groups: children}", "    action: deny\n    reason: ask your parents\n"))

    decision = decide(pack, Signals(PUBLIC, groups=frozenset({"children"})))

    assert (decision.action, decision.code, decision.zones) == ("deny", "denied_by_rule", ())
    assert decision.reason == "The rule 'asked' denies this request (ask your parents)."


def test_a_rule_that_asks_lets_nothing_go_before_an_approval(load: Load) -> None:
    pack = load(rules=one_rule("{groups: children}", "    action: ask\n"))

    decision = decide(pack, Signals(PUBLIC, groups=frozenset({"children"})))

    assert (decision.action, decision.code, decision.zones) == ("ask", "approval_required", ())


def test_a_rule_that_redacts_lets_nothing_go_while_nothing_can_redact(load: Load) -> None:
    pack = load(rules=one_rule("{findings: cpf}", "    action: redact\n    route: {zones: [hosted]}\n"))

    decision = decide(pack, Signals(PRIVATE, findings=frozenset({"cpf"})))

    assert (decision.action, decision.code, decision.zones) == ("deny", "approval_required", ())
    assert "redaction is not available yet" in decision.reason


@pytest.mark.parametrize("model", ["kimi-k3", "k3"])
def test_a_named_model_above_its_clearance_is_refused_with_both_remedies(load: Load, model: str) -> None:
    pack = load(rules=HEAD + OPEN, deployments=HOSTED)

    decision = decide(pack, Signals(PRIVATE, model=model))

    assert (decision.action, decision.code, decision.zones) == ("deny", "label_exceeds_clearance", ())
    assert decision.rule == "open"
    assert "ask 'auto' or a model in the zones device, lan" in decision.reason
    assert "lowered by approval" in decision.reason


def test_a_named_model_that_is_cleared_but_outside_the_rule_is_denied_by_the_rule(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: at home\n    route: {zones: [device]}\n", deployments=HOSTED)

    decision = decide(pack, Signals(INTERNAL, model="kimi-k3"))

    assert (decision.code, decision.rule) == ("denied_by_rule", "at home")
    assert "a model in the zone device" in decision.reason


def test_what_a_rule_prefers_does_not_bind_a_named_model(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: best\n    route: {models: [quotes], at_least: 5}\n", deployments=HOSTED)

    assert decide(pack, Signals(INTERNAL, model="kimi-k3")).code is None


@pytest.mark.parametrize("model", ["auto", "kimi-k3"])
def test_a_busy_deployment_is_left_where_the_rule_says_so(load: Load, model: str) -> None:
    pack = load(rules=HEAD + "  - name: spills\n    route: {spill: {waiting_above: 0}}\n", deployments=HOSTED)

    assert decide(pack, Signals(INTERNAL, model=model)).spill_above == 0
    assert decide(load(rules=HEAD + OPEN, deployments=HOSTED), Signals(INTERNAL, model=model)).spill_above is None


def test_spilling_opens_no_zone(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: spills\n    route: {zones: [device, lan], spill: {waiting_above: 0}}\n")

    assert decide(pack, Signals(INTERNAL)).zones == ("device", "lan")
    assert decide(pack, Signals(SECRET)).zones == ("device",)


def test_a_refusal_has_nothing_to_spill(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: spills\n    route: {spill: {waiting_above: 3}}\n", deployments=HOSTED)

    decision = decide(pack, Signals(PRIVATE, model="kimi-k3"))

    assert (decision.code, decision.spill_above) == ("label_exceeds_clearance", None)


def test_an_unknown_model_is_not_found(load: Load) -> None:
    decision = decide(load(rules=HEAD + OPEN), Signals(PUBLIC, model="gpt-9"))

    assert (decision.action, decision.code, decision.rule) == ("deny", "model_not_found", None)


def test_quotes_run_on_this_machine_in_every_pack(load: Load) -> None:
    pack = load(rules=HEAD + OPEN, deployments="deployments: []")

    assert decide(pack, Signals(SECRET, model="quotes")).zones == ("device",)


def test_built_in_models_count_where_they_run(load: Load) -> None:
    pack = replace(load(rules=HEAD + OPEN, deployments="deployments: []"), builtin={"demo": "lan"})

    assert decide(pack, Signals(PRIVATE, model="demo")).code is None
    assert decide(pack, Signals(SECRET, model="demo")).code == "label_exceeds_clearance"


def test_auto_is_refused_if_all_that_could_answer_stands_below_the_label(load: Load) -> None:
    pack = load(rules=HEAD + OPEN, deployments=HOSTED)

    decision = decide(pack, Signals(PRIVATE))

    assert (decision.code, decision.rule) == ("label_exceeds_clearance", "open")
    assert "connect a model in the zones device, lan" in decision.reason


def test_auto_over_a_collection_always_has_quotes(load: Load) -> None:
    pack = load(rules=HEAD + OPEN, deployments=HOSTED)

    assert decide(pack, Signals(SECRET, collections=("papers",))).zones == ("device",)


def test_auto_without_any_deployment_is_left_to_routing(load: Load) -> None:
    pack = load(rules=HEAD + OPEN, deployments="deployments: []")

    assert decide(pack, Signals(PRIVATE)).code is None


def test_auto_is_refused_if_rule_and_clearance_have_no_zone_in_common(load: Load) -> None:
    pack = load(rules=HEAD + "  - name: out\n    route: {zones: [hosted]}\n", deployments="deployments: []")

    assert decide(pack, Signals(PRIVATE)).code == "label_exceeds_clearance"


def test_redacted_text_goes_where_it_is_accepted(load: Load) -> None:
    pack = load(rules=HEAD + OPEN, deployments=HOSTED)

    redacted = Signals(Label(Sensitivity(Level.INTERNAL), Sensitivity(Level.PRIVATE)), model="kimi-k3")
    too_high = Signals(Label(Sensitivity(Level.INTERNAL), Sensitivity(Level.SECRET)), model="kimi-k3")

    assert decide(pack, redacted).zones == ("device", "lan", "hosted")
    assert decide(pack, too_high).code == "label_exceeds_clearance"


HEALTH = Label.of(Level.PRIVATE, "health")
REDACTED = Label(Sensitivity(Level.PUBLIC), Sensitivity(Level.PRIVATE, frozenset({"health"})))


@pytest.mark.parametrize(
    ("when", "matching", "other"),
    [
        ("{label: {at_least: private}}", Signals(PRIVATE), Signals(INTERNAL)),
        ("{label: {at_least: private}}", Signals(REDACTED), Signals(PUBLIC)),
        ("{label: {at_least: private+health}}", Signals(HEALTH), Signals(PRIVATE)),
        ("{label: {at_most: internal}}", Signals(INTERNAL), Signals(REDACTED)),
        ("{label: {at_most: private+health}}", Signals(HEALTH), Signals(Label.of(Level.PRIVATE, "work"))),
        ("{label: {is: private}}", Signals(HEALTH), Signals(SECRET)),
        ("{label: {is: private}}", Signals(PRIVATE), Signals(INTERNAL)),
        ("{label: {compartment: [health, work]}}", Signals(REDACTED), Signals(PRIVATE)),
        ("{label: {at_least: internal, at_most: internal}}", Signals(INTERNAL), Signals(PRIVATE)),
        ("{model: auto}", Signals(PUBLIC), Signals(PUBLIC, model="quotes")),
        ("{principal: [ana, rui]}", Signals(PUBLIC, principal="rui"), Signals(PUBLIC, principal="eva")),
        ("{groups: [a, b]}", Signals(PUBLIC, groups=frozenset("bc")), Signals(PUBLIC, groups=frozenset("c"))),
        ("{collections: tax}", Signals(PUBLIC, collections=("x", "tax")), Signals(PUBLIC, collections=("x",))),
        ("{language: pt}", Signals(PUBLIC, language="pt"), Signals(PUBLIC, language="en")),
        ("{size: {above: 10}}", Signals(PUBLIC, size=11), Signals(PUBLIC, size=10)),
        ("{size: {below: 10}}", Signals(PUBLIC, size=9), Signals(PUBLIC, size=10)),
        (
            "{needs: [tools, vision]}",
            Signals(PUBLIC, needs=frozenset({"tools", "vision", "audio"})),
            Signals(PUBLIC, needs=frozenset({"tools"})),
        ),
        ("{findings: [cpf, card]}", Signals(PUBLIC, findings=frozenset({"card"})), Signals(PUBLIC)),
        ("{hour: {from: 8, to: 18}}", Signals(PUBLIC, hour=8), Signals(PUBLIC, hour=18)),
        ("{hour: {from: 22, to: 6}}", Signals(PUBLIC, hour=3), Signals(PUBLIC, hour=6)),
        ("{hour: {from: 22, to: 6}}", Signals(PUBLIC, hour=22), Signals(PUBLIC, hour=21)),
        ("{not: {hour: {from: 8, to: 8}}}", Signals(PUBLIC, hour=8), Signals(PUBLIC)),
        ("{any: [{size: {above: 9}}, {language: en}]}", Signals(PUBLIC, language="en"), Signals(PUBLIC, language="pt")),
        ("{all: [{size: {above: 9}}, {model: auto}]}", Signals(PUBLIC, size=10), Signals(PUBLIC, size=9)),
        ("{not: {size: {above: 9}}}", Signals(PUBLIC, size=9), Signals(PUBLIC, size=10)),
        ("{model: auto, size: {above: 9}}", Signals(PUBLIC, size=10), Signals(PUBLIC, size=10, model="quotes")),
        ("{any: [{task: hard}, {size: {above: 9}}]}", Signals(PUBLIC, size=10), Signals(PUBLIC, size=9)),
    ],
)
def test_a_condition_tells_requests_apart(load: Load, when: str, matching: Signals, other: Signals) -> None:
    pack = load(rules=one_rule(when))

    assert decide(pack, matching).rule == "asked"
    assert decide(pack, other).rule == "open"


@pytest.mark.parametrize(
    "when",
    [
        "{task: hard}",
        "{not: {task: hard}}",
        "{not: {not: {task: hard}}}",
        "{not: {any: [{task: hard}, {size: {above: 9}}]}}",
        "{not: {all: [{task: hard}, {size: {below: 9}}]}}",
        "{not: {budget: {left_below: 5}}}",
        "{not: {load: {waiting: 5}}}",
        "{not: {time: {day: sunday}}}",
        "{language: pt}",
        "{not: {language: pt}}",
        "{hour: {from: 0, to: 24}}",
        "{not: {hour: {from: 3, to: 4}}}",
    ],
)
def test_what_nobody_evaluated_does_not_match_negated_or_not(load: Load, when: str) -> None:
    pack = load(rules=one_rule(when))

    assert decide(pack, Signals(PUBLIC)).rule == "open"


def test_a_known_part_settles_what_an_unknown_one_cannot_change(load: Load) -> None:
    pack = load(rules=one_rule("{not: {all: [{task: hard}, {size: {above: 9}}]}}"))

    assert decide(pack, Signals(PUBLIC, size=9)).rule == "asked"
    assert decide(pack, Signals(PUBLIC, size=10)).rule == "open"
