"""The decision of a pack about one request: a pure function of what is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from policies.pack import AUTO, Pack
from policies.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policies.fields import Action, Prefer
    from policies.pack import Rule

__all__ = ["Decision", "Pack", "Signals", "decide"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What may be done with a request. A refusal has a `code` and allows no zone."""

    action: Action
    rule: str | None
    zones: tuple[str, ...]
    """What the rule and the clearance both allow, in the order of the pack."""
    cleared: tuple[str, ...]
    """What the clearance alone allows."""
    reason: str
    code: str | None = None
    models: tuple[str, ...] | None = None
    at_least: int | None = None
    prefer: Prefer = "cheapest"
    spill_above: int | None = None
    """A deployment that has more requests waiting than this comes behind the others; None: requests wait."""


def decide(pack: Pack, signals: Signals) -> Decision:
    """Return what the first matching rule says, cut to the zones whose clearance admits the label."""
    cleared = pack.cleared(signals.label)
    if signals.model != AUTO and not pack.zones_of(signals.model):
        return _refused(None, cleared, "model_not_found", f"No deployment serves the model {signals.model!r}.")
    rule = first_match(pack, signals)
    if rule is None:
        return _refused(None, cleared, "no_rule", _no_rule(signals))
    if rule.action != "route":
        return _held_back(rule, cleared)
    zones = tuple(name for name in cleared if rule.zones is None or name in rule.zones)
    return _blocked(pack, signals, rule, zones) or _allowed(rule, zones, cleared)


def first_match(pack: Pack, signals: Signals) -> Rule | None:
    """The first rule whose conditions are all known to hold."""
    return next((rule for rule in pack.rules if rule.condition.truth(signals)), None)


def _allowed(rule: Rule, zones: tuple[str, ...], cleared: tuple[str, ...]) -> Decision:
    return Decision(
        action="route",
        rule=rule.name,
        zones=zones,
        cleared=cleared,
        reason=f"The rule {rule.name!r} allows {_listed(zones)}.",
        models=rule.models,
        at_least=rule.at_least,
        prefer=rule.prefer,
        spill_above=rule.spill_above,
    )


def _held_back(rule: Rule, cleared: tuple[str, ...]) -> Decision:
    if rule.action == "deny":
        return _refused(rule, cleared, "denied_by_rule", f"The rule {rule.name!r} denies this request{_because(rule)}.")
    if rule.action == "ask":
        words = f"The rule {rule.name!r} asks for an approval first{_because(rule)}."
        return _refused(rule, cleared, "approval_required", words, action="ask")
    words = (
        f"The rule {rule.name!r} lets this request go only redacted{_because(rule)}, "
        "and redaction is not available yet: have it approved, or change the rule."
    )
    return _refused(rule, cleared, "approval_required", words)


def _blocked(pack: Pack, signals: Signals, rule: Rule, zones: tuple[str, ...]) -> Decision | None:
    """The refusal if nothing that could serve this request stands in a zone that it may enter."""
    cleared = pack.cleared(signals.label)
    if signals.model == AUTO:
        served = _automatic_zones(pack, signals)
        if zones and (not served or not served.isdisjoint(cleared)):
            return None
        return _refused(rule, cleared, "label_exceeds_clearance", _auto_exceeds(signals, rule, cleared))
    served = pack.zones_of(signals.model)
    if served.isdisjoint(cleared):
        return _refused(rule, cleared, "label_exceeds_clearance", _model_exceeds(signals, rule, served, zones))
    if served.isdisjoint(zones):
        return _refused(rule, cleared, "denied_by_rule", _outside_rule(signals, rule, zones))
    return None


def _automatic_zones(pack: Pack, signals: Signals) -> frozenset[str]:
    """Where something stands that `auto` may choose; quotes answer only from collections."""
    zones = {spec.zone for spec in pack.deployments}
    if signals.collections:
        zones.add(pack.loopback_zone.name)
    return frozenset(zones)


def _refused(
    rule: Rule | None, cleared: tuple[str, ...], code: str, reason: str, *, action: Action = "deny"
) -> Decision:
    return Decision(action, rule.name if rule else None, (), cleared, reason, code)


def _no_rule(signals: Signals) -> str:
    return (
        f"No rule matches this request, whose label is {signals.label}: add one to rules.yaml, last and without `when`."
    )


def _model_exceeds(signals: Signals, rule: Rule, served: Iterable[str], zones: tuple[str, ...]) -> str:
    return (
        f"The label {signals.label} exceeds the clearance of {_listed(sorted(served))}, where {signals.model!r} runs "
        f"(rule {rule.name!r}): ask 'auto' or a model in {_listed(zones)}, or have the label lowered by approval."
    )


def _auto_exceeds(signals: Signals, rule: Rule, cleared: tuple[str, ...]) -> str:
    return (
        f"The label {signals.label} leaves nothing that may answer (rule {rule.name!r}): "
        f"connect a model in {_listed(cleared)}, or have the label lowered by approval."
    )


def _outside_rule(signals: Signals, rule: Rule, zones: tuple[str, ...]) -> str:
    return (
        f"The rule {rule.name!r} does not let this request go where {signals.model!r} runs: "
        f"ask 'auto' or a model in {_listed(zones)}."
    )


def _because(rule: Rule) -> str:
    return f" ({rule.reason})" if rule.reason else ""


def _listed(zones: Iterable[str]) -> str:
    names = list(zones)
    return "no zone" if not names else "the zone " + names[0] if len(names) == 1 else "the zones " + ", ".join(names)
