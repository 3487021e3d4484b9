"""A pack that was read and checked: the values that decisions are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from policies.budgets import Budgets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from policies.conditions import Condition
    from policies.fields import Action, Prefer
    from policies.labels import Label
    from policies.machines import Machine
    from policies.prices import ExchangeRate, Surcharge
    from policies.pricing import Priced
    from policies.scenarios import RentRow, ScenarioEntry
    from policies.schema import DeploymentSpec, RuleTest
    from policies.zones import Zone

AUTO = "auto"
"""The model name that lets the policy choose."""
QUOTES = "quotes"
"""The built-in model that only quotes retrieved passages; it runs in the loopback zone of every pack."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `zones` None means all of them."""

    name: str
    line: int | None
    condition: Condition
    action: Action = "route"
    zones: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    at_least: int | None = None
    prefer: Prefer = "cheapest"
    spill_above: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """The label that documents of a collection get unless they have their own, and the groups that may read it."""

    label: Label | None = None
    readers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PackTest:
    """A test of the rules with the line it starts at."""

    line: int | None
    case: RuleTest


@dataclass(frozen=True, slots=True)
class Pack:
    """A whole pack. `builtin` names models that are served without being in deployments.yaml, with their zones."""

    folder: Path
    version: str
    default_label: Label
    unscannable: Label
    zones: Mapping[str, Zone]
    detectors: Mapping[str, Label]
    rules: tuple[Rule, ...]
    deployments: tuple[DeploymentSpec, ...]
    collections: Mapping[str, CollectionSpec]
    loopback_zone: Zone
    max_output: int
    keep_alive: float = 15.0
    """Seconds of silence after which a stream carries a comment."""
    tests: tuple[PackTest, ...] = ()
    warnings: tuple[str, ...] = ()
    builtin: Mapping[str, str] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=Budgets)
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Machines of one's own, by name: what they cost over time, beside their marginal price."""
    scenarios: Mapping[str, ScenarioEntry] = field(default_factory=dict)
    """Questions whether owning is cheaper, by name."""
    rents: tuple[RentRow, ...] = ()
    """What others ask for accelerators, as the owner has it."""
    priced: Mapping[str, Priced] = field(default_factory=dict)
    """What each deployment costs over time, by its name."""
    exchange_rates: tuple[ExchangeRate, ...] = ()
    """The owner's, as `policies.prices.rate_on` reads them."""
    surcharges: tuple[Surcharge, ...] = ()
    """In the order in which they are reckoned."""

    def cleared(self, label: Label) -> tuple[str, ...]:
        """The zones whose clearance admits the label, in the order of the pack."""
        return tuple(name for name, zone in self.zones.items() if zone.admits(label))

    def zones_of(self, model: str) -> frozenset[str]:
        """The zones a model is served in; none if nobody serves it."""
        zones = {spec.zone for spec in self.deployments if model == spec.model or model in spec.aliases}
        if model == QUOTES:
            zones.add(self.loopback_zone.name)
        if model in self.builtin:
            zones.add(self.builtin[model])
        return frozenset(zones)
