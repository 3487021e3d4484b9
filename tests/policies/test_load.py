"""A pack is read whole or not at all, and says where it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import BaseModel

from policies.labels import INTERNAL, PRIVATE, Label, Level
from policies.load import Pack, PackError, Problem, load_pack
from policies.machines import BreakEvenFile
from policies.prices import PricesFile
from policies.schema import CollectionsFile, DeploymentsFile, RulesFile, RulesTestFile

Load = Callable[..., Pack]
Refused = Callable[..., list[Problem]]

RULES = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  lan: {clearance: private, addresses: [private, 10.20.0.0/16]}
  hosted: {clearance: internal, addresses: public, accept_redacted: private}
rules:
  - name: all
    route: {prefer: cheapest}
"""
PRICE = "price: {currency: USD, per_million: {input: 3.00, output: 15.00}, source: list, as_of: 2026-10-24}"


def deployment(**changes: str) -> str:
    """One deployment; a change replaces or adds a line."""
    lines = {
        "name": "name: one",
        "model": "model: kimi-k3",
        "engine": "engine: openai",
        "base_url": "base_url: https://api.example.com/v1",
        "zone": "zone: hosted",
        "price": PRICE,
        **changes,
    }
    return "  - " + "\n    ".join(line for line in lines.values() if line) + "\n"


def deployments(*entries: str) -> str:
    return "deployments:\n" + "".join(entries)


def test_a_pack_is_read_with_its_labels_zones_and_rules(load: Load) -> None:
    pack = load(rules=RULES + "detectors: {cpf: private+family}\n")

    assert pack.default_label == INTERNAL
    assert pack.unscannable == PRIVATE
    assert pack.zones["hosted"].accept_redacted is Level.PRIVATE
    assert pack.detectors == {"cpf": Label.of(Level.PRIVATE, "family")}
    assert [(rule.name, rule.line) for rule in pack.rules] == [("all", 7)]
    assert pack.loopback_zone is pack.zones["device"]
    assert pack.max_output == 4096


def test_a_deployment_gets_its_defaults_and_exact_prices(load: Load) -> None:
    pack = load(rules=RULES, deployments=deployments(deployment(price=PRICE.replace("15.00", "0.1"))))

    (spec,) = pack.deployments
    assert (spec.upstream_model, spec.grade, spec.context) == ("kimi-k3", 3, None)
    assert spec.price.per_million.output == Decimal("0.1")
    assert (spec.price.source, spec.price.as_of) == ("list", date(2026, 10, 24))


def test_the_deployment_s_own_price_goes_before_the_price_list(load: Load) -> None:
    prices = """\
prices:
  - {engine: openai, model: kimi-k3, currency: USD, per_million: {input: 9, output: 9}, source: list, as_of: 2026-01-01}
"""
    entries = deployments(deployment(), deployment(name="name: two", price=""))

    pack = load(rules=RULES, deployments=entries, prices=prices)

    assert [spec.price.per_million.input for spec in pack.deployments] == [Decimal("3.00"), Decimal(9)]


def test_an_owned_machine_costs_its_marginal_price(load: Load) -> None:
    machines = f"machines:\n  node:\n    marginal: {PRICE.removeprefix('price: ')}\n"

    pack = load(rules=RULES, deployments=deployments(deployment(price="price: {owned: node}")), break_even=machines)

    assert pack.deployments[0].owned == "node"
    assert pack.deployments[0].price.per_million.input == Decimal("3.00")


def test_an_explicit_zero_price_is_a_price(load: Load) -> None:
    zero = "price: {currency: USD, per_million: {input: 0, output: 0}, source: our own power, as_of: 2026-11-01}"

    pack = load(rules=RULES, deployments=deployments(deployment(price=zero)))

    assert pack.deployments[0].price.per_million.output == 0


def test_collections_have_a_label_and_readers(load: Load) -> None:
    pack = load(collections="collections:\n  papers: {label: secret, readers: [adults]}\n  notes: {}\n")

    assert pack.collections["papers"].label == Label.of(Level.SECRET)
    assert pack.collections["papers"].readers == {"adults"}
    assert pack.collections["notes"].label is None


