"""Whatever the rules say, nothing goes to a zone that does not admit its label."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from policies.conditions import All, Any, Condition, Not, Question, Truth
from policies.decide import Signals, decide
from policies.explain import explain
from policies.labels import INTERNAL, PRIVATE, Label, Level, Sensitivity
from policies.pack import Pack, Rule
from policies.schema import DeploymentSpec
from policies.zones import Addresses, Zone

NAMES = ["one", "two", "three"]
compartments = st.frozensets(st.sampled_from(["family", "work"]))
marks = st.builds(Sensitivity, st.sampled_from(Level), compartments)
labels = st.builds(Label, marks, st.none() | marks)
anywhere = Addresses(frozenset({"any", "loopback"}))


def known(value: Truth) -> Condition:
    return Question("said", lambda _: value)


conditions = st.recursive(
    st.sampled_from([True, False, None]).map(known),
    lambda inner: (
        st.lists(inner).map(lambda parts: All(tuple(parts)))
        | st.lists(inner).map(lambda parts: Any(tuple(parts)))
        | inner.map(lambda part: Not("not", part))
    ),
    max_leaves=4,
)
rules = st.builds(
    Rule,
    name=st.text("abc", min_size=1),
    line=st.none(),
    condition=conditions,
    action=st.sampled_from(["route", "route", "deny", "ask", "redact"]),
    zones=st.none() | st.lists(st.sampled_from(NAMES), min_size=1).map(tuple),
)


@cache
def spec(model: str, zone: str) -> DeploymentSpec:
    price = {
        "currency": "USD",
        "per_million": {"input": "1", "output": "1"},
        "source": "list",
        "as_of": "2026-10-24",
    }
    values = {"name": f"{model}-{zone}", "model": model, "engine": "openai", "base_url": "https://x.example/v1"}
    return DeploymentSpec.model_validate({**values, "zone": zone, "price": price})


def pack_of(
    clearances: tuple[tuple[Sensitivity, Level | None], ...],
    rules: list[Rule],
    served: list[tuple[str, str]],
    built_in: str,
) -> Pack:
    zones = {
        name: Zone(name, mark, anywhere, accepted) for name, (mark, accepted) in zip(NAMES, clearances, strict=True)
    }
    return Pack(
        folder=Path(),
        version="0",
        default_label=INTERNAL,
        unscannable=PRIVATE,
        zones=zones,
        detectors={},
        rules=tuple(rules),
        deployments=tuple(spec(model, zone) for model, zone in served),
        collections={},
        loopback_zone=zones["one"],
        max_output=1,
        builtin={"built-in": built_in},
    )


names = st.sampled_from(NAMES)
packs = st.builds(
    pack_of,
    st.tuples(*[st.tuples(marks, st.none() | st.sampled_from(Level))] * len(NAMES)),
    st.lists(rules, max_size=3),
    st.lists(st.tuples(st.sampled_from(["a", "b"]), names), max_size=3),
    names,
)
signals = st.builds(
    Signals,
    label=labels,
    model=st.sampled_from(["auto", "a", "b", "quotes", "built-in", "nobody"]),
    collections=st.sampled_from([(), ("papers",)]),
)


@given(packs, signals)
def test_no_zone_of_a_decision_refuses_the_label(pack: Pack, asked: Signals) -> None:
    decision = decide(pack, asked)

    assert all(pack.zones[name].admits(asked.label) for name in (*decision.zones, *decision.cleared))


@given(packs, signals)
def test_no_zone_of_a_decision_is_outside_its_rule(pack: Pack, asked: Signals) -> None:
    decision = decide(pack, asked)
    deciding = next((rule for rule in pack.rules if rule.condition.truth(asked)), None)

    if decision.zones:
        assert deciding is not None
        assert deciding.action == "route"
        assert deciding.zones is None or set(decision.zones) <= set(deciding.zones)


@given(packs, signals)
def test_a_refusal_has_a_code_and_no_zone_and_anything_else_has_zones(pack: Pack, asked: Signals) -> None:
    decision = decide(pack, asked)

    assert (decision.code is None) == bool(decision.zones)
    assert (decision.code is None) == (decision.action == "route")
    assert decision.reason.endswith(".")


@given(packs, signals)
def test_an_allowed_named_model_has_a_deployment_in_an_allowed_zone(pack: Pack, asked: Signals) -> None:
    decision = decide(pack, asked)

    if asked.model != "auto" and decision.code is None:
        assert pack.zones_of(asked.model) & set(decision.zones)


@given(packs, signals, labels)
def test_raising_a_label_never_opens_a_zone(pack: Pack, asked: Signals, more: Label) -> None:
    raised = Signals(asked.label | more, model=asked.model, collections=asked.collections)

    assert set(decide(pack, raised).zones) <= set(decide(pack, asked).zones)


@given(packs, signals)
def test_an_explanation_agrees_with_the_decision(pack: Pack, asked: Signals) -> None:
    explanation = explain(pack, asked)

    assert all(step.matches == (step.failed is None) for step in explanation.rules)
    assert explanation.decision == decide(pack, asked)
    assert [step.zone for step in explanation.zones if step.cleared] == list(explanation.decision.cleared)


@given(conditions)
def test_a_condition_is_never_true_together_with_its_negation(condition: Condition) -> None:
    asked = Signals(Label())

    truths = {condition.truth(asked), Not("not", condition).truth(asked)}

    assert truths in ({True, False}, {None})
