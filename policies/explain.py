"""A decision told step by step: what each rule said, which zones are cleared, and what came of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from policies.decide import Decision, decide, first_match

if TYPE_CHECKING:
    from policies.labels import Label
    from policies.pack import Pack
    from policies.signals import Signals
    from policies.zones import Zone


@dataclass(frozen=True, slots=True)
class RuleStep:
    """`failed` is the first condition that does not hold; a rule behind the deciding one may match as well."""

    rule: str
    line: int | None
    matches: bool
    decides: bool
    failed: str | None


@dataclass(frozen=True, slots=True)
class ZoneStep:
    zone: str
    cleared: bool
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Facts about a request and the decision about it; nothing of its content."""

    label: str
    model: str
    rules: tuple[RuleStep, ...]
    zones: tuple[ZoneStep, ...]
    decision: Decision

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    def as_text(self) -> str:
        lines = [f"A request labelled {self.label} asks for {self.model}.", "", "Rules"]
        lines += [f"  {_rule_line(step)}" for step in self.rules] or ["  none"]
        lines += ["", "Zones", *(f"  {_zone_line(step)}" for step in self.zones)]
        return "\n".join([*lines, "", "Decision", *(f"  {line}" for line in _decision_lines(self.decision))])


def explain(pack: Pack, signals: Signals) -> Explanation:
    """Say of every rule whether it matches, of every zone whether it is cleared, and what is decided."""
    deciding = first_match(pack, signals)
    rules = []
    for rule in pack.rules:
        failed = rule.condition.failure(signals)
        rules.append(RuleStep(rule.name, rule.line, failed is None, rule is deciding, failed))
    zones = tuple(_zone_step(zone, signals.label) for zone in pack.zones.values())
    return Explanation(str(signals.label), signals.model, tuple(rules), zones, decide(pack, signals))


def _zone_step(zone: Zone, label: Label) -> ZoneStep:
    cleared = zone.admits(label)
    return ZoneStep(zone.name, cleared, _why(zone, label, cleared=cleared))


def _why(zone: Zone, label: Label, *, cleared: bool) -> str:
    if cleared and label.level > zone.clearance.level:
        return f"accepts redacted {zone.accept_redacted} although its clearance is {zone.clearance}"
    if cleared:
        return f"its clearance {zone.clearance} covers {label}"
    if label.plain.level > zone.clearance.level:
        return f"its clearance {zone.clearance} is below {label.plain.level}"
    if label.level > zone.clearance.level:
        return f"its clearance {zone.clearance} is below {label.level}, and it does not accept that redacted"
    missing = ", ".join(sorted(label.compartments - zone.clearance.compartments))
    return f"its clearance {zone.clearance} does not cover {missing}"


def _rule_line(step: RuleStep) -> str:
    place = "" if step.line is None else f" (line {step.line})"
    if step.decides:
        return f"> {step.rule}{place}: decides"
    return f"  {step.rule}{place}: " + ("matches, but comes later" if step.matches else f"no: {step.failed}")


def _zone_line(step: ZoneStep) -> str:
    return f"{'yes' if step.cleared else 'no '} {step.zone}: {step.why}"


def _decision_lines(decision: Decision) -> list[str]:
    lines = [f"action: {decision.action}" + (f" ({decision.code})" if decision.code else "")]
    lines.append(f"zones: {', '.join(decision.zones) or 'none'}")
    if decision.models:
        lines.append(f"models: {', '.join(decision.models)}")
    if decision.at_least is not None:
        lines.append(f"grade at least: {decision.at_least}")
    if decision.code is None:
        lines.append(f"prefer: {decision.prefer}")
    if decision.spill_above is not None:
        lines.append(f"spill: past a deployment where more than {decision.spill_above} wait")
    return [*lines, decision.reason]