def test_the_version_follows_every_byte(load: Load, tmp_path: Path) -> None:
    first = load(rules=RULES, collections="collections: {}\n").version
    again = load(rules=RULES).version
    other = load(rules=RULES, collections="collections: {} # changed\n").version

    assert first == again
    assert first != other
    assert len(first) == 12


def test_a_pack_without_tests_loads_with_a_warning(load: Load) -> None:
    assert any("no tests" in warning for warning in load(rules=RULES).warnings)


@pytest.mark.parametrize("key", ["task: [hard]", "budget: {left_below: 10}", "load: {above: 3}", "time: {day: sunday}"])
def test_words_that_are_not_evaluated_yet_load_with_a_warning(load: Load, key: str) -> None:
    pack = load(rules=RULES.replace("route:", f"when: {{{key}}}\n    route:"))

    assert any(f"`{key.partition(':')[0]}` is not evaluated yet" in warning for warning in pack.warnings)


def test_a_pack_may_be_written_as_json(load: Load) -> None:
    rules = (
        '{\n\t"default_label": "internal",\n\t"zones": {"device": {"clearance": "secret", "addresses": "loopback"}},\n'
        '\t"rules": [{"name": "tudo \\u00e9 \\ud83c\\udfe0"}]\n}'
    )

    pack = load(rules=rules, deployments='{"deployments": []}')

    assert pack.rules[0].name == "tudo é 🏠"


def test_a_problem_names_file_line_key_and_what_was_meant(refused: Refused) -> None:
    (problem,) = refused(rules=RULES.replace("prefer: cheapest", "prefer: cheepest"))

    assert str(problem) == "rules.yaml:8: rules[0].route.prefer: 'cheepest' is unknown; did you mean 'cheapest'?"


def test_an_unknown_key_is_refused_with_the_nearest_known_one(refused: Refused) -> None:
    (problem,) = refused(rules=RULES.replace("accept_redacted", "accepts_redacted"))

    assert str(problem) == ("rules.yaml:5: zones.hosted.accepts_redacted: is unknown; did you mean 'accept_redacted'?")


def test_all_problems_of_all_files_come_at_once(refused: Refused) -> None:
    problems = refused(
        rules=RULES.replace("prefer: cheapest", "zones: [lann], models: [gpt]"),
        deployments=deployments(deployment(zone="zone: hostde"), deployment(price="")),
        collections="collections: {papers: {labels: private}}\n",
    )

    found = [(problem.file, problem.key, problem.suggestion) for problem in problems]
    assert ("rules.yaml", "rules[0].route.zones", "lan") in found
    assert ("rules.yaml", "rules[0].route.models", None) in found
    assert ("deployments.yaml", "deployments[0].zone", "hosted") in found
    assert ("deployments.yaml", "deployments[1].name", None) in found
    assert ("deployments.yaml", "deployments[1]", None) in found
    assert ("collections.yaml", "collections.papers.labels", "label") in found


def test_an_unknown_price_is_refused_at_the_line_of_its_deployment(refused: Refused) -> None:
    (problem,) = refused(rules=RULES, deployments=deployments(deployment(), deployment(name="name: two", price="")))

    assert (problem.file, problem.line) == ("deployments.yaml", 8)
    assert "the price of 'two' is unknown" in problem.message


