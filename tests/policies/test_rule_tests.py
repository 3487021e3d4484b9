"""Tests that people write beside their rules say what differs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.load import Pack, Problem
from policies.testing import run_tests

Load = Callable[..., Pack]
Refused = Callable[..., list[Problem]]


def test_a_test_that_holds_passes(load: Load) -> None:
    given = "{label: private, collections: [x]}"
    tests = f"- name: papers stay\n  given: {given}\n  expect: {{rule: at home, zones: [lan, device]}}\n"

    (outcome,) = run_tests(load(rules_test=tests))

    assert (outcome.name, outcome.passed, outcome.message, outcome.line) == ("papers stay", True, "", 1)


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{rule: anywhere}", "rule should be 'anywhere', not 'at home'"),
        ("{zones: [lan]}", "zones should be lan, not device"),
        ("{zones: []}", "zones should be none, not device"),
        ("{action: deny, code: no_rule}", "action should be 'deny', not 'route'; code should be 'no_rule', not none"),
        ("{models: [kimi-k3]}", "models should be kimi-k3, not none"),
    ],
)
def test_a_test_that_fails_says_what_differs(load: Load, expect: str, message: str) -> None:
    tests = f"# a comment\n- name: no\n  given: {{label: secret, collections: [x]}}\n  expect: {expect}\n"

    (outcome,) = run_tests(load(rules_test=tests))

    assert (outcome.passed, outcome.message, outcome.line) == (False, message, 2)


def test_only_what_is_written_is_compared(load: Load) -> None:
    tests = "- name: no refusal\n  given: {label: public}\n  expect: {code: null}\n"

    assert [outcome.passed for outcome in run_tests(load(rules_test=tests))] == [True]


def test_several_labels_and_models_make_one_case_each(load: Load) -> None:
    tests = "- name: all\n  given: {label: [public, private], model: [auto, small]}\n  expect: {rule: anywhere}\n"

    outcomes = run_tests(load(rules_test=tests))

    assert [(outcome.name, outcome.passed) for outcome in outcomes] == [
        ("all [public, auto]", True),
        ("all [public, small]", True),
        ("all [private, auto]", False),
        ("all [private, small]", False),
    ]


def test_a_test_without_a_label_takes_the_default_one(load: Load) -> None:
    tests = "- name: typed\n  given: {}\n  expect: {rule: anywhere}\n"

    assert [outcome.passed for outcome in run_tests(load(rules_test=tests))] == [True]


def test_every_given_fact_reaches_the_rules(load: Load) -> None:
    rules = """\
default_label: internal
zones: {device: {clearance: secret, addresses: loopback}, hosted: {clearance: secret, addresses: public},
        lan: {clearance: secret, addresses: private}}
rules:
  - name: all of it
    when: {principal: ana, groups: adults, collections: tax, language: pt, size: {above: 9}, needs: tools,
           findings: cpf, hour: {from: 8, to: 9}, label: {at_least: public}}
"""
    facts = (
        "principal: {name: ana, groups: [adults]}, collections: [tax], language: pt, size: 10, needs: [tools], "
        "findings: [cpf], hour: 8"
    )
    tests = f"- name: all\n  given: {{{facts}}}\n  expect: {{rule: all of it}}\n"

    assert [outcome.message for outcome in run_tests(load(rules=rules, rules_test=tests))] == [""]


def test_a_test_that_expects_nothing_is_refused(refused: Refused) -> None:
    (problem,) = refused(rules_test="- name: none\n  given: {}\n  expect: {}\n")

    assert str(problem) == "rules_test.yaml:3: [0].expect: is empty; leave it out if it should say nothing"


def test_a_misspelt_key_of_a_test_is_refused(refused: Refused) -> None:
    (problem,) = refused(rules_test="- name: none\n  given: {lable: public}\n  expect: {code: null}\n")

    assert (problem.key, problem.suggestion) == ("[0].given.lable", "label")
