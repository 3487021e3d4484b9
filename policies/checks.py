"""What a pack's files must keep to among each other, beyond the shape of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.addresses import address_problem
from policies.conditions import UNEVALUATED
from policies.detectors import DETECTED
from policies.labels import Level
from policies.pack import AUTO, QUOTES
from policies.prices import TokenPrice
from policies.problems import closest
from policies.weights import weights_faults

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path as FilePath

    from policies.problems import Problem
    from policies.schema import DeploymentEntry, DeploymentsFile, RulesFile, When
    from policies.source import Path, Source
    from policies.zones import Addresses, Zone

RESERVED = frozenset({AUTO, QUOTES})

_UNDER_GGUF = {key: f": write `gguf: {{{key}: …}}`" for key in ("context", "slots")}
_NOT_BESIDE_GGUF = frozenset({"api_key", "wake", *_UNDER_GGUF})


def rules_problems(source: Source, rules: RulesFile) -> Iterator[Problem]:
    """Rules must have names of their own, zones that exist, and a zone on this machine among them."""
    if not any(on_this_machine(zone.addresses) for zone in rules.zones.values()):
        yield source.problem(
            ("zones",), "names no zone with the addresses 'loopback': what runs on this machine needs one"
        )
    yield from _repeated(source, "rules", [rule.name for rule in rules.rules])
    for index, rule in enumerate(rules.rules):
        zones = (rule.route and rule.route.zones) or ()
        yield from _unknown(source, ("rules", index, "route", "zones"), zones, rules.zones, "is no zone")


def on_this_machine(addresses: Addresses) -> bool:
    return "loopback" in addresses.classes


def model_problems(source: Source, rules: RulesFile, deployments: DeploymentsFile) -> Iterator[Problem]:
    """Models that a rule routes to must be served by somebody."""
    served = {*_served(deployments), QUOTES}
    for index, rule in enumerate(rules.rules):
        models = (rule.route and rule.route.models) or ()
        yield from _unknown(
            source, ("rules", index, "route", "models"), models, served, "is no model of deployments.yaml"
        )


def deployment_problems(source: Source, deployments: DeploymentsFile) -> Iterator[Problem]:
    """Names must be their own, and none may shadow another or a built-in one."""
    entries = deployments.deployments
    yield from _repeated(source, "deployments", [entry.name for entry in entries])
    for index, entry in enumerate(entries):
        path = ("deployments", index)
        if entry.model in RESERVED:
            yield source.problem((*path, "model"), f"{entry.model!r} is a name of Soleira's own")
        yield from _alias_problems(source, path, entry, entries)
        if entry.gguf is not None:
            yield from _gguf_problems(source, path, entry)


def place_problems(source: Source, deployments: DeploymentsFile, zones: Mapping[str, Zone]) -> Iterator[Problem]:
    """A deployment must stand in a zone that exists, at an address that can be in it."""
    for index, entry in enumerate(deployments.deployments):
        path = ("deployments", index)
        zone = zones.get(entry.zone)
        if zone is None:
            message = f"{entry.zone!r} is no zone of rules.yaml"
            yield source.problem((*path, "zone"), message, closest(entry.zone, zones))
            continue
        wrong = address_problem(entry, zone)
        if wrong is not None:
            yield source.problem((*path, wrong.key), wrong.message)


def weights_problems(source: Source, deployments: DeploymentsFile, models: FilePath) -> Iterator[Problem]:
    """The GGUF files that the house is to run must lie where they are said to, and be whole."""
    for index, entry in enumerate(deployments.deployments):
        for key, message in weights_faults(entry.gguf, models) if entry.gguf else ():
            yield source.problem(("deployments", index, "gguf", key), message)


def pack_warnings(rules: RulesFile, deployments: DeploymentsFile, tests: int) -> Iterator[str]:
    """What is allowed but probably not meant."""
    if not tests:
        yield "rules_test.yaml has no tests: nothing shows that the rules do what is meant"
    served = {*_served(deployments), QUOTES, AUTO}
    for rule in rules.rules:
        yield from (f"rule {rule.name!r}: {words}" for words in _rule_warnings(rule.when, served))
    for name, zone in rules.zones.items():
        if zone.clearance.level >= Level.PRIVATE and not zone.addresses.classes.isdisjoint({"public", "any"}):
            yield f"zone {name!r}: {zone.clearance} texts may go to public addresses"
    for kind in sorted(rules.detectors.keys() - DETECTED):
        yield f"detectors: {kind!r} is not detected yet, so it raises nothing"
    for entry in deployments.deployments:
        if entry.base_url.startswith("http:") and "public" in _classes(rules, entry.zone):
            yield f"deployment {entry.name!r}: texts and the key travel unencrypted; use https"
        if isinstance(entry.price, TokenPrice) and entry.price.as_of is None:
            yield f"deployment {entry.name!r}: its price has no date (as_of), so nobody sees when it is out of date"


def _classes(rules: RulesFile, zone: str) -> frozenset[str]:
    return rules.zones[zone].addresses.classes if zone in rules.zones else frozenset()


def _rule_warnings(when: When | None, served: Iterable[str]) -> Iterator[str]:
    for part in _all_parts(when):
        for key in UNEVALUATED:
            if getattr(part, key) is not None:
                yield f"`{key}` is not evaluated yet, so the condition never holds"
        for model in part.model or ():
            if model not in served:
                yield f"no deployment serves the model {model!r}"


def _all_parts(when: When | None) -> Iterator[When]:
    if when is None:
        return
    yield when
    for below in (*(when.any or ()), *(when.all or ()), when.not_):
        yield from _all_parts(below)


def _served(deployments: DeploymentsFile) -> set[str]:
    return {name for entry in deployments.deployments for name in (entry.model, *entry.aliases)}


def _repeated(source: Source, key: str, names: Sequence[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield source.problem((key, index, "name"), f"{name!r} is used twice")


def _unknown(source: Source, path: Path, words: Iterable[str], known: Iterable[str], message: str) -> Iterator[Problem]:
    for word in words:
        if word not in known:
            yield source.problem(path, f"{word!r} {message}", closest(word, known))


def _alias_problems(
    source: Source, path: Path, entry: DeploymentEntry, entries: Sequence[DeploymentEntry]
) -> Iterator[Problem]:
    for alias in entry.aliases:
        if alias in RESERVED:
            yield source.problem((*path, "aliases"), f"{alias!r} is a name of Soleira's own")
        others = {other.model for other in entries if alias == other.model or alias in other.aliases}
        if others - {entry.model}:
            yield source.problem((*path, "aliases"), f"{alias!r} names another deployment's model as well")


def _gguf_problems(source: Source, path: Path, entry: DeploymentEntry) -> Iterator[Problem]:
    """What the house itself runs needs no address, key or waking, and says under `gguf` how much it can hold."""
    if entry.engine != "llama_server":
        yield source.problem((*path, "engine"), "should be llama_server: GGUF files run on llama.cpp")
    for key in sorted(entry.model_fields_set & _NOT_BESIDE_GGUF):
        yield source.problem((*path, key), f"has no meaning beside `gguf`{_UNDER_GGUF.get(key, '')}")
    if "vision" in entry.capabilities and entry.gguf is not None and entry.gguf.mmproj is None:
        message = "names vision, for which `gguf` should name a projector (mmproj)"
        yield source.problem((*path, "capabilities"), message)