@pytest.mark.parametrize(
    ("price", "message"),
    [
        (PRICE.replace("USD", "EUR"), "no exchange rate is known"),
        (PRICE.replace("3.00", "-3.00"), "no sign"),
        (PRICE.replace("3.00", "3e2"), "should be an amount"),
        (PRICE.replace("3.00", ".nan"), "should be an amount"),
        (PRICE.replace(", output: 15.00", ""), "is missing"),
        ("price: {currency: USD, per_million: {input: 0, output: 0.00}, as_of: 2026-10-24}", "is zero"),
        ("price: {currency: USD, per_million: {input: 0, output: 0, cached: 0}, source: list}", "is zero"),
        (PRICE.replace("currency: USD, ", ""), "is missing"),
        ("price: {owned: nod}", "is no machine of break_even.yaml"),
        ("price: free", "should be a map"),
    ],
)
def test_a_price_that_is_not_whole_is_refused(refused: Refused, price: str, message: str) -> None:
    problems = refused(rules=RULES, deployments=deployments(deployment(price=price)))

    assert [problem.line for problem in problems] == [7]
    assert message in problems[0].message


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"engine": "engine: olama"}, "engine", "is unknown"),
        ({"zone": "zone: moon"}, "zone", "is no zone"),
        ({"model": "model: auto"}, "model", "Soleira's own"),
        ({"model": "model: kimi@papers"}, "model", "introduces collections"),
        ({"aliases": "aliases: [quotes]"}, "aliases", "Soleira's own"),
        ({"grade": "grade: 6"}, "grade", "less than or equal to 5"),
        ({"api_key": "api_key: {env: A, file: b}"}, "api_key", "either env or file"),
        ({"base_url": "base_url: ftp://x/v1"}, "base_url", "http://"),
        ({"base_url": "base_url: https://user:pass@x/v1"}, "base_url", "holds a user or key"),
        ({"base_url": "base_url: https://user@x/v1"}, "base_url", "holds a user or key"),
        ({"base_url": "base_url: https:///v1"}, "base_url", "and a host"),
        ({"base_url": "base_url: 'https://x/v1#key'"}, "base_url", "leave '?'"),
        ({"base_url": "base_url: 'https://x/v1?key=1'"}, "base_url", "leave '?'"),
        ({"base_url": "base_url: https://x:99999/v1"}, "base_url", "is no URL"),
        ({"base_url": "base_url: unix:/run/x.sock:/v1"}, "base_url", "socket of this machine"),
        ({"base_url": "base_url: http://127.0.0.1:8000/v1"}, "base_url", "does not belong to the zone 'hosted'"),
        ({"base_url": "base_url: http://localhost:8000/v1"}, "base_url", "does not belong to the zone 'hosted'"),
        ({"zone": "zone: lan", "base_url": "base_url: http://8.8.8.8/v1"}, "base_url", "does not belong"),
        ({"zone": "zone: lan", "base_url": "base_url: 'http://[::ffff:8.8.8.8]/v1'"}, "base_url", "does not belong"),
        ({"zone": "zone: device", "base_url": "base_url: http://2130706433/v1"}, "base_url", "four decimal numbers"),
        ({"zone": "zone: device", "base_url": "base_url: http://0x7f.1/v1"}, "base_url", "four decimal numbers"),
        ({"zone": "zone: device", "base_url": "base_url: unix:x.sock:/v1"}, "base_url", "unix:/path/to.sock:/v1"),
        ({"zone": "zone: device", "base_url": "base_url: unix:/x.sock"}, "base_url", "unix:/path/to.sock:/v1"),
    ],
)
def test_a_deployment_that_cannot_be_is_refused(
    refused: Refused, changes: dict[str, str], key: str, message: str
) -> None:
    (problem,) = refused(rules=RULES, deployments=deployments(deployment(**changes)))

    assert problem.key == f"deployments[0].{key}"
    assert message in problem.message


@pytest.mark.parametrize(
    ("zone", "url"),
    [
        ("device", "http://127.0.0.1:8080/v1"),
        ("device", "http://localhost:8080/v1"),
        ("device", "http://[::1]:8080/v1"),
        ("device", "unix:/run/engine.sock:/v1"),
        ("lan", "http://192.168.1.9:8000/v1"),
        ("lan", "http://100.101.102.103:8000/v1"),
        ("lan", "http://nas.local:8000/v1"),
        ("hosted", "https://1.1.1.1/v1"),
    ],
)
def test_an_address_of_its_zone_is_accepted(load: Load, zone: str, url: str) -> None:
    entry = deployment(zone=f"zone: {zone}", base_url=f"base_url: '{url}'")

    assert load(rules=RULES, deployments=deployments(entry)).deployments[0].base_url == url


@pytest.mark.parametrize("tag", ["kimi-k3:cloud", "gpt-oss:120b-cloud", "KIMI-K3:Cloud"])
@pytest.mark.parametrize("engine", ["ollama", "openai"])
def test_a_cloud_model_is_not_local_though_its_address_is(refused: Refused, engine: str, tag: str) -> None:
    entry = deployment(
        engine=f"engine: {engine}",
        upstream_model=f"upstream_model: {tag}",
        zone="zone: device",
        base_url="base_url: http://127.0.0.1:11434/v1",
    )

    (problem,) = refused(rules=RULES, deployments=deployments(entry))

    assert problem.key == "deployments[0].upstream_model"
    assert "runs at ollama.com" in problem.message


