"""A pack of nothing but budgets and limits."""

from __future__ import annotations

from pathlib import Path

from policies.budgets import Budgets
from policies.labels import INTERNAL, PRIVATE
from policies.pack import Pack
from tests.fakes import DEVICE


def a_pack(budgets: Budgets) -> Pack:
    """A pack that says this of budgets, and nothing else."""
    return Pack(
        folder=Path(),
        version="1",
        default_label=INTERNAL,
        unscannable=PRIVATE,
        zones={DEVICE.name: DEVICE},
        detectors={},
        rules=(),
        deployments=(),
        collections={},
        loopback_zone=DEVICE,
        max_output=4096,
        budgets=budgets,
    )