def test_only_ollama_marks_cloud_models_with_a_dash_alone(load: Load, refused: Refused) -> None:
    place = {"zone": "zone: device", "base_url": "base_url: http://127.0.0.1:8000/v1"}
    named = {**place, "upstream_model": "upstream_model: sky-cloud"}

    assert load(rules=RULES, deployments=deployments(deployment(**named, engine="engine: vllm"))).deployments
    assert refused(rules=RULES, deployments=deployments(deployment(**named, engine="engine: ollama")))


def test_a_cloud_model_in_a_zone_for_any_address_is_accepted(load: Load) -> None:
    rules = RULES.replace("rules:", "  cloud: {clearance: public, addresses: any}\nrules:")
    entry = deployment(
        engine="engine: ollama",
        upstream_model="upstream_model: kimi-k3:cloud",
        zone="zone: cloud",
        base_url="base_url: http://127.0.0.1:11434/v1",
    )

    assert load(rules=rules, deployments=deployments(entry)).deployments[0].zone == "cloud"


def test_one_name_means_one_model(refused: Refused) -> None:
    problems = refused(
        rules=RULES,
        deployments=deployments(
            deployment(aliases="aliases: [small, big]"),
            deployment(name="name: two", model="model: small"),
            deployment(name="name: three", model="model: other", aliases="aliases: [big]"),
        ),
    )

    assert {(problem.key, problem.message.split()[0]) for problem in problems} == {
        ("deployments[0].aliases", "'small'"),
        ("deployments[0].aliases", "'big'"),
        ("deployments[2].aliases", "'big'"),
    }


def test_two_deployments_may_serve_one_model_under_one_alias(load: Load) -> None:
    entries = deployments(deployment(aliases="aliases: [k3]"), deployment(name="name: two", aliases="aliases: [k3]"))

    assert len(load(rules=RULES, deployments=entries).deployments) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("addresses: loopback", "addresses: private", "no zone with the addresses 'loopback'"),
        ("10.20.0.0/16", "10.20.0.5/16", "write '10.20.0.0/16'"),
        ("10.20.0.0/16", "localhost", "is none of loopback"),
        ("[private, 10.20.0.0/16]", "[]", "should name at least one"),
        ("clearance: private", "clearance: privat", "is no level"),
        ("default_label: internal", "default_label: internal+Ü", "is no compartment"),
        ("default_label: internal\n", "", "is missing"),
        ("route: {prefer: cheapest}", "when: {}", "is empty"),
        ("route: {prefer: cheapest}", "when: {any: []}", "should not be empty"),
        ("route: {prefer: cheapest}", "when: {not: {}}", "is empty"),
        ("route: {prefer: cheapest}", "when: {label: private}", "should be a map"),
        ("route: {prefer: cheapest}", "when: {findings: [cfp]}", "'cfp' is unknown"),
        ("route: {prefer: cheapest}", "when: {hour: {from: 9, to: 25}}", "less than or equal to 24"),
        ("route: {prefer: cheapest}", "action: deny\n    route: {zones: [lan]}", "cannot have a route"),
        ("route: {prefer: cheapest}", "action: refuse", "'refuse' is unknown"),
        ("route: {prefer: cheapest}", "route: {}\n  - name: all", "is used twice"),
        ("rules:", "detectors: {cfp: private}\nrules:", "'cfp' is unknown"),
        ("rules:", "detectors: {cpf: [private]}\nrules:", "should be text"),
        ("name: all", 'name: "two\\nlines"', "one line of 1 to 120"),
        ("  device:", "  my device:", "at most 64"),
        ("prefer: cheapest", "prefer: [cheapest]", "should be text"),
        ("zones:", "zones: [lan", "is not valid YAML"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(refused: Refused, old: str, new: str, message: str) -> None:
    problems = refused(rules=RULES.replace(old, new), deployments="deployments: []\n")

    assert any(message in problem.message for problem in problems)
    assert all(problem.file == "rules.yaml" and problem.line for problem in problems)


def test_a_key_written_into_the_pack_is_refused_without_repeating_it(refused: Refused) -> None:
    (problem,) = refused(rules=RULES, deployments=deployments(deployment(api_key="api_key: sk-very-secret-123")))

    assert problem.key == "deployments[0].api_key"
    assert "sk-very" not in str(problem)


@pytest.mark.parametrize("name", ["rules", "deployments"])
def test_a_pack_needs_its_rules_and_deployments(refused: Refused, name: str) -> None:
    problems = refused(**{name: None})

    assert [problem.file for problem in problems] == [f"{name}.yaml"]
    assert "is missing" in problems[0].message


def test_a_folder_that_is_not_there_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="is no folder"):
        load_pack(tmp_path / "nowhere")


def test_a_folder_in_a_file_s_place_is_said(load: Load, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").mkdir()

    with pytest.raises(PackError, match=r"prices.yaml: cannot be read"):
        load()


def test_private_text_at_public_addresses_loads_with_a_warning(load: Load) -> None:
    rules = RULES.replace("hosted: {clearance: internal", "hosted: {clearance: private")
    pack = load(rules=rules, deployments=deployments(deployment(base_url="base_url: http://api.example.com/v1")))

    assert any("private texts may go to public addresses" in warning for warning in pack.warnings)
    assert any("unencrypted" in warning for warning in pack.warnings)


def test_encrypted_or_local_deployments_need_no_warning(load: Load) -> None:
    at_home = deployment(name="name: two", zone="zone: device", base_url="base_url: http://127.0.0.1:8000/v1")

    warnings = load(rules=RULES, deployments=deployments(deployment(), at_home)).warnings

    assert not any("unencrypted" in warning for warning in warnings)


def test_a_rule_about_a_model_nobody_serves_loads_with_a_warning(load: Load) -> None:
    rules = RULES.replace("route: {prefer: cheapest}", "when: {not: {any: [{model: gpt}]}}")

    assert "rule 'all': no deployment serves the model 'gpt'" in load(rules=rules).warnings


@pytest.mark.parametrize(("route", "spill_above"), [("{spill: {waiting_above: 8}}", 8), ("{prefer: best}", None)])
def test_a_rule_says_when_requests_move_on_or_wait(load: Load, route: str, spill_above: int | None) -> None:
    pack = load(rules=RULES.replace("{prefer: cheapest}", route))

    assert [rule.spill_above for rule in pack.rules] == [spill_above]
    assert not any("spill" in warning for warning in pack.warnings)


@pytest.mark.parametrize("spill", ["{waiting_above: -1}", "{waiting_above: many}", "{}", "8", "{waiting: 8}"])
def test_a_spill_that_says_no_number_is_refused(refused: Refused, spill: str) -> None:
    problems = refused(rules=RULES.replace("prefer: cheapest", f"spill: {spill}"), deployments="deployments: []\n")

    assert problems
    assert all(problem.key.startswith("rules[0].route.spill") and problem.line == 8 for problem in problems)


def test_a_second_price_of_one_model_is_refused(refused: Refused) -> None:
    entry = (
        "{engine: openai, model: m, currency: USD, per_million: {input: 1, output: 1}, source: s, as_of: 2026-01-01}"
    )

    (problem,) = refused(prices=f"prices:\n  - {entry}\n  - {entry}\n")

    assert (problem.file, problem.line) == ("prices.yaml", 3)


@pytest.mark.parametrize(
    "schema", [RulesFile, DeploymentsFile, CollectionsFile, PricesFile, BreakEvenFile, RulesTestFile]
)
def test_every_file_has_a_schema_for_editors(schema: type[BaseModel]) -> None:
    assert schema.model_json_schema()["title"] == schema.__name__


def test_a_kind_that_nobody_detects_is_told(load: Load) -> None:
    warnings = load(rules=RULES + "\ndetectors: {cpf: private, plate: private}\n").warnings

    assert "detectors: 'plate' is not detected yet, so it raises nothing" in warnings
    assert not any("'cpf'" in warning for warning in warnings)
